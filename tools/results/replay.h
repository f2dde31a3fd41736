// A replay simulated and measured: text from a page, and JSON.
#pragma once

#include "planner/replay/replay.h"
#include "tools/results/fields.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// `worst`: iterations to name, those with the largest errors.
Page replay_page(const planner::ReplayComparison& comparison, std::size_t worst);
/// Without reasons: nothing in it is null.
Json replay_json(const planner::ReplayComparison& comparison);
KeyList replay_keys();

}  // namespace kvsim::results
