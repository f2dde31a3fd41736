// Continuous batching without look-ahead: everyone drafts, a reload is asked for when the draft is complete, and the
// request goes on drafting (up to the limit) until its full KV is there.
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {
namespace {

class Fcfs final : public SchedulePolicy {
 public:
  void plan(const ReplicaView& view, IterationPlan& plan) override {
    for (std::size_t i = 0; i < view.asked.size(); ++i) plan.decisions[i] = decide(*view.asked[i], view, plan);
  }

 private:
  static Decision decide(const Request& r, const ReplicaView& view, IterationPlan& plan) {
    if (r.full_kv.direct) return {Action::draft};
    const Action draft = draft_or_stall(r, view);
    if (!draft_complete(r)) return {draft, false, Decision::kUntilItChanges};
    if (verifiable(r)) return {Action::verify};
    if (r.round.reload == Reload::none) plan.reloads.push_back({&r, false, true});
    return {draft, true, Decision::kUntilItChanges};
  }
};

}  // namespace

SchedulePolicyEntry schedule_fcfs() {
  return {.name = "fcfs",
          .description = "continuous batching in order of arrival; a reload is asked for when its draft is complete",
          .drafts_while_reloading = true,
          .loads_first_at_once = true,
          .make = [](const ScheduleConfig&) -> std::unique_ptr<SchedulePolicy> { return std::make_unique<Fcfs>(); }};
}

}  // namespace kvsim::serving
