#include "sim/serving/draft_lengths/draft_lengths.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/agreement_keys.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {
namespace {

/// Weight of the past in a moving average, per observation.
constexpr double kPast = 0.95;

double averaged(double past, double now) {
  return kPast * past + (1 - kPast) * now;
}

/// The step with only `verifying` verifications; the requests left out draft instead. Precondition: some draft.
models::StepWork with_verifications(const models::StepWork& work, double verifying) {
  const double all = work.verify.requests;
  const double drafts = (work.decode.query_tokens + all - verifying) / work.decode.query_tokens;
  models::StepWork less;
  less.decode = work.decode;
  less.decode *= drafts;
  less.logit_tokens = less.decode.query_tokens;
  if (verifying <= 0) return less;
  const double share = verifying / all;
  less.verify = work.verify;
  less.verify *= share;
  less.logit_tokens += less.verify.query_tokens;
  return less;
}

/// The step without one of its drafts. Precondition: some draft.
models::StepWork with_fewer_drafts(const models::StepWork& work) {
  const double share = 1 - 1 / work.decode.query_tokens;
  models::StepWork less = work;
  less.logit_tokens -= 1;
  less.decode *= share;
  return less;
}

/// The work with one query token more of each request.
models::AttentionWork with_one_more(models::AttentionWork part) {
  if (part.query_tokens <= 0) return part;
  const double requests = part.requests > 0 ? part.requests : part.query_tokens;
  part.pairs *= (part.query_tokens + requests) / part.query_tokens;
  part.unattended *= (part.query_tokens + requests) / part.query_tokens;
  part.quantised *= (part.query_tokens + requests) / part.query_tokens;
  part.query_tokens += requests;
  part.requests = requests;
  return part;
}

}  // namespace

DraftLengths::DraftLengths(const DraftLengthParts& parts, Measurements& measured)
    : parts_(parts),
      measured_(measured),
      longest_(std::max(parts.decode.proposes() ? parts.drafting.most() : draft_limit(parts.config.decode),
                        parts.config.decode.draft_lengths.maximum)),
      forgetting_(parts.config.decode.draft_lengths.own.of<AgreementKeys>().forgetting) {
  if (!parts.decode.drafts()) return;
  policy_ = find_draft_length_policy(parts.config.decode.draft_lengths.policy)->make(parts);
}

double DraftLengths::overhead(double batch, bool reloads) const {
  // Every verification makes the iteration longer for all: over a round each of the batch has one.
  return 1 + std::max(batch, 1.0) * added_ + (reloads ? waited_ : 0);
}

void DraftLengths::begin_round(Request& r, std::span<Request* const> decoding, bool reloads) {
  if (!parts_.decode.verifies) return;
  // Under two levels of drafting, an iteration of drafting is worth that many tokens.
  const double tokens = parts_.drafting.tokens_per_step();
  begin_round(r, {decoding, tokens * overhead(static_cast<double>(decoding.size()), reloads),
                  reloads ? std::llround(tokens * hidden_) : 0, draft_share_ * emitted_each_});
}

void DraftLengths::begin_round(Request& r, const DraftEstimate& estimate) {
  DraftState& length = r.round.length.edit();
  length.overhead = estimate.overhead;
  length.hidden = estimate.hidden;
  length.chosen = policy_->next(r, estimate);
  length.limit = policy_->limit(r, estimate, length.chosen + estimate.hidden);
  r.round.target = std::min(length.chosen, r.remaining());
}

void DraftLengths::drafted(Request& r, std::int64_t tokens, engine::SimTime now) {
  const bool incomplete = r.round.drafted < r.round.target;
  r.round.drafted += tokens;
  if (incomplete && r.round.drafted >= r.round.target) r.round.length.edit().complete_at = now;
}

bool DraftLengths::StepLine::add(double verifications, double step_s) {
  if (mean_step_s_ <= 0) {
    mean_verifications_ = verifications;
    mean_step_s_ = step_s;
    return false;
  }
  const double more = verifications - mean_verifications_, longer_s = step_s - mean_step_s_;
  mean_verifications_ += (1 - kPast) * more;
  mean_step_s_ += (1 - kPast) * longer_s;
  variance_ = kPast * (variance_ + (1 - kPast) * more * more);
  covariance_ = kPast * (covariance_ + (1 - kPast) * more * longer_s);
  return variance_ > 0;
}

double DraftLengths::StepLine::added() const {
  const double slope = std::max(covariance_ / variance_, 0.0);
  return slope / std::max(mean_step_s_ - slope * mean_verifications_, mean_step_s_ / 100);
}

