#include "sim/serving/draft_lengths/round_rate.h"

#include <algorithm>
#include <cmath>

#include "models/hardware/link_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {
namespace {

void add_scaled(models::StepWork& sum, const models::StepWork& one, double count) {
  sum.decode.add(one.decode, count);
  sum.verify.add(one.verify, count);
  sum.logit_tokens += count * one.logit_tokens;
}

/// One request's step that drafts when `drafted` tokens are there, with so many proposals.
models::StepWork draft_step(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
                            const KvGeometry& geometry, const RoundBatch& b, std::int64_t drafted,
                            std::int64_t proposed) {
  models::StepWork work;
  if (decode.low_bit_copy) {
    const std::int64_t choosing = decode.fetch == Fetch::speculative ? step_prefetch(config, proposed).query_tokens : 0;
    add_low_bit_decode(work, geometry, b.prompt, b.generated, choosing + 1 + proposed,
                       low_bit_time_factor(config, group));
  } else if (decode.reads_compressed) {
    add_draft(work, geometry, b.prompt, b.generated, drafted, proposed,
              attention_time_factor(config, group, config.decode.compressor));
  } else if (proposed > 0) {
    add_verification(work, geometry, b.prompt + b.generated + drafted, proposed);
  } else {
    add_decode(work, geometry, b.prompt + b.generated + drafted);
  }
  return work;
}

double link_bytes_per_s(const GroupConfig& group) {
  return static_cast<double>(group.parallel.tensor) * group.host_link.read_bytes_per_s.value;
}

/// That the steps of B requests fetch.
double fetch_s(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
               const KvGeometry& geometry, const RoundBatch& b) {
  if (decode.fetch == Fetch::everything) {
    return b.requests * static_cast<double>(geometry.full_transfer(b.prompt + b.generated)) / link_bytes_per_s(group);
  }
  if (!decode.fetches_pairs()) return 0;
  const models::PrefetchSpec spec = step_prefetch(config, decode.fetch == Fetch::speculative ? b.draft_length : 0);
  const std::int64_t others =
      std::max<std::int64_t>(0, b.prompt + b.generated - config.decode.compressor.residual_tokens);
  const models::LayerFetch fetch = models::layer_fetch(spec, config.model, group.parallel.tensor, others);
  const models::GatherMethod* method = models::find_gather(group.host_link, spec.copies, fetch.row_bytes);
  if (!method || fetch.rows <= 0) return 0;
  return static_cast<double>(config.model.layers) *
         models::gather_s(group.host_link, *method, b.requests * fetch.rows, fetch.row_bytes);
}

/// Every step is a round.
RoundRate predict_step(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
                       const KvGeometry& geometry, const models::StepTimer& timer, const Drafting& drafting,
                       const RoundBatch& b) {
  models::StepWork work;
  add_scaled(work, draft_step(config, group, decode, geometry, b, 0, b.draft_length), b.requests);
  RoundRate rate;
  rate.link_s = fetch_s(config, group, decode, geometry, b);
  const double context = static_cast<double>(b.prompt + b.generated);
  const double passes_s = drafting.passes_s(b.requests, context, 1 + b.accepted, b.draft_length);
  rate.iteration_s = passes_s + timer.time(work).total_s;
  rate.round_s = std::max(rate.iteration_s, passes_s + rate.link_s);
  rate.tokens_per_s = b.requests * (1 + b.accepted) / rate.round_s;
  return rate;
}

}  // namespace

RoundRate predict_round(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode,
                        const KvGeometry& geometry, const models::StepTimer& timer, const Drafting& drafting,
                        const RoundBatch& b) {
  if (decode.proposes()) return predict_step(config, group, decode, geometry, timer, drafting, b);
  const std::int64_t x = b.draft_length;
  const std::int64_t proposed = std::min(drafting.most(), x - 1);
  const double drafts = proposed > 0 ? drafting.steps(x) : static_cast<double>(x);
  const models::StepWork first = draft_step(config, group, decode, geometry, b, 0, proposed);
  const models::StepWork last = draft_step(config, group, decode, geometry, b, x - 1 - proposed, proposed);
  models::StepWork verification;
  add_verification(verification, geometry, b.prompt + b.generated, x);
  const auto context = static_cast<double>(b.prompt + b.generated);
  const auto seconds = [&](double verifying) {
    models::StepWork work;
    // The mean over a round's drafts, each of which reads one token more.
    const double drafting_now = std::max(b.requests - verifying, 0.0);
    add_scaled(work, first, drafting_now / 2);
    add_scaled(work, last, drafting_now / 2);
    add_scaled(work, verification, verifying);
    double passes_s = 0;
    if (proposed > 0 && drafting_now > 0) {
      passes_s = drafting.passes_s(drafting_now, context, drafting.tokens_per_step(), proposed);
    }
    return timer.time(work).total_s + passes_s;
  };
  RoundRate rate;
  rate.iterations = drafts + 1;
  // Requests verify in turn: this whole number of them in an iteration, or the next one.
  const double verifying = b.requests / rate.iterations;
  const double fewer = std::floor(verifying), share = verifying - fewer;
  rate.iteration_s = (1 - share) * seconds(fewer) + (share > 0 ? share * seconds(fewer + 1) : 0.0);
  if (decode.offloads()) {
    const double offloaded = std::max(b.requests - static_cast<double>(config.decode.resident), 0.0);
    rate.link_s =
        offloaded * static_cast<double>(geometry.reload_transfer(b.prompt, b.generated)) / link_bytes_per_s(group);
  }
  rate.round_s = std::max(rate.iterations * rate.iteration_s, rate.link_s);
  rate.tokens_per_s = b.requests * (1 + b.accepted) / rate.round_s;
  return rate;
}

}  // namespace kvsim::serving
