// The schedule policy of a replica: what it sees, and what it has decided for the step that begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sim/machine/gpu_group.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/replica_environment.h"
#include "sim/serving/roster.h"
#include "sim/serving/schedule_policy.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

class Scheduling {
 public:
  /// All of it outlives this. `tokens_per_draft`: ReplicaView's.
  Scheduling(const ReplicaEnvironment& environment, const SchedulePolicyEntry& policy, const Roster& roster,
             const machine::GpuGroup& gpus, const KvHoldings& memory, const transport::Link& from_host,
             double tokens_per_draft);

  /// May the request enter now? See SchedulePolicy::admit.
  [[nodiscard]] bool admit(const Request& r, std::int64_t first_load_bytes) {
    return policy_->admit(r, first_load_bytes, view());
  }
  /// Decides the coming step, and says who is late. Precondition: the decode policy verifies.
  const IterationPlan& plan();
  /// As planned for a request of roster.decoding(): whoever came there since begins with the next step.
  [[nodiscard]] Action action(std::size_t decoding) const;
  /// It was verified, and begins its next round.
  void verified(const Request& r) { policy_->verified(r, view()); }
  /// It has finished or is pushed out.
  void removed(const Request& r) { policy_->removed(r); }

 private:
  [[nodiscard]] ReplicaView view() const;

  const ReplicaEnvironment& env_;
  const Roster& roster_;
  const machine::GpuGroup& gpus_;
  const KvHoldings& memory_;
  const transport::Link& from_host_;
  double tokens_per_draft_;
  std::int64_t draft_limit_;
  std::unique_ptr<SchedulePolicy> policy_;
  IterationPlan plan_;  // kept for its memory
};

}  // namespace kvsim::serving