void DraftLengths::timed(const models::StepWork& work, const models::StepTime& time, std::int64_t verifications) {
  if (!parts_.decode.verifies) return;
  emitted_each_ = averaged(emitted_each_, std::exchange(emitted_, 0.0));
  if (!work.chunks.empty()) return;
  if (parts_.drafting.most() > 0) {
    if (steps_.add(static_cast<double>(verifications), time.total_s)) added_ = steps_.added();
    return;
  }
  if (work.extra_gpu_s > 0) return;
  constexpr std::uint64_t kEveryStep = 16;
  if (steps_ended_++ % kEveryStep == 0 && work.decode.query_tokens > 0) {
    const models::StepWork less = with_fewer_drafts(work);
    draft_share_ = std::max(1 - parts_.timer.time(less).total_s / time.total_s, 0.0);
  }
  const double drafting = work.decode.query_tokens;
  const double verifying = work.verify.requests;
  if (verifying == 0) {
    drafting_s_ = time.total_s;
    return;
  }
  constexpr std::uint64_t kEvery = 4;  // what a verification adds changes slowly
  if (verifying_steps_++ % kEvery != 0) return;
  // The iteration's time as a line c0 + m n through what it is with n verifications and with half of them (where there
  // is one, with none), the others drafting instead: then (x + 1) T(B / (x + 1)) = c0 (x + 1 + B m / c0).
  const double fewer = verifying > 1 ? verifying / 2 : 0;
  double fewer_s = drafting_s_;
  if (drafting > 0) {
    const models::StepWork less = with_verifications(work, fewer);
    fewer_s = parts_.timer.time(less).total_s;
  } else if (fewer > 0 && drafting_s_ > 0) {  // nothing is known of a draft beside these: the line goes through none
    fewer_s = drafting_s_ + (time.total_s - drafting_s_) * fewer / verifying;
  }
  if (fewer_s <= 0) return;
  const double slope = std::max(time.total_s - fewer_s, 0.0) / (verifying - fewer);
  const double added = slope / std::max(time.total_s - slope * verifying, time.total_s / 100);
  added_ = added_ > 0 ? averaged(added_, added) : added;
}

void DraftLengths::verified(Request& r, std::int64_t drafted, std::int64_t accepted, const RoundEnd& end) {
  if (end.reload_s > 0) {
    double waited = 0, own = 0;
    if (drafted >= r.round.target) {
      waited = std::max((end.ready - r.round.length->complete_at).seconds(), 0.0);
      const double ahead_s = std::max((r.round.length->complete_at - r.round.length->reload_at).seconds(), 0.0);
      own = std::clamp(end.reload_s - ahead_s, 0.0, waited);
    }
    hidden_ = averaged(hidden_, own / end.iteration_s);
    waited_ = averaged(waited_, (waited - own) / end.iteration_s);
  }
  verified(r, drafted, accepted);
}

void DraftLengths::verified(Request& r, std::int64_t drafted, std::int64_t accepted) {
  emitted_ += static_cast<double>(accepted) + 1;
  if (drafted == 0) return;
  // Drafts on prompts as they were found end when the whole one is there, whatever was asked for.
  if (parts_.decode.as_found()) {
    measured_.draft_lengths.add(drafted);
  } else {
    note_regret(r);
  }
  r.round.length.edit().evidence.add_round(drafted, accepted, forgetting_);
  policy_->verified(r, drafted, accepted);
}

void DraftLengths::note_regret(const Request& r) {
  const DraftLengthConfig& config = parts_.config.decode.draft_lengths;
  const std::int64_t left = r.remaining();
  const std::int64_t chosen = std::min(r.round.length->chosen, left);
  // As far as the request has tokens left to generate, and the law is known.
  const std::int64_t most = std::min(left, longest_);
  const auto accepted = [&](std::int64_t x) {
    const std::int64_t drafts = std::min(x + r.round.length->hidden, most);
    return parts_.acceptance.heterogeneous() ? expected_accepted(r.samplers.drafts->acceptance.agreement, drafts)
                                             : parts_.acceptance.expected_accepted(drafts);
  };
  const double v = r.round.length->overhead + static_cast<double>(r.round.length->hidden);
  const std::int64_t best = best_draft_length(accepted, v, std::min(config.minimum, chosen),
                                              std::max(std::min(config.maximum, left), chosen));
  DraftLengthMeasurement& m = measured_.draft_lengths;
  m.add(r.round.length->chosen);
  m.expected_tokens += 1 + accepted(chosen);
  m.best_tokens += (1 + accepted(best)) / (static_cast<double>(best) + v) * (static_cast<double>(chosen) + v);
}

