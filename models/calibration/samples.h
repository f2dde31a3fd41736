// Measured kernel times as read from files, in seconds, bytes and tokens: one row, one sample.
#pragma once

#include <string>
#include <vector>

#include "models/kernels/forms/machine.h"
#include "models/kernels/forms/tiled_form.h"
#include "models/schema/origin.h"

namespace kvsim::models {

struct SampleSource {
  std::string gpu;        ///< as the file has it; empty: the file does not say
  std::string framework;  ///< empty: the file does not say
  std::string version;
  schema::Origin origin;  ///< line of the file
};

/// One linear layer, m tokens through n x k weights.
struct LinearSample {
  SampleSource from;
  NumberFormat weights = NumberFormat::bf16;
  double m = 0;
  double n = 0;
  double k = 0;
  double seconds = 0;
};

/// Decode attention of one layer.
struct DecodeSample {
  SampleSource from;
  NumberFormat kv = NumberFormat::bf16;
  HeadShape shape;
  double requests = 0;
  double kv_length = 0;
  bool warm = false;  ///< one KV buffer reused over all repeats: what fits L2 is in L2
  double seconds = 0;

  [[nodiscard]] double kv_bytes() const {
    return 2 * bytes_per_element(kv) * shape.kv_heads * shape.head_dim * requests * kv_length;
  }
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

struct AllReduceSample {
  SampleSource from;
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
  std::vector<AllReduceSample> all_reduce;
};

}  // namespace kvsim::models
