// Share of a GPU's peaks that real kernels reach: one profile per machine and kernel stack. An
// operator's time comes from the first of these that covers it: a measured table, a fitted form, and the roofline with
// its efficiencies, which every profile has.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/hardware/gpu.h"
#include "models/kernels/elementwise_kernels.h"
#include "models/kernels/forms.h"
#include "models/kernels/moe_form.h"
#include "models/kernels/step_work.h"
#include "models/llm/llm_spec.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

using schema::Sourced;

/// Efficiency (fraction of the datasheet peak) as a function of a size; piecewise linear in log(size), constant
/// outside the given points.
struct EfficiencyPoint {
  double size = 1;  ///< tokens, for compute efficiencies
  double efficiency = 1;
};

struct EfficiencyCurve {
  std::vector<EfficiencyPoint> points;
  schema::Source source;
  [[nodiscard]] double at(double size) const;
};

/// Seconds by a size: linear in between.
struct TimePoint {
  double size = 0;
  double seconds = 0;
};

/// Measured times of one linear layer by tokens.
struct LinearTable {
  NumberFormat weights = NumberFormat::bf16;
  double n = 0;
  double k = 0;
  std::vector<TimePoint> points;  ///< ascending in tokens, not falling in time
  schema::Source source;

  [[nodiscard]] bool covers(double tokens) const {
    return !points.empty() && tokens >= points.front().size && tokens <= points.back().size;
  }
  /// Seconds for a number of tokens that the table covers.
  [[nodiscard]] double at(double tokens) const;
};

/// Measured times of decode attention by KV length for one number of requests.
struct DecodeRow {
  double requests = 0;
  std::vector<double> seconds;  ///< one per KV length of the table
};

/// Measured decode attention of one layer and one shape: a full grid, interpolated linearly in the logarithms of
/// requests, KV length and time.
struct DecodeTable {
  NumberFormat kv = NumberFormat::bf16;
  double heads = 0;
  double kv_heads = 0;
  double head_dim = 128;
  std::vector<double> kv_lengths;  ///< ascending, at least two
  std::vector<DecodeRow> rows;     ///< ascending in requests, at least two
  bool warm = false;               ///< measured with the KV in L2 where it fits
  schema::Source source;

  [[nodiscard]] bool covers(double requests, double kv_length) const;
  [[nodiscard]] double at(double requests, double kv_length) const;
};

struct MeasuredTables {
  std::vector<LinearTable> linear;
  std::vector<DecodeTable> decode_attention;
  std::vector<TimePoint> sampler;  ///< by sequences; held at its ends beyond, and grown in proportion past the last
  schema::Source sampler_source;
};

/// Forms fitted to measurements, one per number format.
struct FittedForms {
  std::vector<LinearForm> linear;
  std::vector<DecodeForm> decode_attention;
  std::vector<VerifyForm> verify_attention;  ///< of several query tokens a request (Launch::once), on top of the former
  std::vector<TiledForm> prefill_attention;  ///< a launch of its own for chunks of prompts
  std::vector<TiledForm> mixed_attention;    ///< one launch for all that a step attends to; AttentionLaunches says when
  /// Attention over a latent (MLA), in the shapes of absorbed_shape() and expanded_shape(): the time of a layer's block
  /// beyond its linear layers, which are LinearTimes'. Together they are the block as it was measured, so nothing
  /// of it counts twice and nothing is left out: norms of the latent, rotary embedding and writing the cache are in
  /// here.
  std::vector<DecodeForm> latent_decode_attention;
  std::vector<TiledForm> latent_prefill_attention;
  std::vector<MoeForm> moe;  ///< routed experts of one layer, one per format of the weights
  std::optional<ElementwiseForm> elementwise;
  std::optional<TopKForm> top_k;
  std::optional<ElementwiseForm> quantise;    ///< KV to few bits
  std::optional<ElementwiseForm> dequantise;  ///< and back, outside attention

  /// There is a form; one of several query tokens alone says nothing.
  [[nodiscard]] bool any() const {
    return !linear.empty() || !decode_attention.empty() || !prefill_attention.empty() || !mixed_attention.empty() ||
           !latent_decode_attention.empty() || !latent_prefill_attention.empty() || !moe.empty() || elementwise ||
           top_k || quantise || dequantise;
  }
};

