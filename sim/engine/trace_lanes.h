// Draws what overlaps (transfers that share a link) on parallel tracks, because slices of one track must not.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/engine/trace.h"

namespace kvsim::engine {

/// Tracks are made as they are needed: as many as ever overlap, up to max_lanes; what overlaps beyond that is left out
/// of the timeline (the counter of transfers under way still shows it).
class TraceLanes {
 public:
  static constexpr int max_lanes = 64;
  static constexpr int no_lane = -1;

  TraceLanes() = default;
  /// `trace` may be null: then every lane is no_lane.
  TraceLanes(TraceSink* trace, std::string group, std::string name);

  /// The lowest free lane, now taken.
  int acquire();
  /// Draws a slice on `lane` and frees it. Nothing for no_lane.
  void release(int lane, std::string_view what, SimTime begin, SimTime end, std::uint64_t owner, double value);

 private:
  TraceSink* trace_ = nullptr;
  std::string group_;
  std::string name_;
  std::vector<int> tracks_;
  std::uint64_t taken_ = 0;  // one bit a lane
};

}  // namespace kvsim::engine
