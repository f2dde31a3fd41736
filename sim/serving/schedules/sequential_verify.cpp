// After a common draft phase, one verification an iteration, in order of admission. While one request is verified the
// next one's reload is under way (double buffering), so GPU memory holds at most two full KVs.
#include "sim/serving/common_round.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {
namespace {

class SequentialVerify final : public CommonRound {
 protected:
  void plan_verification(const ReplicaView& view, const std::vector<std::size_t>& pending,
                         IterationPlan& plan) override {
    constexpr std::size_t kBuffers = 2;
    std::size_t buffered = 0;
    bool verifying = false;
    for (const std::size_t i : pending) {
      const Request& r = *view.decoding[i];
      if (!verifying && verifiable(r)) {
        plan.decisions[i].action = Action::verify;
        verifying = true;
      }
      if (keeps_full_kv(r)) continue;
      if (buffered < kBuffers && r.round.reload == Reload::none) plan.reloads.push_back({&r, false});
      if (buffered < kBuffers) ++buffered;
    }
  }
};

}  // namespace

SchedulePolicyEntry schedule_sequential_verify() {
  return {.name = "sequential_verify",
          .description = "all draft x tokens, then one verification an iteration",
          .needs_verification = true,
          .make = [](const ScheduleConfig&) -> std::unique_ptr<SchedulePolicy> {
            return std::make_unique<SequentialVerify>();
          }};
}

}  // namespace kvsim::serving
