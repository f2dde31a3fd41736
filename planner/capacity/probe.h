// One probe: a scenario simulated at one rate, and whether it meets its objectives there.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "planner/capacity/attainment.h"
#include "planner/capacity/run_length.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/objectives.h"

namespace kvsim::planner::capacity {

/// Shares of the replicas' time; they add up to 1.
struct BoundBy {
  double hbm_bandwidth = 0;
  double compute = 0;
  double link = 0;
  double idle = 0;
};

/// One tier in which prompts are stored, over all replications and replicas.
struct TierUse {
  std::uint64_t hits = 0;  ///< prompts that were continued from what it held
  std::uint64_t lookups = 0;
  std::int64_t bytes = 0;  ///< held when the first run ended
  [[nodiscard]] double hit_rate() const;
};

struct Probe {
  double rate = 0;  ///< requests/s, of all replicas together
  Attainment attainment;
  bool passes = false;  ///< attainment.lower >= target
  Stage stage = Stage::search;
  /// A confirming run missed so often that the target could not be reached any more, and was ended there; attainment
  /// and the rest are of the runs up to it.
  bool given_up = false;
  RunLength length;
  /// Judged requests by what they missed; one that missed several objectives is in each.
  std::map<serving::Miss, std::uint64_t> misses;

  // Of the measured time, over all replications.
  double tokens_per_s = 0;  ///< output tokens
  double ttft_p99_s = 0;    ///< of finished requests; NaN where there are none
  double tpot_p99_s = 0;    ///< of finished requests of two or more tokens; NaN where there are none
  BoundBy bound_by;
  double ttft_mean_s = 0;                ///< of finished requests; NaN where there are none
  std::int64_t host_peak_bytes = 0;      ///< most bytes of host memory that one replica's KV had reserved
  std::map<std::string, TierUse> tiers;  ///< with placement, by name
  std::optional<double> quality;         ///< with placement: mean score of finished requests, 1 for that of full KV
  std::vector<std::string> fallbacks;    ///< figures that had to be replaced, in words
  std::string refusal;                   ///< the first reason of a refused request; empty without one
};

/// The tiers of a scenario with placement, the nearest first: "gpu", "host", then storage by its names.
std::vector<std::string> tier_names(const scenario::Scenario& scenario);

/// The scenario as it is simulated for a probe: arrivals at `rate`, for these times.
scenario::Scenario at_rate(const scenario::Scenario& scenario, double rate, const RunLength& length);

/// Called between events of a simulation, from any thread. May throw, which ends the whole.
using Watch = std::function<void()>;

/// The confirming runs' seeds lie this much above the search's, so that no rate is confirmed by the random numbers that
/// chose it.
inline constexpr std::uint64_t kConfirmationSeeds = 1'000'000'000;

/// Simulates the scenario with arrivals at `rate`, `options.replications` times with seeds run.seed, run.seed + 1, ...
/// (confirming runs: from run.seed + kConfirmationSeeds). A confirming run whose misses alone put the target out of
/// reach ends there, and those after it are left out: which ones does not depend on `jobs`. Generated arrivals take the
/// same random numbers at every rate, so that probes at two rates see the same requests in the same order, closer
/// together or further apart; a trace's arrival times are stretched, which keeps its bursts. The scenario must not be a
/// closed loop. Throws what serving::simulate throws.
Probe probe_rate(const scenario::Scenario& scenario, double rate, const ProbeOptions& options, int jobs = 1,
                 const Watch& watch = {});

}  // namespace kvsim::planner::capacity
