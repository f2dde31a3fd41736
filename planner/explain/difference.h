// What tells one plan from another.
#pragma once

#include <string>

#include "planner/closed_form/search.h"

namespace kvsim::planner {

/// Whether two points are the same plan: x, c, B_c, B_g and, where there are reloads, l.
[[nodiscard]] bool same_plan(const OperatingPoint& a, const OperatingPoint& b);

/// What is different: "x 25 -> 24, B_c 11 -> 12".
[[nodiscard]] std::string difference(const OperatingPoint& from, const OperatingPoint& to);

}  // namespace kvsim::planner
