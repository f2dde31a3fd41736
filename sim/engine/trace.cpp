#include "sim/engine/trace.h"

#include <bit>
#include <utility>

namespace kvsim::engine {

TraceLanes::TraceLanes(TraceSink* trace, std::string group, std::string name)
    : trace_(trace), group_(std::move(group)), name_(std::move(name)) {}

int TraceLanes::acquire() {
  const int lane = std::countr_one(taken_);
  if (trace_ == nullptr || lane >= max_lanes) return no_lane;
  taken_ |= std::uint64_t{1} << lane;
  if (static_cast<std::size_t>(lane) == tracks_.size()) {
    tracks_.push_back(trace_->add_track(group_, name_ + " #" + std::to_string(lane + 1)));
  }
  return lane;
}

void TraceLanes::release(int lane, std::string_view what, SimTime begin, SimTime end, std::uint64_t owner,
                         double value) {
  if (lane == no_lane) return;
  trace_->slice(tracks_[static_cast<std::size_t>(lane)], what, begin, end, owner, value);
  taken_ &= ~(std::uint64_t{1} << lane);
}

}  // namespace kvsim::engine
