// What prefetched pairs give back of the score that quantising the KV cost.
#pragma once

#include "models/compression/compressor_spec.h"
#include "models/prefetch/prefetch_spec.h"

namespace kvsim::models {

struct PrefetchQuality {
  double share_of_keys = 0;  ///< fetched pairs / context
  double mass = 0;       ///< attention mass that a token's own top-k covers, in rows: no less than its most attended
                         ///< keys, one a row, and than as many keys taken blindly. Pairs that are fetched beside it
                         ///< for other query tokens do not count
  double hit_rate = 1;   ///< of it, what the speculative token's choice covers, no less than a blind one; 1 where
                         ///< the token's own scores choose
  double covered = 0;    ///< mass x hit_rate
  double recovered = 0;  ///< of what quantising lost, what comes back
  double score = 1;      ///< task score relative to full KV: q + (1 - q) recovered, q the quantiser's own
  double step_kl = 0;    ///< nats a step: the quantiser's own x (1 - recovered), an assumption
};

/// `speculative`: the pairs were chosen by the step before. NaN where the quantiser has no such figure. A context of at
/// least one token; the residual tokens, whole too, are not counted as covered.
[[nodiscard]] PrefetchQuality prefetch_quality(const PrefetchSpec& spec, const CompressorSpec& quantiser,
                                               std::int64_t context, bool speculative);

}  // namespace kvsim::models
