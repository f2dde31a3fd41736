// Continuous batching without look-ahead: everyone drafts, a reload is asked for when the draft is complete, and the
// request goes on drafting (up to the limit) until its full KV is there.
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {
namespace {

class Fcfs final : public SchedulePolicy {
 public:
  bool admit(const Request&, std::int64_t, const ReplicaView&) override { return true; }

  void plan(const ReplicaView& view, std::int64_t, IterationPlan& plan) override {
    for (std::size_t i = 0; i < view.decoding.size(); ++i) {
      const Request& r = *view.decoding[i];
      if (r.direct) continue;
      if (draft_complete(r) && verifiable(r)) {
        plan.actions[i] = Action::verify;
        continue;
      }
      if (draft_complete(r)) {
        plan.late.push_back(i);
        if (r.round.reload == Reload::none) plan.reloads.push_back({i, false});
      }
      plan.actions[i] = draft_or_stall(r, view);
    }
  }

  void verified(const Request&, const ReplicaView&) override {}
  void removed(const Request&) override {}
};

}  // namespace

std::unique_ptr<SchedulePolicy> make_fcfs(const ScheduleConfig&) {
  return std::make_unique<Fcfs>();
}

}  // namespace kvsim::serving
