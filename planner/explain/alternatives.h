// What the candidates next to the optimum lose, by the closed forms.
#pragma once

#include <vector>

#include "planner/explain/explanation.h"
#include "planner/plan/scenario_plan.h"

namespace kvsim::planner {

/// The best batch with x - 1 and x + 1, with the next keep ratio below and above, and with no drafting at all; the
/// plan with B_c (or, where there is none, B_g) one smaller and one larger.
[[nodiscard]] std::vector<Alternative> alternatives(const scenario::Scenario& scenario, const ScenarioPlan& plan);

}  // namespace kvsim::planner
