// How warm tiers were when judging began.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/probe.h"

namespace kvsim::planner::capacity {

/// What a tier held, all replicas together, in the first run of a probe.
struct TierFill {
  std::string tier;
  std::optional<std::int64_t> capacity_bytes;  ///< none: everything has room
  std::int64_t after_warmup_bytes = 0;
  std::int64_t at_end_bytes = 0;
  bool overflowed = false;  ///< during the warm-up: something had to leave it for room, so it had been full

  /// Whether it had never been full and held noticeably more at the end than when judging began (over kStillFilling
  /// more): what was judged includes a cache on its way to what it will be.
  [[nodiscard]] bool filling() const;
};

inline constexpr double kStillFilling = 0.05;

/// Simulates the warm-up of `probe` alone, with the seed of its first run, and compares what the tiers held then with
/// what they held when that run ended. Empty without placement.
std::vector<TierFill> tier_fills(const scenario::Scenario& scenario, const Probe& probe, const Watch& watch = {});

}  // namespace kvsim::planner::capacity
