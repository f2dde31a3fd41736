// From a scenario to the cycles of the closed form: what an average iteration costs on this machine, with this model,
// compressor and traffic.
#pragma once

#include <cstdint>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/kernels/step_time.h"
#include "planner/closed_form/cycle.h"
#include "planner/plan/average_iteration.h"
#include "planner/plan/refinements.h"
#include "planner/plan/traffic.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::planner {

class ScenarioCosts {
 public:
  /// The decode policy, draft length, keep ratio, residents and offloaded requests of the scenario are what is planned
  /// and do not matter here; its compressor, its acceptance model and all else do.
  ScenarioCosts(const scenario::Scenario& scenario, const Refinements& refinements);

  /// Cycles of x drafts for every x in [least, most] at keep ratio c. Throws std::invalid_argument where nothing is
  /// known of the agreement at c.
  [[nodiscard]] std::vector<Cycle> drafting(double c, std::int64_t least, std::int64_t most) const;

  /// Plain decoding with the full KV.
  [[nodiscard]] Cycle full_kv() const { return plain(1.0, false); }

  /// Plain decoding with the KV compressed to c: another output.
  [[nodiscard]] Cycle lossy(double c) const { return plain(c, true); }

  /// What host memory and the scenario's limits on running requests allow.
  [[nodiscard]] BatchLimits limits() const;

  [[nodiscard]] const Traffic& traffic() const { return traffic_; }
  /// Tokens of a request that the plan counts with: prompt, and generated ones at a random moment.
  [[nodiscard]] std::int64_t prompt() const { return prompt_; }
  [[nodiscard]] std::int64_t generated() const { return generated_; }
  /// Full KV of such a request, in bytes of the whole tensor-parallel group.
  [[nodiscard]] double kv_bytes() const;
  /// Bytes for KV.
  [[nodiscard]] double room_bytes() const;
  [[nodiscard]] models::AcceptanceModel acceptance(double c, std::int64_t most) const;
  [[nodiscard]] const std::vector<std::string>& fallbacks() const { return timer_.fallbacks(); }

 private:
  [[nodiscard]] serving::KvGeometry geometry(double c) const;
  [[nodiscard]] Cycle plain(double c, bool compressed) const;
  [[nodiscard]] double seconds(const models::StepWork& work) const;
  [[nodiscard]] Requests requests(bool compressed, std::int64_t x) const;
  void set_memory(Cycle& cycle, const serving::KvGeometry& geometry) const;
  void set_iterations(Cycle& cycle, const serving::KvGeometry& geometry) const;
  void set_gpu_time(Cycle& cycle, const serving::KvGeometry& geometry, bool compressed) const;
  void add_turnover(Cycle& cycle, const serving::KvGeometry& geometry, bool compressed) const;
  [[nodiscard]] std::int64_t most_requests(const Cycle& cycle) const;

  serving::ServingConfig config_;
  Refinements refinements_;
  Traffic traffic_;
  models::StepTimer timer_;
  std::int64_t prompt_ = 1;
  std::int64_t generated_ = 0;
  double gpus_ = 1;
  std::vector<double> prefill_s_;  ///< by requests in the batch: what one prompt adds; empty: prompts are not computed
};

}  // namespace kvsim::planner
