#include "sim/serving/round_rate.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/step_parts.h"

namespace kvsim::serving {
namespace {

void add_scaled(models::AttentionWork& sum, const models::AttentionWork& one, double count) {
  sum.query_tokens += count * one.query_tokens;
  sum.kv_bytes += count * one.kv_bytes;
  sum.pairs += count * one.pairs;
  sum.requests += count * one.requests;
}

void add_scaled(models::StepWork& sum, const models::StepWork& one, double count) {
  add_scaled(sum.decode, one.decode, count);
  add_scaled(sum.verify, one.verify, count);
  sum.logit_tokens += count * one.logit_tokens;
}

/// One request's step that drafts when `drafted` tokens are there.
models::StepWork draft_step(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                            const RoundBatch& b, std::int64_t drafted) {
  models::StepWork work;
  if (decode.reads_compressed) {
    add_draft(work, geometry, b.prompt, b.generated, drafted,
              attention_time_factor(config.cluster.profile, config.decode.compressor));
  } else {
    add_decode(work, geometry, b.prompt + b.generated + drafted);
  }
  return work;
}

}  // namespace

RoundRate predict_round(const ServingConfig& config, const DecodePolicy& decode, const KvGeometry& geometry,
                        const models::StepTimer& timer, const RoundBatch& b) {
  const auto x = static_cast<double>(b.draft_length);
  const models::StepWork first = draft_step(config, decode, geometry, b, 0);
  const models::StepWork last = draft_step(config, decode, geometry, b, b.draft_length - 1);
  models::StepWork verification;
  add_verification(verification, geometry, b.prompt + b.generated, b.draft_length);
  const auto seconds = [&](double verifying) {
    models::StepWork work;
    // The mean over a round's drafts, each of which reads one token more.
    const double drafting = std::max(b.requests - verifying, 0.0);
    add_scaled(work, first, drafting / 2);
    add_scaled(work, last, drafting / 2);
    add_scaled(work, verification, verifying);
    return timer.time(work).total_s;
  };
  // Of requests in turn, this whole number verifies or the next one.
  const double verifying = b.requests / (x + 1);
  const double fewer = std::floor(verifying), share = verifying - fewer;
  RoundRate rate;
  rate.iteration_s = (1 - share) * seconds(fewer) + (share > 0 ? share * seconds(fewer + 1) : 0.0);
  if (decode.offloads()) {
    const double offloaded = std::max(b.requests - static_cast<double>(config.decode.resident), 0.0);
    const double bandwidth =
        static_cast<double>(config.cluster.tensor_parallel) * config.cluster.host_link.read_bytes_per_s.value;
    rate.link_s = offloaded * static_cast<double>(geometry.reload_transfer(b.prompt, b.generated)) / bandwidth;
  }
  rate.round_s = std::max((x + 1) * rate.iteration_s, rate.link_s);
  rate.tokens_per_s = b.requests * (1 + b.accepted) / rate.round_s;
  return rate;
}

}  // namespace kvsim::serving
