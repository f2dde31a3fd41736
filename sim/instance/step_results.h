// The results of an instance's step: outcomes of the requests that took part in it.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/instance/instance_parts.h"

namespace kvsim::serving {

class StepResults {
 public:
  /// `parts` outlives this.
  explicit StepResults(InstanceParts& parts) : parts_(parts) {}

  /// The step has ended.
  void apply();

 private:
  [[nodiscard]] const ForwardPass& pass() const { return parts_.loop.pass(); }
  void apply_step_of_decoding();
  void apply_uniformly();
  void apply_alone(const StepEntry& entry);
  void count_for_nobody(const StepEntry& entry);
  void apply_once();
  void apply_decoding();
  void apply_decoded(Request& r, std::int64_t proposed);
  void apply_verification(Request& r);
  void apply_prefill();

  InstanceParts& parts_;
  std::vector<Request*> over_;  // with one step; kept for its memory
};

}  // namespace kvsim::serving
