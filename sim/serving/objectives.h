// Whether a request met its latency objectives, when it has finished and before.
#pragma once

#include <cstdint>

#include "sim/engine/time.h"
#include "sim/serving/config.h"

namespace kvsim::serving {

struct Request;

/// Why a request does not meet its objectives. A verdict is a set of these, 0 where it meets them all.
enum class Miss : std::uint8_t {
  ttft = 1,
  tpot = 2,
  itl = 4,
  e2e = 8,
  refused = 16,    ///< could never run on this cluster
  unfinished = 32  ///< the run ended before it did, and what it had experienced decided nothing
};

constexpr std::uint8_t miss_bit(Miss miss) {
  return static_cast<std::uint8_t>(miss);
}

/// What a request experienced, in seconds.
struct Experience {
  double ttft_s = 0;
  double tpot_s = 0;
  double largest_gap_s = 0;
  double e2e_s = 0;
};

/// The objectives that a finished request missed: bits of Miss.
std::uint8_t missed_objectives(const SloConfig& slo, const Experience& experience);

/// What is already certain of a request that has not finished at `now`: the objectives that it has missed whatever
/// comes; 0 where nothing can come that misses one (a TTFT objective alone, met); Miss::unfinished where that is open.
std::uint8_t verdict_so_far(const SloConfig& slo, const Request& request, engine::SimTime now);

}  // namespace kvsim::serving
