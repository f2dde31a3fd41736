#include "sim/serving/schedules/common_round.h"

#include <algorithm>

namespace kvsim::serving {

bool CommonRound::member(const Request& r) const {
  return std::find(cohort_.begin(), cohort_.end(), r.id) != cohort_.end();
}

void CommonRound::plan(const ReplicaView& view, std::int64_t, IterationPlan& plan) {
  if (cohort_.empty()) {
    for (const Request* r : view.decoding) {
      if (!r->direct) cohort_.push_back(r->id);
    }
  }
  pending_.clear();
  bool all_drafted = true;
  for (std::size_t i = 0; i < view.decoding.size(); ++i) {
    const Request& r = *view.decoding[i];
    if (!member(r)) continue;
    pending_.push_back(i);
    all_drafted = all_drafted && draft_complete(r);
  }
  if (all_drafted) {
    for (const std::size_t i : pending_) {
      if (!verifiable(*view.decoding[i])) plan.late.push_back(i);
    }
    plan_verification(view, pending_, plan);
    return;
  }
  for (const std::size_t i : pending_) {
    if (!draft_complete(*view.decoding[i])) plan.actions[i] = Action::draft;
  }
}

void CommonRound::verified(const Request& request, const ReplicaView&) {
  removed(request);
}

void CommonRound::removed(const Request& request) {
  std::erase(cohort_, request.id);
}

}  // namespace kvsim::serving
