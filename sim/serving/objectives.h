// Whether a request met its latency objectives, when it has finished and before.
#pragma once

#include <cstdint>

#include "sim/engine/id_table.h"
#include "sim/engine/time.h"
#include "sim/serving/config.h"
#include "sim/serving/measurements.h"
#include "sim/serving/request.h"
#include "sim/serving/slo.h"

namespace kvsim::serving {

struct Request;

/// The times that a request experienced, in seconds, by SloMetric.
struct Experience {
  double ttft_s = 0;
  double tpot_s = 0;
  double largest_gap_s = 0;
  double e2e_s = 0;
};

/// The objectives that a finished request missed: the bits of limits.
Verdict missed_objectives(const SloConfig& slo, const Experience& experience);

/// The verdict so far on a request that has not finished.
struct Standing {
  Verdict missed = 0;  ///< objectives that it has missed whatever comes
  /// Percentiles that are not decided, with Miss::unfinished; 0 where nothing can come that changes the verdict (a TTFT
  /// objective alone, met).
  Verdict open = 0;
};

/// Where a request stands at `now`.
Standing standing_of(const SloConfig& slo, const Request& request, engine::SimTime now);

// Judges requests one by one against the latency objectives, the unfinished too.

/// Keeps Measurements::verdicts. A replica writes the verdict of a request that finishes; all others are this class's.
/// The constructor's arguments must outlive it.
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

  /// Whether more judged requests than RunConfig::most_misses allows have certainly missed.
  [[nodiscard]] bool hopeless(engine::SimTime now);

  /// The run ends: a request that has not finished misses what is not decided by now.
  void close(engine::SimTime now);

 private:
  template <class Use>
  void for_each_open(const Use& use) const;

  const ServingConfig& config_;
  const engine::IdTable<Request>& requests_;
  Measurements& measured_;
};

}  // namespace kvsim::serving