/// A launch of an attention kernel.
enum class Launch : std::uint8_t {
  decode,   ///< the form of decode attention: a query token a request
  once,     ///< the same for several query tokens, by the form of these; without one the KV is read once, or
            ///< arithmetic takes longer
  prefill,  ///< the form of prefill attention: tiles of query tokens
  mixed,    ///< the form of mixed attention: one launch for everything in the step
  apart,    ///< each kind of work by the launch it has alone
};

/// Which launch serves a step's attention, by what it computes: a property of an engine's version on a GPU.
struct AttentionLaunches {
  Launch decode = Launch::decode;  ///< steps of one query token a request: decode or mixed
  Launch several_queries =
      Launch::once;                  ///< verifications, and several query tokens of a request: once, prefill, mixed
  Launch prefill = Launch::prefill;  ///< chunks of prompts alone: prefill or mixed
  Launch mixed = Launch::apart;      ///< chunks beside requests that decode or verify: apart or mixed
  schema::Source source;

  [[nodiscard]] bool uses_mixed() const {
    return decode == Launch::mixed || several_queries == Launch::mixed || prefill == Launch::mixed ||
           mixed == Launch::mixed;
  }
  /// The launch of a step's attention; apart: one for each kind of work in it.
  [[nodiscard]] Launch of(const StepWork& work) const {
    const bool chunks = work.prefill.query_tokens > 0;
    const bool several = work.verify.query_tokens > 0 || work.decode.queries_each() > 1;
    if (chunks) return several || work.decode.query_tokens > 0 ? mixed : prefill;
    if (!several) return decode;
    return several_queries == Launch::mixed || work.decode.query_tokens <= 0 ? several_queries : Launch::apart;
  }
};

/// The datasheet of the GPU that was measured, for scaling to others and for checking figures against physics.
struct MeasuredMachine {
  Sourced<double> memory_bytes_per_s;
  Sourced<double> bf16_flops_per_s;
  Sourced<double> fp8_flops_per_s;  ///< 0: no such units
  Sourced<double> fp4_flops_per_s;  ///< 0: no such units
  double multiprocessors = 0;
  std::int64_t l2_bytes = 0;
  std::string architecture;

  [[nodiscard]] Machine peaks() const;
};

/// GPU memory that a serving framework takes beside weights and KV, where it is no paged engine.
struct FrameworkMemory {
  Sourced<std::int64_t> workspace_bytes;    ///< per GPU: activations of prefill, logits of whole prompts, fragmentation
  Sourced<double> full_kv_factor{1.0, {}};  ///< GPU memory of a 16-bit KV cache / its bytes: copies made to append to
                                            ///< it or to repeat its heads
};

/// Attention over KV of few bits: its bytes are read, and every element is dequantised on the multiprocessors, whatever
/// its bits. Time: blend(bytes / (bandwidth_efficiency BW), elements / (elements_per_s x multiprocessors)).
struct LowBitAttention {
  Sourced<double> elements_per_s;  ///< dequantised by one multiprocessor; 0: as the compressor has it
  double blend_power = 1;          ///< 1: one after the other, as kernels apart; large: the longer of the two

  /// Time for elements of `element_bytes` bytes / time of reading as many bytes whole. Precondition: there is a rate.
  [[nodiscard]] double time_factor(double element_bytes, double attention_bytes_per_s, double multiprocessors) const {
    const double read_s = element_bytes / attention_bytes_per_s;
    return blend(read_s, 1 / (elements_per_s.value * multiprocessors), blend_power) / read_s;
  }
};

/// Time of an engine's attention over quantised KV beside reading its bytes, of one layer: fits to whole steps and
/// requests as they were measured, or what is assumed where nobody did (docs/quantised_kv.md).
struct QuantisedKernel {
  std::string compressor;   ///< whose KV; empty: any that nobody measured
  Sourced<double> layer_s;  ///< a step: rotating queries, quantising what is written, launches
  Sourced<double> token_s;  ///< a token of the longest KV: the parts of one KV are walked one token after another
  Sourced<double> elements_per_s;  ///< unpacked by one multiprocessor, each query head for itself; 0: at no time
  double low = 1, high = 1;        ///< of this time, what a kernel may take

