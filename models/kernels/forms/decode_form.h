// Decode attention of one layer: one query token a request over its paged KV, split over the GPU (flash decoding).
#pragma once

#include "models/kernels/forms/form_time.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// One call on one GPU of a tensor-parallel group.
struct DecodeCall {
  double requests = 1;
  double heads = 1;       ///< query heads on this GPU
  double kv_bytes = 0;    ///< of all requests, this layer, this GPU
  double mean_kv = 0;     ///< tokens of KV a request attends to
  double longest_kv = 0;  ///< of the longest request; 0: all alike
};

/// t = t0 + per_doubling log2(1 + kv / 1024) + per_head requests heads + stream(bytes), the last with `cold_s` more
/// where the KV comes from HBM. Uneven lengths add `uneven_share` of what all requests being as long as the longest
/// would add: kernels split long contexts well, so that share is small.
struct DecodeForm {
  NumberFormat kv = NumberFormat::bf16;
  double t0_s = 0;
  double per_doubling_s = 0;
  double per_head_s = 0;  ///< per request and query head
  double cold_s = 0;
  double uneven_share = 0;
  CachedStream stream;
  bool hits_in_serving = false;  ///< measured with other layers' kernels in between: L2 helps as much in serving steps
  double valid_to = 0;           ///< largest size that was fitted, bytes of KV in a call; 0: not stated
  schema::Source source;

  /// `warm`: the KV was read just before (benchmarks that replay one buffer); a serving step streams its weights
  /// between two layers' KV, so there it is cold, unless hits_in_serving.
  [[nodiscard]] FormTime time(const DecodeCall& call, const Machine& machine, bool warm) const;
  /// What of that is due to uneven lengths.
  [[nodiscard]] double uneven_s(const DecodeCall& call, const Machine& machine) const;
};

}  // namespace kvsim::models
