#include "models/prefetch/prefetch_quality.h"

#include <algorithm>
#include <cmath>

#include "models/prefetch/attention_profile.h"
#include "models/prefetch/fetch.h"

namespace kvsim::models {

PrefetchQuality prefetch_quality(const PrefetchSpec& spec, const CompressorSpec& quantiser, std::int64_t context,
                                 bool speculative) {
  const auto length = static_cast<double>(context);
  PrefetchSpec one_token = spec;
  one_token.query_tokens = 1;
  const auto own = static_cast<double>(fetched_tokens(one_token, context));
  const double own_share = own / length;
  const double rows = std::ceil(own / static_cast<double>(spec.row_tokens));

  PrefetchQuality q;
  q.share_of_keys = static_cast<double>(fetched_tokens(spec, context)) / length;
  // The best rows hold at least the most attended keys, one a row, and no less than as many keys taken blindly.
  q.mass = std::max(coverage_at(spec.attention, rows / length), own_share);
  if (speculative) q.hit_rate = std::max(hit_rate_at(spec.attention, quantiser.bits_per_element), own_share / q.mass);
  q.covered = q.mass * q.hit_rate;
  q.recovered = recovery_at(spec.attention, q.covered);
  const double ratio = quantiser.quantised_ratio();
  const double quantised = quantiser.quality_at(ratio);
  q.score = quantised + (1 - quantised) * q.recovered;
  q.step_kl = quantiser.step_kl(ratio) * (1 - q.recovered);
  return q;
}

}  // namespace kvsim::models