  /// Seconds of a step over these, on a GPU with so many multiprocessors. `elements`: of one query head and token of
  /// the KV, keys and values; `heads`: query heads of one GPU.
  [[nodiscard]] double layer_time_s(const StepWork& work, double elements, double heads, double multiprocessors) const;
};

/// Costs of launching kernels, beside the kernels themselves.
struct LaunchCosts {
  Sourced<double> graph_s;      ///< a step that was captured: launching its graph
  Sourced<double> kernel_s;     ///< another step: it takes at least this for each of its kernels
  bool chunks_captured = true;  ///< captured steps may have chunks of prompts; otherwise only decoding is captured
  bool by_requests = false;     ///< captured_tokens counts requests of a step that verifies drafts, not their tokens

  /// Size that captured_tokens is compared with.
  [[nodiscard]] double size_of(const StepWork& work) const {
    if (!by_requests || !work.verifies()) return work.tokens();
    return work.decode.number_of_requests() + work.verify.number_of_requests() + work.prefill.query_tokens;
  }
};

/// Cost of drafting in an engine beside kernels: launches outside captured graphs, sampling, waiting for the host. Fits
/// to whole rounds as they were measured (docs/drafting.md).
struct DraftCosts {
  Sourced<double> pass_s;        ///< a pass of a drafter
  Sourced<double> vocabulary_s;  ///< more of a pass whose tokens are numbered otherwise than the model's
  Sourced<double> round_s;       ///< an iteration in which drafts are verified
  Sourced<double> request_s;     ///< more of it for each request whose drafts are
  Sourced<double> layer_s;       ///< more of it for each layer of the model: attention of several tokens a request

  /// Seconds of one pass of a drafter with a vocabulary of that size beside a model's.
  [[nodiscard]] double pass_overhead_s(std::int64_t vocabulary, std::int64_t of_model) const {
    return pass_s.value + (vocabulary == of_model ? 0.0 : vocabulary_s.value);
  }
  /// Seconds of the host in an iteration that verifies drafts; 0 in another.
  [[nodiscard]] double host_s(const StepWork& work) const {
    return work.verifies() ? round_s.value + request_s.value * work.verify.number_of_requests() : 0.0;
  }
  /// Seconds of attention in it beyond its kernels.
  [[nodiscard]] double layers_s(const StepWork& work, const LlmSpec& model) const {
    return work.verifies() ? layer_s.value * static_cast<double>(model.layers) : 0.0;
  }
};

/// How much longer kernels and host copies of one GPU take while the others run, as a share of their time alone. On
/// another GPU as they stand.
struct Interference {
  /// Decode steps of one GPU on PCIe 4.0 x16 with copies to it at once: 25.31 -> 25.98 ms beside 6.31 ms of copies (11
  /// % of these), 27.59 -> 28.68 ms beside 24.05 ms (5 %); a copy 47.10 -> 48.0 ms beside steps (2 %).
  [[nodiscard]] static schema::Source published() {
    return {
        schema::SourceKind::publication,
        "decode steps and copies to the GPU at once on one PCIe 4.0 x16 card (GenerelSchwerz/llama.cpp, pull request "
        "31): steps longer by 5 and 11 % of the copies' time, copies by 2 %"};
  }
  Sourced<double> kernels_to_gpu;    ///< what memory bandwidth decides of a step, while KV comes to the GPU
  Sourced<double> kernels_from_gpu;  ///< while KV leaves it
  Sourced<double> copies_to_gpu;     ///< a copy to the GPU, while steps run
  Sourced<double> copies_from_gpu;   ///< a copy from it
  // How large the shares may be where nobody has measured them, which nothing is slowed by: answers state it.
  Sourced<double> kernels_at_most{0.11, published()};
  Sourced<double> copies_at_most{0.02, published()};

  [[nodiscard]] bool any() const {
    return kernels_to_gpu.value > 0 || kernels_from_gpu.value > 0 || copies_to_gpu.value > 0 ||
           copies_from_gpu.value > 0;
  }
};

/// Engine of forms that do not name whose kernels they are of, as kernel tables name it.
inline constexpr std::string_view kUsualKernels = "vllm";

