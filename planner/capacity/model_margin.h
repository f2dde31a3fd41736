// The machines that the model's error asks for.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/capacity/fleet.h"
#include "planner/stated_error.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::capacity {

struct ModelMargin {
  StatedError error;
  double slower = 1;                   ///< so many times as long as predicted may a request take; at least 1
  std::int64_t replicas = 0;           ///< to buy so that they suffice even then; 0 without a fleet
  std::optional<double> usd_per_hour;  ///< of these, memory and storage in proportion; none without a price
};

/// `confidence`, in (0.5, 1), is one-sided: that requests take no longer. The rate of a replica falls as their time
/// grows, so that `slower` times as many replicas are needed as the required rate would take of the fleet's own; a
/// spare one (n_minus_1) comes on top. `fleet` may be null. `errors` as StatedErrors::built_in().
[[nodiscard]] ModelMargin model_margin(const StatedErrors& errors, const models::PriceTable& prices,
                                       const scenario::Scenario& scenario, const Fleet* fleet, double confidence);

}  // namespace kvsim::planner::capacity
