#include "sim/serving/draft_lengths/draft_lengths.h"

#include <algorithm>
#include <cmath>

#include "sim/serving/capacity.h"
#include "sim/serving/draft_lengths/round_value.h"

namespace kvsim::serving {
namespace {

/// Weight of the past in a moving average, per observation.
constexpr double kPast = 0.95;

double averaged(double past, double now) {
  return kPast * past + (1 - kPast) * now;
}

/// The same step with `verifying` verifications, those that are left out drafting instead. Precondition: some draft.
models::StepWork with_verifications(const models::StepWork& work, double verifying) {
  const double all = work.verify.requests;
  const double drafts = (work.decode.query_tokens + all - verifying) / work.decode.query_tokens;
  models::StepWork less;
  less.decode = work.decode;
  less.decode.query_tokens *= drafts;
  less.decode.requests *= drafts;
  less.decode.kv_bytes *= drafts;
  less.decode.pairs *= drafts;
  less.logit_tokens = less.decode.query_tokens;
  if (verifying <= 0) return less;
  const double share = verifying / all;
  less.verify = work.verify;
  less.verify.query_tokens *= share;
  less.verify.requests *= share;
  less.verify.kv_bytes *= share;
  less.verify.pairs *= share;
  less.logit_tokens += less.verify.query_tokens;
  return less;
}

}  // namespace

DraftLengths::DraftLengths(const DraftLengthParts& parts, Measurements& measured)
    : parts_(parts),
      measured_(measured),
      longest_(std::max(draft_limit(parts.config.decode), parts.config.decode.draft_lengths.maximum)) {
  if (!parts.decode.verifies) return;
  policy_ = find_draft_length_policy(parts.config.decode.draft_lengths.policy)->make(parts);
}

double DraftLengths::overhead(double batch, bool reloads) const {
  // Every verification makes the iteration longer for all: over a round each of the batch has one.
  return 1 + std::max(batch, 1.0) * added_ + (reloads ? waited_ : 0);
}

void DraftLengths::begin_round(Request& r, std::span<Request* const> decoding, bool reloads) {
  if (!policy_) return;
  const DraftOutlook outlook{decoding, overhead(static_cast<double>(decoding.size()), reloads),
                             reloads ? std::llround(hidden_) : 0};
  r.draft.overhead = outlook.overhead;
  r.draft.hidden = outlook.hidden;
  r.draft.chosen = policy_->next(r, outlook);
  r.draft_target = std::min(r.draft.chosen, r.remaining());
}

void DraftLengths::drafted(Request& r, std::int64_t tokens, engine::SimTime now) {
  const bool incomplete = r.drafted < r.draft_target;
  r.drafted += tokens;
  if (incomplete && r.drafted >= r.draft_target) r.draft.complete_at = now;
}

void DraftLengths::timed(const models::StepWork& work, const models::StepTime& time) {
  if (!policy_ || !work.chunks.empty() || work.extra_gpu_s > 0) return;
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
    if (drafted >= r.draft_target) {
      waited = std::max((end.ready - r.draft.complete_at).seconds(), 0.0);
      const double ahead_s = std::max((r.draft.complete_at - r.draft.reload_at).seconds(), 0.0);
      own = std::clamp(end.reload_s - ahead_s, 0.0, waited);
    }
    hidden_ = averaged(hidden_, own / end.iteration_s);
    waited_ = averaged(waited_, (waited - own) / end.iteration_s);
  }
  if (drafted == 0) return;
  note_regret(r);
  r.draft.evidence.add_round(drafted, accepted, parts_.config.decode.draft_lengths.forgetting);
  policy_->verified(r, drafted, accepted);
}

void DraftLengths::note_regret(const Request& r) {
  const DraftLengthConfig& config = parts_.config.decode.draft_lengths;
  const std::int64_t left = r.remaining();
  const std::int64_t chosen = std::min(r.draft.chosen, left);
  // As far as the request has tokens left to generate, and the law is known.
  const std::int64_t most = std::min(left, longest_);
  const auto accepted = [&](std::int64_t x) {
    const std::int64_t drafts = std::min(x + r.draft.hidden, most);
    return parts_.acceptance.heterogeneous() ? expected_accepted(r.acceptance.agreement, drafts)
                                             : parts_.acceptance.expected_accepted(drafts);
  };
  const double v = r.draft.overhead + static_cast<double>(r.draft.hidden);
  const std::int64_t best = best_draft_length(accepted, v, std::min(config.minimum, chosen),
                                              std::max(std::min(config.maximum, left), chosen));
  DraftLengthMeasurement& m = measured_.draft_lengths;
  m.add(r.draft.chosen);
  m.expected_tokens += 1 + accepted(chosen);
  m.best_tokens += (1 + accepted(best)) / (static_cast<double>(best) + v) * (static_cast<double>(chosen) + v);
}

}  // namespace kvsim::serving
