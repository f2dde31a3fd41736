// Fetching the KV pairs a token attends to most from host memory, beside a copy of few bits on the GPU (SpeCache,
// arXiv:2503.16163): what is fetched, and how well that stands in for the full KV. Data, no behaviour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/schema/sourced.h"

namespace kvsim::models {

/// One point of a curve.
struct CurvePoint {
  double at = 0;
  double value = 0;
};

/// How concentrated attention is, and what covering a part of it is worth. Curves are linear between their points (in
/// log(at) for coverage) and do not fall; attention_profile.h has what they are outside the points.
struct AttentionProfile {
  std::string name;
  std::string description;
  std::vector<CurvePoint> coverage;  ///< at: share of the keys, the most attended first; value: attention mass
  schema::Source coverage_source;
  std::vector<CurvePoint> hit_rate;  ///< at: bits of the low-bit copy; value: of the mass that the next token's own
                                     ///< top-k covers, what the speculative token's top-k covers
  schema::Source hit_rate_source;
  std::vector<CurvePoint> recovery;  ///< at: attention mass covered; value: of the score that quantising lost, what
                                     ///< comes back
  schema::Source recovery_source;
};

enum class RowLayout {
  separate,    ///< keys and values in memories of their own: two rows a pair
  interleaved  ///< a token's key beside its value: one row a pair
};

/// How attention reads the low-bit copy.
enum class Dequantisation {
  fused,   ///< in the attention kernel: the compressor's attention_time_factor
  unfused  ///< to 16 bit in GPU memory first, then read from there
};

struct PrefetchSpec {
  std::int64_t top_k = 64;        ///< KV pairs a query token's scores choose, per layer and KV head
  double overlap = 0;             ///< share of a token's top-k that the next token's holds too: not fetched again
  std::int64_t query_tokens = 1;  ///< speculative tokens a step whose top-k sets are fetched together
  std::int64_t row_tokens = 1;    ///< neighbouring tokens that are chosen and fetched together
  RowLayout layout = RowLayout::separate;
  Dequantisation dequantisation = Dequantisation::fused;
  std::string copies = "best";       ///< GatherMethod of the host link
  std::int64_t buffered_layers = 2;  ///< full_offload: layers whose KV the GPU has room for
  AttentionProfile attention;
};

}  // namespace kvsim::models
