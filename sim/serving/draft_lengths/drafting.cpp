#include "sim/serving/draft_lengths/drafting.h"

#include <algorithm>
#include <memory>

#include "sim/engine/random.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {

models::AcceptanceModel acceptance_of(const ServingConfig& config, std::int64_t longest) {
  const DecodeConfig& decode = config.decode;
  const DecodePolicy& policy = *find_decode_policy(decode.policy);
  if (!policy.verifies) return {models::AcceptanceSpec{}, 1.0, longest};
  const bool of_what_is_read = full_kv_of(config, policy) == FullKv::tiers || decode.budget;
  if (of_what_is_read && decode.acceptance.kind == models::AcceptanceKind::compressor) {
    // Each request's agreement is that of what it loads, or of what a budget leaves of it (FullKvSource::found). Before
    // that is known adaptive lengths need a mean.
    constexpr double kAssumedMean = 0.9;
    models::AcceptanceSpec by_request;
    by_request.kind = models::AcceptanceKind::heterogeneous;
    by_request.agreement = kAssumedMean;
    return {by_request, 1.0, longest};
  }
  const double ratio = effective_ratio(decode.compressor, decode.keep_ratio);
  return {decode.acceptance, decode.compressor.agreement_at(ratio), longest};
}

namespace {

std::unique_ptr<AcceptanceSampler> drawn(const char* stream, const char* agreement,
                                         const models::AcceptanceModel& acceptance, std::uint64_t seed,
                                         std::uint64_t id) {
  auto sampler = std::make_unique<AcceptanceSampler>(AcceptanceSampler{engine::RandomStream(seed, stream, id), {}});
  if (!acceptance.heterogeneous()) return sampler;
  engine::RandomStream of_agreement(seed, agreement, id);
  sampler->acceptance.agreement = of_agreement.beta(acceptance.beta_a(), acceptance.beta_b());
  return sampler;
}

}  // namespace

void draw_acceptance(Request& request, const models::AcceptanceModel& acceptance, std::uint64_t seed,
                     std::uint64_t id) {
  request.samplers.drafts = drawn("acceptance", "agreement", acceptance, seed, id);
}

void draw_drafter_acceptance(Request& request, const models::AcceptanceModel& acceptance, std::uint64_t seed,
                             std::uint64_t id) {
  request.samplers.drafter = drawn("drafter acceptance", "drafter agreement", acceptance, seed, id);
}

namespace {

/// The drafter is another network on the same GPUs. The cost of an engine iteration beside its kernels is counted once,
/// with the model's own step.
models::KernelProfile without_iteration_overhead(models::KernelProfile profile) {
  profile.iteration_overhead_s.value = 0;
  profile.drafts.reset();
  return profile;
}

double pass_overhead_s(const models::DrafterSpec& drafter, const ServingConfig& config, const GroupConfig& group) {
  if (drafter.says_pass_overhead()) return drafter.pass_overhead_s.value;
  const auto& drafts = group.profile.drafts;
  return drafts ? drafts->pass_overhead_s(drafter.network.vocabulary, config.model.vocabulary) : 0;
}

models::AcceptanceModel law(const ServingConfig& config, const DecodePolicy& decode, std::int64_t most) {
  if (most == 0) return {models::AcceptanceSpec{}, 1.0, 0};
  // Lengths that might have been chosen are compared with those that were.
  const std::int64_t compared = decode.proposes() ? config.decode.draft_lengths.maximum : 0;
  return {config.decode.drafter->law(), 1.0, std::max({most, compared, config.decode.drafter->tokens()})};
}

}  // namespace

Drafting::Drafting(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode)
    : most_(most_proposed(config.decode, decode)), acceptance_(law(config, decode, most_)) {
  if (most_ == 0) return;
  const models::DrafterSpec& drafter = config.decode.drafter->spec;
  timer_ = std::make_shared<const models::StepTimer>(group.gpu, interconnect(config.cluster, group),
                                                     without_iteration_overhead(group.profile), drafter.network,
                                                     group.parallel.tensor);
  window_ = drafter.network.max_context;
  pass_overhead_s_ = pass_overhead_s(drafter, config, group);
  token_bytes_ = static_cast<double>(drafter.network.kv_bytes_per_token());
  block_ = drafter.block;
  branches_ = config.decode.drafter->tree ? static_cast<double>(config.decode.drafter->tree->top_k) : 1.0;
  further_.resize(static_cast<std::size_t>(most_ - 1));
}

