// `kvsim plan SCENARIO --explain`: why the plan is what it is.
#pragma once

#include <functional>
#include <optional>

#include "planner/explain/explanation.h"
#include "planner/plan/scenario_plan.h"

namespace kvsim::planner {

struct ExplainOptions {
  /// None: the scenario's, and kLeastReplications at least. With 1, intervals are of batch means.
  std::optional<std::int64_t> replications;
  int jobs = 1;                 ///< runs at once; no result depends on it
  std::function<bool()> go_on;  ///< asked from any thread; false interrupts. May be empty.

  static constexpr std::int64_t kLeastReplications = 5;
};

/// Simulates with_plan(scenario, plan.optimum) as it is and with 10 % more of each factor, the plan kept and planned
/// anew, with common random numbers; searches the margins. `plan` is plan(scenario, ...). Throws what plan() and
/// serving::simulate throw.
[[nodiscard]] Explanation explain(const scenario::Scenario& scenario, const ScenarioPlan& plan,
                                  const ExplainOptions& options = {});

}  // namespace kvsim::planner
