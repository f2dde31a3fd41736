// Rounds of drafting and verifying whose drafting steps are one batch: requests that draft are members of it, and an
// instance looks only at those about whom its schedule decides anew, and at verifications.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/instance/request_queues.h"
#include "sim/instance/rounds.h"
#include "sim/instance/scheduling.h"
#include "sim/instance/uniform_batch.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/request.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

/// Whether all rounds of an instance under the configured policy are such.
[[nodiscard]] inline bool rounds_in_step(const DecodePolicy& decode, const UniformBatch& uniform) {
  return decode.verifies && !decode.as_found() && uniform.possible(Work::draft);
}

class UniformRounds {
 public:
  /// All of it outlives this.
  UniformRounds(const InstanceEnvironment& environment, const RequestQueues& queues, UniformBatch& uniform,
                Scheduling& scheduling, const Rounds& rounds, const StepParts& parts, bool verified_here)
      : env_(environment),
        queues_(queues),
        uniform_batch_(uniform),
        scheduling_(scheduling),
        rounds_(rounds),
        parts_(parts),
        possible_(verified_here && rounds_in_step(environment.decode, uniform)) {}

  [[nodiscard]] bool possible() const { return possible_; }

  /// A step begins, which the schedule has decided: those who draft, and those who verify in order of admission.
  void batch(ForwardPass& pass);
  /// The next step of a stretch begins.
  void pass();
  /// A step has ended.
  void end_step();

 private:
  void follow_schedule();
  /// Without verifications that the step has no room for.
  void leave_out_excess();
  void count_stalled(std::int64_t requests, std::int64_t late);

  const InstanceEnvironment& env_;
  const RequestQueues& queues_;
  UniformBatch& uniform_batch_;
  Scheduling& scheduling_;
  const Rounds& rounds_;
  const StepParts& parts_;
  bool possible_;
  std::vector<Request*> verifying_, over_;  // of one step; kept for their memory
};

}  // namespace kvsim::serving
