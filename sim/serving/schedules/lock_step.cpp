// All draft x tokens, then all verify together. The reloads serialise on the link while nobody drafts; the compressed
// copies leave GPU memory to make room. Where memory cannot hold every full KV at once, verification goes in waves.
#include <algorithm>

#include "sim/serving/common_round.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {
namespace {

class LockStep final : public CommonRound {
 protected:
  void plan_verification(const ReplicaView& view, const std::vector<std::size_t>& pending,
                         IterationPlan& plan) override {
    const auto in_flight = [&](std::size_t i) { return view.decoding[i]->round.reload == Reload::in_flight; };
    const bool waiting = std::any_of(pending.begin(), pending.end(), in_flight);
    const bool started = std::any_of(pending.begin(), pending.end(),
                                     [&](std::size_t i) { return view.decoding[i]->round.reload != Reload::none; });
    for (const std::size_t i : pending) {
      if (!keeps_full_kv(*view.decoding[i]) && !started) plan.reloads.push_back({view.decoding[i], true});
    }
    const bool all_kept =
        std::all_of(pending.begin(), pending.end(), [&](std::size_t i) { return keeps_full_kv(*view.decoding[i]); });
    if (waiting || (!started && !all_kept)) {
      for (Decision& d : plan.decisions) d.stands = Decision::kUntilItChanges;
      return;
    }
    for (const std::size_t i : pending) {
      if (verifiable(*view.decoding[i])) plan.decisions[i].action = Action::verify;
    }
  }
};

}  // namespace

SchedulePolicyEntry schedule_lock_step() {
  return {
      .name = "lock_step",
      .description = "all draft x tokens, then all reload and verify together",
      .needs_verification = true,
      .make = [](const ScheduleConfig&) -> std::unique_ptr<SchedulePolicy> { return std::make_unique<LockStep>(); }};
}

}  // namespace kvsim::serving