std::int64_t Drafting::most(std::int64_t context) const {
  return std::clamp<std::int64_t>(window_ - context, 0, most_);
}

std::int64_t Drafting::accepted(Request& r, std::int64_t proposed) const {
  return acceptance_.accepted(proposed, r.samplers.drafter->stream.uniform(), r.samplers.drafter->acceptance);
}

void Drafting::clear() {
  first_.clear();
  std::fill(further_.begin(), further_.end(), models::AttentionWork{});
}

void Drafting::add_request(double context, double unseen, std::int64_t proposed) {
  if (proposed <= 0) return;
  // A block's further tokens are queries of the first pass.
  const double more = block_ ? static_cast<double>(proposed - 1) : 0;
  const double seen = context - unseen, queries = unseen + more;
  models::AttentionWork& first = first_.verify;
  first.query_tokens += queries;
  first.requests += 1;
  first.kv_bytes += (context + more) * token_bytes_;
  first.pairs += queries * seen + queries * (queries + 1) / 2;
  first.longest_kv = std::max(first.longest_kv, context + more);
  first_.logit_tokens += 1 + more;
  if (block_) return;
  for (std::int64_t i = 0; i + 1 < proposed; ++i) {
    models::AttentionWork& pass = further_[static_cast<std::size_t>(i)];
    const double attended = context + static_cast<double>(i) + 1;
    pass.query_tokens += branches_;
    if (branches_ > 1) pass.requests += 1;
    pass.kv_bytes += attended * token_bytes_;
    pass.pairs += branches_ * attended;
    pass.longest_kv = std::max(pass.longest_kv, attended);
  }
}

void Drafting::add_chunk(double before, double tokens) {
  if (most_ == 0) return;
  first_.prefill.query_tokens += tokens;
  first_.prefill.requests += 1;
  first_.prefill.pairs += tokens * before + tokens * (tokens + 1) / 2;
  first_.prefill.kv_bytes += (before + tokens) * token_bytes_;
  first_.chunks.push_back({tokens, before});
}

double Drafting::work_s(const models::StepWork& work) const {
  return timer_->time(work).total_s + pass_overhead_s_;
}

double Drafting::pass_s(double requests, double context, double unseen) const {
  models::StepWork work;
  models::AttentionWork& part = unseen > 1 ? work.verify : work.decode;
  part.query_tokens = requests * unseen;
  part.requests = unseen > 1 ? requests : 0;
  part.kv_bytes = requests * context * token_bytes_;
  part.pairs = requests * (unseen * (context - unseen) + unseen * (unseen + 1) / 2);
  part.longest_kv = context;
  work.logit_tokens = requests;
  return work_s(work);
}

double Drafting::passes_s(double requests, double context, double unseen, std::int64_t proposed) const {
  if (proposed <= 0) return 0;
  const auto further = static_cast<double>(proposed - 1);
  if (block_) return pass_s(requests, context + further, unseen + further);
  return pass_s(requests, context, unseen) + (further > 0 ? further * pass_s(requests, context) : 0.0);
}

double Drafting::steps(std::int64_t tokens) const {
  // E(0) = 0, E(k) = 1 + sum_j P(j accepted of min(most, k - 1)) E(k - 1 - j).
  std::vector<double> mean(static_cast<std::size_t>(std::max<std::int64_t>(tokens, 0)) + 1, 0.0);
  for (std::int64_t k = 1; k <= tokens; ++k) {
    const std::int64_t proposed = std::min(most_, k - 1);
    double expected = 1;
    for (std::int64_t j = 0; j <= proposed; ++j) {
      const double beyond = j < proposed ? acceptance_.survival(j + 1) : 0.0;
      expected += (acceptance_.survival(j) - beyond) * mean[static_cast<std::size_t>(k - 1 - j)];
    }
    mean[static_cast<std::size_t>(k)] = expected;
  }
  return mean.back();
}

double Drafting::seconds() const {
  if (first_.tokens() <= 0) return 0;
  double total = work_s(first_);
  models::StepWork work;
  for (const models::AttentionWork& pass : further_) {
    if (pass.query_tokens <= 0) break;
    work.decode = pass;
    work.logit_tokens = pass.query_tokens;
    total += work_s(work);
  }
  return total;
}

}  // namespace kvsim::serving
