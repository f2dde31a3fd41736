// The order in which configurations are shown. Internal to the capacity planner.
#pragma once

#include "planner/capacity/capacity_plan.h"

namespace kvsim::planner::capacity {

/// Best first: with a required rate by $/h of the fleet, then by GPUs; without one by $ per 1M output tokens. Where a
/// configuration that works has no price, by GPUs of the fleet, or by requests/s per GPU. Those that meet the
/// objectives at no rate come last. Equal ones keep their order.
void rank(CapacityPlan& plan);

}  // namespace kvsim::planner::capacity
