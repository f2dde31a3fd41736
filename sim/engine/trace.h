// The timeline observer. It is passive: it sees what happened and changes nothing, and where it is off (a null
// pointer) it costs one comparison.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/engine/time.h"

namespace kvsim::engine {

class TraceSink {
 public:
  virtual ~TraceSink() = default;

  /// Declares a track (a row of slices that do not overlap) in a group; returns its number.
  virtual int add_track(std::string_view group, std::string_view name) = 0;
  /// Declares a counter (a step curve) in a group; returns its number.
  virtual int add_counter(std::string_view group, std::string_view name) = 0;

  /// What happened on `track` from `begin` to `end` (>= begin). Slices of one track must not overlap. `owner` is a
  /// request's number, or `no_owner`; `value` is free (bytes, tokens).
  virtual void slice(int track, std::string_view name, SimTime begin, SimTime end, std::uint64_t owner,
                     double value) = 0;
  virtual void counter(int counter, SimTime at, double value) = 0;

  static constexpr std::uint64_t no_owner = ~std::uint64_t{0};
};

}  // namespace kvsim::engine
