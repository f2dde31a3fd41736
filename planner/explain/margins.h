// How far the machine and the traffic may change before another plan is the optimum.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "planner/explain/explain.h"
#include "planner/plan/scenario_plan.h"

namespace kvsim::planner {

/// Factors are searched between 1 / kFarthest and kFarthest.
inline constexpr double kFarthest = 2.0;

/// By factor, in the order of kFactors: the nearest change below and above 1. The whole search of the plan is repeated
/// (every draft length, keep ratio and batch of its request), at steps of growing size outwards from 1, and bisected
/// between the last step without a change and the first with one. A change and a return to the plan within one step
/// would go unseen. `go_on` as in PairedOptions; sides that were not reached have no factor then.
[[nodiscard]] std::vector<Margin> margins(const scenario::Scenario& scenario, const ScenarioPlan& plan, int jobs,
                                          const std::function<bool()>& go_on = {});

/// What margins() looks at, in words.
[[nodiscard]] std::string margins_searched(const ScenarioPlan& plan);

// What the candidates next to the optimum lose, by the closed forms.

/// The best batch with x - 1 and x + 1, with the next keep ratio below and above, and with no drafting at all; the
/// plan with B_c (or, where there is none, B_g) one smaller and one larger.
[[nodiscard]] std::vector<Alternative> alternatives(const scenario::Scenario& scenario, const ScenarioPlan& plan);

}  // namespace kvsim::planner
