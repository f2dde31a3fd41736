// Where the whole KV comes from that a verifying policy needs. It drafts on its compressor's work, or on what was
// loaded or put together of a prompt as it is.
#pragma once

#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::serving {

enum class WholeKv {
  host_memory,  ///< a copy of every running request's
  tiers,        ///< what placement stored compressed is also kept whole, in the last tier
  recomputed    ///< the prompt is computed whole, once, while drafts go on with what was put together from chunks
};

inline WholeKv whole_kv(const ServingConfig& config) {
  if (reuses_chunks(config.prefill)) return WholeKv::recomputed;
  return config.placement ? WholeKv::tiers : WholeKv::host_memory;
}

/// Drafts on prompts as they were loaded or put together: the policy verifies, against something else than a copy in
/// host memory. `decode`: the configured policy.
inline bool drafts_as_loaded(const ServingConfig& config, const DecodePolicy& decode) {
  return decode.verifies && !decode.keeps_full && whole_kv(config) != WholeKv::host_memory;
}

}  // namespace kvsim::serving
