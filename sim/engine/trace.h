// The timeline observer. It is passive: it sees what happened and changes nothing, and where it is off (a null
// pointer) it costs one comparison.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/engine/time.h"

namespace kvsim::engine {

class TraceSink {
 public:
  virtual ~TraceSink() = default;

  /// Declares a track (a row of slices that do not overlap) in a group; returns its number.
  virtual int add_track(std::string_view group, std::string_view name) = 0;
  /// Declares a counter (a step curve) in a group; returns its number.
  virtual int add_counter(std::string_view group, std::string_view name) = 0;

  /// Records what happened on `track` from `begin` to `end` (>= begin). Slices of one track must not overlap. `owner`
  /// is a request's number, or `no_owner`; `value` is free (bytes, tokens).
  virtual void slice(int track, std::string_view name, SimTime begin, SimTime end, std::uint64_t owner,
                     double value) = 0;
  virtual void counter(int counter, SimTime at, double value) = 0;

  static constexpr std::uint64_t no_owner = ~std::uint64_t{0};
};

// The names of what has a row in the timeline: "replica 0/KV memory" is the row "KV memory" of the group "replica 0".

/// The row of a group's iterations, whose slices count requests; slices of other rows are transfers, and count bytes.
inline constexpr std::string_view kGpuRow = "GPU";

struct TraceName {
  std::string_view group;
  std::string_view row;
};

/// Both parts of `name`, which must outlive them; in `otherwise` where it names no group.
inline TraceName trace_name(std::string_view name, std::string_view otherwise) {
  const std::size_t slash = name.find('/');
  if (slash == std::string_view::npos) return {otherwise, name};
  return {name.substr(0, slash), name.substr(slash + 1)};
}

// Draws what overlaps (transfers that share a link) on parallel tracks, because slices of one track must not.

/// Tracks are made as they are needed: as many as ever overlap, up to max_lanes; what overlaps beyond that is left out
/// of the timeline (the counter of transfers under way still shows it).
class TraceLanes {
 public:
  static constexpr int max_lanes = 64;
  static constexpr int no_lane = -1;

  TraceLanes() = default;
  /// `trace` may be null: then every lane is no_lane.
  TraceLanes(TraceSink* trace, std::string group, std::string name)
      : trace_(trace), group_(std::move(group)), name_(std::move(name)) {}

  /// The lowest free lane, now taken.
  int acquire() {
    const int lane = std::countr_one(taken_);
    if (trace_ == nullptr || lane >= max_lanes) return no_lane;
    taken_ |= std::uint64_t{1} << lane;
    if (static_cast<std::size_t>(lane) == tracks_.size()) {
      tracks_.push_back(trace_->add_track(group_, name_ + " #" + std::to_string(lane + 1)));
    }
    return lane;
  }
  /// Draws a slice on `lane` and frees it. Nothing for no_lane.
  void release(int lane, std::string_view what, SimTime begin, SimTime end, std::uint64_t owner, double value) {
    if (lane == no_lane) return;
    trace_->slice(tracks_[static_cast<std::size_t>(lane)], what, begin, end, owner, value);
    taken_ &= ~(std::uint64_t{1} << lane);
  }

 private:
  TraceSink* trace_ = nullptr;
  std::string group_;
  std::string name_;
  std::vector<int> tracks_;
  std::uint64_t taken_ = 0;  // one bit a lane
};

}  // namespace kvsim::engine
