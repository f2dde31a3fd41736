// Measured kernel times as read from files, in seconds, bytes and tokens: one row, one sample.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "models/calibration/device_samples.h"
#include "models/calibration/sample_source.h"
#include "models/hardware/collectives.h"
#include "models/kernels/forms.h"
#include "models/kernels/moe_form.h"
#include "models/llm/llm_spec.h"
#include "models/schema/error.h"

namespace kvsim::models {

/// Formats of the weights that linear layers were measured with.
inline constexpr std::array kWeightFormats{NumberFormat::bf16, NumberFormat::fp8, NumberFormat::fp8_block,
                                           NumberFormat::nvfp4};

/// Formats of the KV caches that kernels were measured over.
inline constexpr std::array kKvFormats{NumberFormat::bf16, NumberFormat::fp8};

/// One linear layer, m tokens through n x k weights.
struct LinearSample {
  SampleSource from;
  NumberFormat weights = NumberFormat::bf16;
  double m = 0;
  double n = 0;
  double k = 0;
  double seconds = 0;
  LinearRun run{};
};

/// Extent of a row of latent attention: the attention alone, or a whole block with its linear layers.
struct LatentBlock {
  double latent = 0;   ///< elements of a token's latent; 0: attention of heads with KV of their own
  std::string kernel;  ///< whose attention
  std::optional<NumberFormat> projections;  ///< of the linear layers that the row holds; none: attention alone
  double heads = 0;                         ///< on the GPU
  double linear_s = 0;                      ///< of the row's seconds, those linear layers, by the profile's form
};

/// Time that a whole block implies of its linear layers, all in one format and replayed as a graph.
struct LinearBlock {
  NumberFormat weights = NumberFormat::fp8_block;
  double heads = 0;  ///< as LatentBlock::heads
  double tokens = 0;
  double beside_s = 0;  ///< of its seconds, what else it does, by the profile's form of latent attention
  double seconds = 0;
};

/// The model of whose blocks rows are, with so many heads and one layer.
[[nodiscard]] LlmSpec latent_model(double heads);

/// Decode attention of one layer.
struct DecodeSample {
  SampleSource from;
  NumberFormat kv = NumberFormat::bf16;
  HeadShape shape;
  double requests = 0;
  double kv_length = 0;
  bool warm = false;  ///< one KV buffer reused over all repeats: what fits L2 is in L2
  double seconds = 0;
  double queries = 1;   ///< query tokens a request, whose keys kv_length counts in the mean
  LatentBlock block{};  ///< of latents; the shape is the absorbed one

