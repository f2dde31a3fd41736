// The base of a sweep: the scenario that its points change, which its journal and resolved.yaml hold. Only points run,
// so that it need not be workable itself: its trace may be missing, its model may not fit, its policies may not go
// together, as long as points put that right. Then the first point that can be simulated is the base in its place.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "planner/sweep/design.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::sweep {

/// The scenario of a point. Throws UnworkableScenario where it cannot be simulated, InputError naming the point where
/// it is wrong.
scenario::Scenario load_point(const scenario::ScenarioFile& file, const Design& design, std::size_t point);

/// The base of the sweep, the same for all its shards. No value where `proceed` (asked before every point; may be
/// empty) ended the search. Throws schema::InputError for what no point puts right, Infeasible where neither the
/// scenario nor any point can be simulated.
std::optional<scenario::Scenario> base_of(const scenario::ScenarioFile& file, const Design& design,
                                          const std::function<bool()>& proceed = {});

}  // namespace kvsim::planner::sweep
