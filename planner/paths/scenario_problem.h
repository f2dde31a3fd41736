// A scenario with two pools as a problem of the path LP.
#pragma once

#include "models/kernels/step_time.h"
#include "planner/paths/path_problem.h"
#include "planner/plan/scenario_costs.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::planner {

/// Which steps the straight lines of PathProblem::steps are drawn through.
enum class StepsOf {
  full_nodes,  ///< from one request to as many as fit: what a plan needs
  one_request  ///< one and two: exact for a request alone
};

/// Mean prompts and outputs of its workload, bytes and slots as the simulator counts them, step times from the
/// machine's kernel profile, and the paths that it allows and its nodes can take. Contexts are stored: the time of
/// prefilling is not in it. A limit that a pool's links share is one on how many of them are busy at once (the row
/// net), one on the storage node a row of its own. Throws Infeasible where a node's memory is too small for one
/// request. Precondition: requests take paths.
PathProblem path_problem(const scenario::Scenario& scenario, StepsOf lines = StepsOf::full_nodes);

// Step times of one node of a scenario's pools, for its mean request.

class NodeSteps {
 public:
  /// Steps of a node of the group, which outlives this.
  NodeSteps(const serving::ServingConfig& config, const serving::GroupConfig& group,
            const serving::KvGeometry& geometry, const Traffic& traffic);

  /// Seconds of a step in which so many requests decode over the full KV, so many draft (over what compression leaves
  /// on a remote node) and so many verify x drafts. Precondition: not all of them 0.
  [[nodiscard]] double seconds(double decoding, double drafting, double verifying) const;

 private:
  serving::ServingConfig config_;
  const serving::GroupConfig& group_;
  serving::KvGeometry geometry_;
  std::int64_t prompt_;
  std::int64_t generated_;
  models::StepTimer timer_;
};

/// Tokens of a prompt that a remote node holds, in full size, once the compressed ones have arrived: what is quantised
/// is decompressed to full size, what is dropped is gone.
double resident_tokens(const models::CompressorSpec& compressor, const serving::KvGeometry& geometry,
                       std::int64_t prompt);

}  // namespace kvsim::planner
