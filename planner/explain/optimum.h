// The optimum of a plan request, and nothing else that a plan has.
#pragma once

#include <optional>
#include <string>

#include "planner/plan/scenario_plan.h"

namespace kvsim::planner {

/// The same as plan(scenario, request).optimum, without models, tables and breakdown. `request.keep_ratios` must be
/// given (a plan's own request has them). None: nothing fits.
[[nodiscard]] std::optional<OperatingPoint> optimum_of(const scenario::Scenario& scenario, const PlanRequest& request);

/// Whether two points are the same plan: x, c, B_c, B_g and, where there are reloads, l.
[[nodiscard]] bool same_plan(const OperatingPoint& a, const OperatingPoint& b);

/// What is different: "x 25 -> 24, B_c 11 -> 12".
[[nodiscard]] std::string difference(const OperatingPoint& from, const OperatingPoint& to);

}  // namespace kvsim::planner
