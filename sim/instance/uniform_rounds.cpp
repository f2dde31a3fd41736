#include "sim/instance/uniform_rounds.h"

namespace kvsim::serving {

void UniformRounds::batch(ForwardPass& pass) {
  follow_schedule();
  uniform_batch_.begin_step(pass.work);
  for (Request* r : verifying_) {
    const StepPart part{Work::verify, verified_tokens(*r)};
    pass.add(*r, part);
    parts_.add(*r, part, pass.work);
  }
  uniform_batch_.look_after(scheduling_.iterations_left());
  env_.measured.drafting_request_iterations += static_cast<std::uint64_t>(uniform_batch_.drafts());
  env_.measured.verifying_request_iterations += verifying_.size();
  count_stalled(scheduling_.stalled(), scheduling_.stalled_late());
}

/// Applies the schedule's decisions about the requests asked about; about others nothing has changed.
void UniformRounds::follow_schedule() {
  verifying_.clear();
  std::int64_t tokens = 0;
  for (Request* r : scheduling_.asked()) {
    const Action action = scheduling_.action(*r);
    if (action != Action::draft) {
      uniform_batch_.leave(*r);
    } else if (!uniform_batch_.has(*r)) {
      uniform_batch_.join(*r, Work::draft, rounds_.drafts_left(*r), env_.simulator.now());
    }
    if (action != Action::verify) continue;
    verifying_.push_back(r);
    tokens += verified_tokens(*r);
  }
  if (tokens + uniform_batch_.size() > env_.config.schedule.max_batched_tokens) leave_out_excess();
}

/// As if one request after the other was added in order of admission.
void UniformRounds::leave_out_excess() {
  std::int64_t budget = env_.config.schedule.max_batched_tokens;
  auto next = verifying_.begin(), kept = next;
  for (Request* r : queues_.decoding()) {
    const bool verifies = next != verifying_.end() && *next == r;
    const std::int64_t tokens = verifies ? verified_tokens(*r) : uniform_batch_.has(*r) ? 1 : 0;
    if (verifies) ++next;
    const bool first = budget == env_.config.schedule.max_batched_tokens;
    if (verifies && tokens > budget && !first) {
      count_stalled(1, r->round.late ? 1 : 0);
      continue;
    }
    budget -= tokens;
    if (verifies) *kept++ = r;
  }
  verifying_.erase(kept, verifying_.end());
}

void UniformRounds::count_stalled(std::int64_t requests, std::int64_t late) {
  env_.measured.stalled_request_iterations += static_cast<std::uint64_t>(requests);
  env_.measured.late_request_iterations += static_cast<std::uint64_t>(late);
}

void UniformRounds::pass() {
  scheduling_.pass();
  count_stalled(scheduling_.stalled(), scheduling_.stalled_late());
}

void UniformRounds::end_step() {
  over_.clear();
  uniform_batch_.end_step(env_.simulator.now(), over_, [this](Request& r) {
    if (r.round.drafted == r.round.target) r.round.length.edit().complete_at = env_.simulator.now();
    return scheduling_.drafted(r) ? 0 : rounds_.drafts_left(r);
  });
}

}  // namespace kvsim::serving