void DraftLengths::begin_step(std::span<Request* const> decoding) {
  if (!parts_.decode.proposes() || decoding.empty()) return;
  lengths_.assign(decoding.size(), 0);
  policy_->propose({decoding}, costs_, lengths_);
  for (std::size_t i = 0; i < decoding.size(); ++i) decoding[i]->round.length.edit().chosen = lengths_[i];
  constexpr std::uint64_t kEvery = 8;  // the regret is a ratio of sums: a part of the steps tells it
  if (steps_begun_++ % kEvery == 0) note_regret(decoding);
}

void DraftLengths::stepped(const ProposalStep& step, std::span<Request* const> decoding) {
  if (!parts_.decode.proposes() || decoding.empty()) return;
  waiting_s_ = averaged(waiting_s_, std::max(step.waited_s, 0.0));
  constexpr std::uint64_t kEvery = 4;
  if (steps_ended_++ % kEvery != 0) return;
  const auto requests = static_cast<double>(decoding.size());
  models::StepWork more = step.work;
  more.decode = with_one_more(more.decode);
  more.verify = with_one_more(more.verify);
  const double added = more.tokens() - step.work.tokens();
  if (added <= 0) return;
  more.logit_tokens += added;
  // Computing that takes longer while KV is on its way costs nothing: the additional fetches count there. Steps that
  // wait for less than that are near the point at which they no longer wait.
  const double computing_s = parts_.timer.time(more).total_s - step.time.total_s;
  const double waiting = step.link_s > 0 ? std::min(waiting_s_ / step.link_s, 1.0) : 1.0;
  const double longer_s = waiting * std::max(computing_s - waiting_s_, step.link_s) + (1 - waiting) * computing_s;
  double context = 0;
  for (const Request* r : decoding) context += static_cast<double>(r->attended()) / requests;
  const double one_s = parts_.drafting.pass_s(1, context);
  const double own_s = requests > 1 ? (parts_.drafting.pass_s(requests, context) - one_s) / (requests - 1) : 0.0;
  const double verified_s = std::max(longer_s, 0.0) / added;
  ProposalCosts now;
  now.pass_s = one_s - own_s;
  now.token_s = own_s + verified_s;
  now.step_s = step.time.total_s - step.drafting_s + std::max(step.waited_s, 0.0) -
               verified_s * static_cast<double>(step.proposed);
  now.step_s = std::max(now.step_s, step.time.total_s / 100);
  if (costs_.step_s <= 0) {
    costs_ = now;
    return;
  }
  constexpr double kKept = 0.8;
  costs_.step_s = kKept * costs_.step_s + (1 - kKept) * now.step_s;
  costs_.pass_s = kKept * costs_.pass_s + (1 - kKept) * now.pass_s;
  costs_.token_s = kKept * costs_.token_s + (1 - kKept) * now.token_s;
}

void DraftLengths::proposed(Request& r, std::int64_t tokens, std::int64_t accepted) {
  if (!parts_.decode.proposes()) return;
  measured_.draft_lengths.add(r.round.length->chosen);
  // A step without proposals tells nothing, and what was known grows old: they are tried again some time.
  if (tokens == 0 && r.round.length->chosen > 0) return;
  r.round.length.edit().evidence.add_round(tokens, accepted, forgetting_);
  policy_->verified(r, tokens, accepted);
}

/// Records the tokens that the step's lengths give, beside those of the best ones, for a batch of known agreement.
void DraftLengths::note_regret(std::span<Request* const> decoding) {
  if (costs_.step_s <= 0) return;
  const DraftLengthConfig& config = parts_.config.decode.draft_lengths;
  const std::int64_t most = longest_;
  const auto stride = static_cast<std::size_t>(most);
  survival_.assign(decoding.size() * stride, 0.0);
  for (std::size_t k = 0; k < decoding.size(); ++k) {
    const Request& r = *decoding[k];
    double reached = 1;
    for (std::int64_t i = 0; i < std::min(most, r.remaining() - 1); ++i) {
      reached = parts_.acceptance.heterogeneous() ? reached * r.samplers.drafter->acceptance.agreement
                                                  : parts_.acceptance.survival(i + 1);
      survival_[k * stride + static_cast<std::size_t>(i)] = reached;
    }
  }
  const double chosen = proposal_rate(survival_, most, costs_, lengths_);
  double tokens = static_cast<double>(decoding.size());
  for (std::size_t k = 0; k < decoding.size(); ++k) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(lengths_[k]); ++i) tokens += survival_[k * stride + i];
  }
  const std::int64_t shortest = *std::min_element(lengths_.begin(), lengths_.end());
  const double best = best_proposals(survival_, std::min(config.minimum, shortest), most, costs_, lengths_);
  measured_.draft_lengths.expected_tokens += tokens;
  measured_.draft_lengths.best_tokens += tokens * std::max(best / chosen, 1.0);
}

}  // namespace kvsim::serving
