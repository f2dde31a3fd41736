// Experiments on a scenario: replications over seeds, in parallel, merged in order of their index, so that results do
// not depend on the number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "sim/engine/statistics.h"
#include "sim/engine/trace.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/measurements.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner {

struct ExperimentOptions {
  int jobs = 1;                                 ///< runs at once; a single run is always one thread
  engine::TraceSink* trace = nullptr;           ///< trace of the first replication
  serving::RequestWatcher* requests = nullptr;  ///< of the first replication
  /// Called from any thread with the replication and its simulated seconds; false interrupts. May be empty.
  std::function<bool(std::size_t replication, double simulated_s)> progress;
  bool timeline = false;  ///< keep the first replication's load over time
};

/// Result of a scenario, over all its replications.
struct ExperimentResult {
  serving::Measurements measured;  ///< merged: counts and samples added, peaks the largest
  std::size_t replications = 0;    ///< that it is of: all, or where interrupted, the first ones
  /// By result path ("throughput.output_tokens_per_s"): the interval over replications, or by batch means where there
  /// is only one.
  std::map<std::string, engine::ConfidenceInterval> confidence;
  std::vector<serving::KvCapacity> capacities;  ///< of one instance, by group; of a group without any too
  serving::Timeline timeline;                   ///< of the first replication; without samples where none was asked for
  std::vector<std::string> fallbacks;
  std::vector<std::string> own_fallbacks;  ///< that came up in its course, where another policy may do without
  std::vector<std::string> refusals;
  bool interrupted =
      false;          ///< it is what the scenario with run.replications = `replications` comes to, 0 being nothing
  double wall_s = 0;  ///< of this machine; the only figure that differs between equal runs
};

/// The coefficient of variation of the gaps between arrivals, of a law; of others, as of Poisson's: 1.
[[nodiscard]] double variation_of_gaps(const scenario::Scenario& scenario);

/// Growth of the queue by chance: how many more requests may wait after the arrivals than when measuring began, where
/// `arrived` came. It is 20, or a twentieth of them, or four times the square root of their number, of the last two the
/// smaller one; these times `cv`, the variation of gaps, where it is above 1 (their number spreads so many times more).
[[nodiscard]] double growth_by_chance(std::uint64_t arrived, double cv = 1);

/// Why what was measured is no steady state, in words; empty where nothing speaks against one. No request finished;
/// twice as many finished as arrived, since a queue drained; more requests waited for admission at the end, or where
/// the run went on past the arrivals when the last had come, than when measuring began, by more than
/// growth_by_chance(). Where requests are judged one by one, those are the ones that arrived.
[[nodiscard]] std::string unsteady_state(const serving::Measurements& measured, double cv = 1);

// Runs.

// Dispatch is not "planned" any more (with_best_planned_weights).

/// One replication: the scenario with seed run.seed + `offset`. Throws what systems::simulate throws.
serving::SimulationOutcome simulate_replication(const scenario::Scenario& scenario, std::uint64_t offset,
                                                const serving::SimulationOptions& options = {});

/// Runs all replications. Throws what systems::simulate throws.
ExperimentResult run_experiment(const scenario::Scenario& scenario, const ExperimentOptions& options = {});

}  // namespace kvsim::planner
