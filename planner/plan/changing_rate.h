// What to size for where the rate of arrivals changes: closed forms and searches are of one that stays.
#pragma once

#include <string>

#include "models/workload/distributions.h"

namespace kvsim::planner {

/// How to go on with the rate at its highest, for users: a setting that leaves it alone, and what that says.
/// Precondition: over_time is there.
std::string sized_for_the_highest(const models::ArrivalSpec& arrivals);

}  // namespace kvsim::planner
