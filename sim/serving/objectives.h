// Whether a request met its latency objectives, when it has finished and before.
#pragma once

#include <cstdint>

#include "sim/engine/id_table.h"
#include "sim/engine/time.h"
#include "sim/serving/config.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"

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

// Judges requests one by one against the latency objectives, the unfinished too.

/// Keeps Measurements::verdicts. A replica writes the verdict of a request that finishes; all others are this class's.
/// What it is given must outlive it.
class Judgement {
 public:
  Judgement(const ServingConfig& config, const engine::IdTable<Request>& requests, Measurements& measured)
      : config_(config), requests_(requests), measured_(measured) {}

  /// A request has arrived, after the warm-up. It is judged if that is early enough (RunConfig::judge_until_s).
  void arrived(Request& request, engine::SimTime now);
  void refused(const Request& request);

  /// Whether every judged request is decided and none can join: nothing that can still happen changes a verdict. Never
  /// where none is judged.
  [[nodiscard]] bool over(engine::SimTime now);

  /// Whether more judged requests than RunConfig::most_misses have certainly missed.
  [[nodiscard]] bool hopeless(engine::SimTime now);

  /// The run ends: whoever has not finished gets the verdict that is certain by now.
  void close(engine::SimTime now);

 private:
  template <class Use>
  void for_each_open(const Use& use) const;

  const ServingConfig& config_;
  const engine::IdTable<Request>& requests_;
  Measurements& measured_;
};

}  // namespace kvsim::serving
