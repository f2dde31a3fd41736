// What buying less would lead to.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "planner/capacity/capacity_plan.h"

namespace kvsim::planner::capacity {

/// The most expensive of what costs less an hour than the plan's first configuration.
struct NextCheaper {
  const Configuration* configuration = nullptr;
  std::int64_t replicas = 1;
  double usd_per_hour = 0;
  double rate = 0;  ///< requests/s that these replicas sustain; 0 where none is known
  std::string why;  ///< what is missed: where a rate is required, at that rate; else just above `rate`
};

/// Of a ranked plan. Where a rate is required: among the largest fleets of each configuration that cost less and have
/// fewer replicas than it needs, and single replicas of those that meet the objectives at no rate; none of them serves
/// the rate. Without one: among
/// single replicas, which sustain less or cost more per token. None where nothing that was simulated costs less, or a
/// price is missing.
std::optional<NextCheaper> next_cheaper(const CapacityPlan& plan);

}  // namespace kvsim::planner::capacity