  [[nodiscard]] double kv_bytes() const {
    const double width = block.latent > 0 ? block.latent : 2 * shape.kv_heads * shape.head_dim;
    return bytes_per_element(kv) * width * requests * cached();
  }
  /// Tokens of each request's KV once its query tokens are in it; a token sees itself and those before.
  [[nodiscard]] double cached() const { return kv_length + (queries - 1) / 2; }
};

/// Attention of chunks of prompts, alone (decodes = 0) or in one launch with decoding requests.
struct TiledSample {
  SampleSource from;
  NumberFormat kv = NumberFormat::bf16;
  HeadShape shape;
  double chunks = 1;  ///< prompts in the launch, all alike
  double tokens = 0;  ///< new tokens of each
  double before = 0;  ///< tokens of its KV that are there already
  double decodes = 0;
  double decode_kv = 0;  ///< tokens of KV of each decoding request
  double seconds = 0;
  LatentBlock block{};  ///< of latents; the shape is the expanded one
};

struct ElementwiseSample {
  SampleSource from;
  std::string layer;
  double tokens = 0;
  double bytes = 0;  ///< read and written
  double seconds = 0;
};

struct SamplerSample {
  SampleSource from;
  double sequences = 0;
  double seconds = 0;
};

/// Decode attention of uneven lengths, beside the same with all at the mean and all at the longest.
struct SkewSample {
  SampleSource from;
  double mean_s = 0;
  double longest_s = 0;
  double uneven_s = 0;
};

/// Decode attention that is not plain: several query tokens, uneven lengths, or KV of few bits.
struct AttentionVariant {
  SampleSource from;
  DecodeSample decode{};    ///< what it would be else; kv_length is the mean
  double query_tokens = 1;  ///< at the end of the KV
  double longest_kv = 0;
  double kv_bits = 16;
  bool keys_by_channel = false;  ///< of few bits: a scale for each channel of some tokens; else by token
  double bytes_read = 0;         ///< of KV
  double seconds = 0;
};

/// The routed experts of one layer on one GPU, one layer repeated.
struct MoeSample {
  SampleSource from;
  std::string kernel;  ///< empty: the file does not say
  NumberFormat weights = NumberFormat::bf16;
  ExpertLayer layer;
  double tokens = 0;  ///< of all GPUs of an expert-parallel group together
  double alpha = 0;   ///< routed by that power law; 0: evenly
  bool warm = true;   ///< weights that fit L2 are there from the run before
  double seconds = 0;
};

struct CollectiveSample {
  SampleSource from;
  Collective operation = Collective::all_reduce;
  std::string library;  ///< as CollectiveTable::library
  int gpus = 0;
  double bytes = 0;
  double seconds = 0;
};

struct Samples {
  std::vector<LinearSample> linear;
  std::vector<DecodeSample> decode;
  std::vector<TiledSample> prefill;  ///< chunks alone
  std::vector<TiledSample> mixed;  ///< one launch for chunks and decoding requests, and chunks alone by the same kernel
  std::vector<ElementwiseSample> elementwise;
  std::vector<SamplerSample> sampler;
  std::vector<SkewSample> skew;
  std::vector<MoeSample> moe;
  std::vector<DecodeSample> latent_decode;
  std::vector<TiledSample> latent_prefill;
  std::vector<LinearBlock> linear_blocks;  ///< made of rows of latents (latent_fit.h)
  std::vector<CollectiveSample> collectives;
  std::vector<AttentionVariant> variants;
  DeviceSamples device;
};

/// All tables of rows with a source but for those of the device, for what is done to each.
inline constexpr auto kKernelTables =
    std::tuple(&Samples::linear, &Samples::decode, &Samples::prefill, &Samples::mixed, &Samples::elementwise,
               &Samples::sampler, &Samples::skew, &Samples::moe, &Samples::latent_decode, &Samples::latent_prefill,
               &Samples::collectives, &Samples::variants);

/// Rows that something can be fitted to: skewed ones are compared with these.
[[nodiscard]] std::size_t count(const Samples& s);

// Shapes of a model's kernels on one GPU of a tensor-parallel group.

struct LayerShape {
  std::string_view layer;  ///< qkv_proj, o_proj, gate_up_proj, down_proj, lm_head
  double n = 0;
  double k = 0;
};

/// The dense layers with grouped-query attention; none for models with a latent (MLA), no feed-forward block of a
/// mixture of experts.
[[nodiscard]] std::vector<LayerShape> linear_shapes(const LlmSpec& model, int tensor_parallel);

/// Query heads and KV heads; {0, 0} for a latent, and where the heads do not divide.
[[nodiscard]] std::pair<double, double> head_counts(const LlmSpec& model, int tensor_parallel);

// Readers of measured kernel times: CSV files with a header, columns found by name, others ignored. A table is known by
// its columns; docs/kernel_timing.md lists them.

/// Contents of the files of one command line.
struct Readings {
  Samples samples;
  std::vector<RefusedRow> refused;
  std::vector<std::string> ignored;  ///< files of folders that are no such tables: no row of them is used
};

/// Whether a CSV file is a layer profile of one model (dense.csv, attention.csv and so on), which needs to be told the
/// model's shapes.
[[nodiscard]] bool needs_model(const std::string& path);

/// Adds the rows of one file. Throws schema::InputError (file:line:column) where it cannot be read or, with `required`,
/// where it is none of the known tables. `model` may be null for files that need none;
/// a layer profile is of one of `tensor_parallel` GPUs that share it.
void read_samples(const std::string& path, const LlmSpec* model, bool required, Readings& into,
                  int tensor_parallel = 1);

/// The model and the shard that a folder of layer profiles is of, by its name: GPU_MODEL or GPU_MODEL_tp2.
struct LayerFolder {
  std::string model;
  int tensor_parallel = 1;
};
[[nodiscard]] LayerFolder layer_folder(std::string_view name);

/// The CSV files that a path stands for: itself, or those in the folder, by name. Throws schema::InputError.
[[nodiscard]] std::vector<std::string> csv_files(const std::string& path);

}  // namespace kvsim::models
