// The words of a sweep's tables: what its axes are called, and figures as they are printed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/sweep/design.h"

namespace kvsim::results {

/// The last step of each path where that tells them apart, else the whole path.
std::vector<std::string> axis_labels(const std::vector<planner::sweep::Axis>& axes);

/// A figure by its kind: seconds and bytes with units, shares in percent. `metric` is its path in the results.
std::string printed_figure(std::string_view metric, double value);

}  // namespace kvsim::results
