// One probe: a scenario simulated at one rate, and whether it meets its objectives there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/compression/functional.h"
#include "planner/capacity/run_length.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/bottleneck.h"
#include "sim/serving/slo.h"

namespace kvsim::planner::capacity {

// Attainment: the share of requests that met every objective, and how sure one can be of it.
//
//   attainment = requests without a miss / requests that arrived in the judged part of the run
//
// The judged part begins after the warm-up and ends when arrivals do not count any more; all that arrived in it counts:
// refused, unfinished and still queued requests are misses (sim/serving/objectives.h).

/// The verdicts of one run, in order of arrival.
using Verdicts = std::vector<serving::Verdict>;

struct Attainment {
  double share = 0;              ///< of requests that met every objective; 0 where none arrived
  double lower = 0;              ///< one-sided lower confidence bound of it
  std::uint64_t requests = 0;    ///< judged
  std::uint64_t misses = 0;      ///< of them
  std::size_t observations = 0;  ///< replications, or batches of one run, whose spread the bound is made of
};

/// Attainment of replications with the same law; a request misses by one of the bits `misses`. The lower bound is the
/// smaller of two:
/// - Student t over the replications' own attainments, mean - t(confidence, n - 1) s / sqrt(n). Requests within a run
///   are correlated (they queue behind each other), so runs are counted, not requests. One run alone is cut into
///   `kBatches` batches of consecutive requests instead (batch means).
/// - Clopper and Pearson's exact binomial bound over all requests, which holds where the spread says nothing: without
///   any miss it is 1 + ln(1 - confidence) / n, the rule of three. It takes requests as independent.
/// `confidence` is in (0, 1). One run of fewer requests than batches has a lower bound of 0.
Attainment attainment_of(std::span<const Verdicts> replications, double confidence,
                         serving::Verdict misses = serving::kAnyMiss);

inline constexpr std::size_t kBatches = 20;

/// One tier in which prompts are stored, over all replications and replicas.
struct TierUse {
  std::uint64_t hits = 0;  ///< prompts that were continued from what it held
  std::uint64_t lookups = 0;
  std::int64_t bytes = 0;  ///< held when the first run ended
  [[nodiscard]] double hit_rate() const;
};

/// A share of requests that is asked for, and what a probe has of it.
struct JudgedDemand {
  Demand demand;
  Attainment attainment;  ///< of the demand's objectives
  [[nodiscard]] bool met() const { return attainment.lower >= demand.share; }
};

struct Probe {
  double rate = 0;        ///< of the scenario's load (run_length.h), for all replicas together
  Attainment attainment;  ///< of all objectives at once
  std::vector<JudgedDemand> demands;
  bool meets = false;  ///< every demand is met
  /// Why its runs together are no service that keeps up with the rate: where no objective has a wait in it (of TTFT or
  /// E2E), no steady state (planner/experiment.h), or more requests in the system than its limit. Empty: nothing speaks
  /// against it.
  std::string unsteady;
  /// Where no objective has a wait in it: so large a share of the judged requests may wait more at the end by chance
  /// (growth_by_chance()), and with it a rate that much above what is served may pass. Else 0.
  double unseen = 0;
  bool passes = false;  ///< it meets the objectives, and nothing is unsteady
  Stage stage = Stage::search;
  /// A confirming run missed so often that the target could not be reached any more, or a run had more requests in the
  /// system than its limit, and was ended there; attainment and the rest are of the runs up to it.
  bool given_up = false;
  RunLength length;
  /// Judged requests by what they missed of the objectives of tightest(); one that missed several is in each.
  std::map<serving::Miss, std::uint64_t> misses;

  // Figures of the measured time, over all replications.
  double tokens_per_s = 0;  ///< output tokens; NaN where no time was measured
  double ttft_p99_s = 0;    ///< of finished requests; NaN where there are none
  double tpot_p99_s = 0;    ///< of finished requests of two or more tokens; NaN where there are none
  /// The percentiles of the order that tightest() asks for; the 99th where it asks for all objectives.
  double ttft_asked_s = 0, tpot_asked_s = 0;
  std::vector<double> limited_s;  ///< the percentile of each objective, in the order of SloConfig::objectives()
  bool sketched = false;          ///< one of these two is of more than engine::Sample::kExact requests
  serving::Bottleneck bound_by;
  double launched = 0;        ///< share of the iterations with more tokens than captured ones; NaN where there was none
  double tokeniser_busy = 0;  ///< serving::tokeniser_busy
  double ttft_mean_s = 0;     ///< of finished requests; NaN where there are none
  std::int64_t host_peak_bytes = 0;      ///< most bytes of host memory that one replica's KV had reserved
  std::map<std::string, TierUse> tiers;  ///< with placement, by name
  std::optional<double> quality;         ///< with placement: mean score of finished requests, 1 for that of full KV
  std::optional<double> score;           ///< mean task score of finished requests, 1 for that of full KV; none: unknown
  /// Mean functional correctness of finished requests, by task, 1 for that of full KV; not a number: not known.
  models::FunctionalScores functional = models::functional_unknown();
  std::vector<std::string> fallbacks;  ///< figures that had to be replaced, in words
  std::string refusal;                 ///< the first reason of a refused request; empty without one

  /// The demand that is furthest from being met, or nearest to its limit: whose lower bound leaves the most misses for
  /// each that it allows. Precondition: there is one.
  [[nodiscard]] const JudgedDemand& tightest() const;
};

/// The tiers of a scenario with placement, the nearest first: "gpu", "host", then storage by its names.
std::vector<std::string> tier_names(const scenario::Scenario& scenario);

/// The scenario as it is simulated for a probe: its load at `rate`, for these times.
scenario::Scenario at_rate(const scenario::Scenario& scenario, double rate, const RunLength& length);

/// How far the runs of a probe have come.
struct ProbeProgress {
  std::int64_t fleet = 0;     ///< replicas of the fleet that is looked at; 0: none, a rate is searched for
  std::int64_t replicas = 0;  ///< simulated together
  std::size_t run = 0;        ///< from 1, as if one run came after the other; 0: before any
  std::size_t runs = 0;       ///< at most: a rate that fails may take fewer
  double share = 0;           ///< of the simulated time of all runs, in [0, 1]
  double elapsed_s = 0;       ///< wall clock since the probe began
};

/// Called between events of a simulation, from any thread. May throw, which ends the whole; Stopped ends a search with
/// what is done (plan_capacity).
using Watch = std::function<void(const ProbeProgress&)>;

struct Stopped : std::exception {};

/// The confirming runs' seeds lie this much above the search's, so that no rate is confirmed by the random numbers that
/// chose it.
inline constexpr std::uint64_t kConfirmationSeeds = 1'000'000'000;

/// Simulates the scenario with arrivals at `rate`, `options.replications` times with seeds run.seed, run.seed + 1, ...
/// (confirming runs: from run.seed + kConfirmationSeeds). A confirming run whose misses alone put the target out of
/// reach ends there, as does one with more requests than run.most_in_flight in the system, and those after it are left
/// out: which ones does not depend on `jobs`. Generated arrivals take the
/// same random numbers at every rate, so that probes at two rates see the same requests in the same order, closer
/// together or further apart; a trace's arrival times are stretched, which keeps its bursts. The scenario must not be a
/// closed loop. Throws what systems::simulate throws.
Probe probe_rate(const scenario::Scenario& scenario, double rate, const ProbeOptions& options, int jobs = 1,
                 const Watch& watch = {});

// How warm tiers were when judging began.

/// Bytes that a tier held, all replicas together, in the first run of a probe.
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