/// Forms of another engine's kernels: those of linear layers and of attention in another profile, fitted to its rows.
struct EngineKernels {
  std::string kernels;  ///< whose, as EngineSpec::kernels names them
  std::string profile;  ///< a name in the profile catalogue
};

/// Kernels that an engine has made a part of the one before them, and that take no time of their own in steps that run
/// as a captured graph (captured_tokens). In larger ones they pass over more than the caches hold, and are taken as
/// apart.
struct FusedKernels {
  bool norms = false;     ///< a norm and its residual: of the all-reduce before it, where GPUs share a layer
  bool quantise = false;  ///< quantising the inputs of narrow linear layers: of the norm or activation before it
};

/// Roofline: t = t0 + max(bytes / (bandwidth_efficiency BW_peak), flops / (compute_efficiency FLOPS_peak)) per
/// operator.
struct KernelProfile {
  std::string name;
  std::string description;
  std::string measured_on;                         ///< GPU the figures come from; another one: scaled by datasheet
  Sourced<double> linear_t0_s;                     ///< per linear-layer call
  Sourced<double> linear_bandwidth_efficiency;     ///< streaming weights, few tokens
  EfficiencyCurve linear_compute_efficiency;       ///< by tokens in the step
  Sourced<double> attention_t0_s;                  ///< per layer and attention call
  Sourced<double> attention_bandwidth_efficiency;  ///< reading KV in decode and verify
  EfficiencyCurve attention_compute_efficiency;    ///< by length of the KV attended to
  std::optional<MeasuredMachine> machine;          ///< needed with fitted forms and tables
  FittedForms fitted;
  AttentionLaunches launches;
  MeasuredTables tables;
  LowBitAttention low_bit;
  std::optional<QuantisedKernel> quantised;  ///< none: no time of its own; scenarios take the engine's
  Sourced<double> further_query_share;  ///< of the first query token's reading of the KV, what each further one of the
                                        ///< same request reads again in a decode step; 0: kernels that read it once.
                                        ///< Not where fitted.verify_attention serves it
  std::optional<FrameworkMemory> framework;
  LaunchCosts launch;
  Interference interference;
  Sourced<double> iteration_overhead_s;  ///< scheduling, sampling and what `launch` leaves out, once per iteration
  std::optional<DraftCosts> drafts;      ///< none: no time of their own; scenarios take the engine's
  FusedKernels fused;
  std::vector<EngineKernels> by_engine;  ///< forms that use_kernels() puts in place of these
  std::string engine_kernels;            ///< whose kernels the engine runs; empty: nobody said, all forms are its own
  std::string collective_library = "vllm";  ///< whose collectives the engine uses, where the link has their figures
  std::int64_t captured_tokens = 512;       ///< largest step that runs as a captured CUDA graph; in a larger one an
                                            ///< all-reduce copies its message first
};

/// The form (or table) of a list for a number format, the first one; null: none.
template <class Form>
[[nodiscard]] const Form* form_for(const std::vector<Form>& forms, NumberFormat Form::*format, NumberFormat wanted) {
  const auto found = std::find_if(forms.begin(), forms.end(), [&](const Form& f) { return f.*format == wanted; });
  return found == forms.end() ? nullptr : &*found;
}

/// The datasheet of `gpu` for the profile's forms, and whether their corrections hold on it: within an architecture,
/// where libraries take the same kernels, they do.
[[nodiscard]] Machine machine_for(const GpuSpec& gpu, const KernelProfile& profile);

/// Whether the profile was measured on this GPU; one that a scenario changed in place ("x (changed)") is another one.
[[nodiscard]] bool is_measured_machine(const KernelProfile& profile, const GpuSpec& gpu);

// Which of a profile's figures decide a model's step times, for reports.

struct UsedFigure {
  std::string name;   ///< as a path in the scenario, from `profile.`
  std::string value;  ///< with its unit, or what it is: curve, table, form
  schema::Source source;
  std::optional<FormError> error{};  ///< of a form on the machine that it was fitted to, where known
};

/// In the order of the profile's keys. Of tables, only those whose shape the model has.
[[nodiscard]] std::vector<UsedFigure> used_figures(const GpuSpec& gpu, const KernelProfile& profile,
                                                   const LlmSpec& model, std::int64_t tensor_parallel);

}  // namespace kvsim::models
