#include "sim/serving/common_round.h"

#include <algorithm>

namespace kvsim::serving {

void CommonRound::plan(const ReplicaView& view, IterationPlan& plan) {
  if (cohort_.empty()) {
    for (const Request* r : view.decoding) {
      if (!r->full_kv.direct) cohort_.push_back(r->id);
    }
  }
  pending_.clear();
  bool all_drafted = true;
  auto next = cohort_.begin();
  for (std::size_t i = 0; i < view.decoding.size(); ++i) {
    const Request& r = *view.decoding[i];
    if (next == cohort_.end() || *next != r.id) continue;
    ++next;
    pending_.push_back(i);
    all_drafted = all_drafted && draft_complete(r);
  }
  if (all_drafted) {
    for (const std::size_t i : pending_) plan.decisions[i].late = !verifiable(*view.decoding[i]);
    plan_verification(view, pending_, plan);
    return;
  }
  for (Decision& d : plan.decisions) d.stands = Decision::kUntilItChanges;
  for (const std::size_t i : pending_) {
    if (!draft_complete(*view.decoding[i])) plan.decisions[i].action = Action::draft;
  }
}

bool CommonRound::verified(const Request& request, const ReplicaView&) {
  removed(request);
  return true;
}

void CommonRound::removed(const Request& request) {
  std::erase(cohort_, request.id);
}

}  // namespace kvsim::serving
