// Puts the shards of a sweep together.
#pragma once

#include <string>
#include <vector>

#include "planner/sweep/journal.h"

namespace kvsim::planner::sweep {

struct MergedSweep {
  Plan plan;  ///< of the whole
  std::vector<PointResult> points;
};

/// Reads the journals of all shards, in any order. Throws schema::InputError where they are not of one sweep, a point
/// is in two of them, or one is missing.
MergedSweep merge_journals(const std::vector<std::string>& paths);

}  // namespace kvsim::planner::sweep
