// Keys of schedule policy staggered. Closed forms of its iterations (planner/plan) read them, too.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/serving/config.h"

namespace kvsim::serving {

/// Behaviour of a verified request whose next verification finds no place in the rings.
enum class Unplaced {
  drafts_on,  ///< it keeps its KV and asks again in every iteration
  waits       ///< it gives up its GPU memory and waits to be admitted again (VeriCache, Algorithm 1)
};

struct StaggeredKeys {
  std::optional<std::int64_t> arrival_slack;  ///< windows between a reload's last one and its verification
  Unplaced unplaced = Unplaced::drafts_on;

  /// Windows: as given, else 0 for layerwise arrival, 1 for whole.
  [[nodiscard]] std::int64_t slack(const ScheduleConfig& schedule) const {
    return arrival_slack.value_or(schedule.arrival == ReloadArrival::whole ? 1 : 0);
  }
};

}  // namespace kvsim::serving
