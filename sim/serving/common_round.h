// Common part of lock_step and sequential_verify: a cohort drafts together, then verifies before any request drafts
// again. Requests that become ready in the middle of a round wait for the next one.
#pragma once

#include <vector>

#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {

class CommonRound : public SchedulePolicy {
 public:
  void plan(const ReplicaView& view, IterationPlan& plan) final;
  [[nodiscard]] bool decides_together() const final { return true; }
  bool verified(const Request& request, const ReplicaView& view) final;
  void removed(const Request& request) final;

 protected:
  /// Every member has drafted; `pending[k]` indexes into view.decoding those not yet verified, which are all asked
  /// about. Start reloads, order verifications.
  virtual void plan_verification(const ReplicaView& view, const std::vector<std::size_t>& pending,
                                 IterationPlan& plan) = 0;

 private:
  std::vector<std::uint64_t> cohort_;  // ids still to be verified in this round, in order of admission
  std::vector<std::size_t> pending_;
};

}  // namespace kvsim::serving
