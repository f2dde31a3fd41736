// The search with the simulator in the loop: the best plans of the closed forms and what lies around them, simulated
// until one is best.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/plan/scenario_plan.h"
#include "sim/engine/statistics.h"

namespace kvsim::planner {

struct SimulatedSearchOptions {
  int jobs = 1;
  std::int64_t seeds = 5;        ///< that survivors are simulated with; as many fresh ones judge the winner
  std::int64_t first_seeds = 3;  ///< before the clearly worse are stopped
  std::size_t most_moves = 6;    ///< steps to a better neighbour
  /// Called from any thread after each simulation, with those done and those known of; false interrupts. May be empty.
  std::function<bool(std::size_t done, std::size_t known)> progress;
};

/// A plan that was simulated. Tokens/s per replica, by seed.
struct SimulatedCandidate {
  std::string origin;  ///< why it was tried
  OperatingPoint point;
  bool open_batch = false;          ///< as many offloaded requests as fit at any moment, in place of the point's batch
  std::optional<double> predicted;  ///< by the closed forms (open: the best fixed batch); none: infeasible to them
  std::vector<double> tokens_per_s;
  bool stopped = false;  ///< clearly worse than the best of its time: not simulated with all seeds
  [[nodiscard]] double mean() const;
};

struct SimulatedPlan {
  std::vector<SimulatedCandidate> candidates;  ///< best first; the stopped ones last
  /// Throughput of the best candidate and of full_kv, with seeds that chose nothing.
  engine::ConfidenceInterval throughput;
  std::optional<engine::ConfidenceInterval> full_kv;
  std::optional<engine::ConfidenceInterval> speedup;  ///< of each seed's pair
  std::size_t simulations = 0;
  bool interrupted = false;

  [[nodiscard]] const SimulatedCandidate& best() const { return candidates.front(); }
  /// Predicted over simulated, less 1; none where the closed forms hold it infeasible.
  [[nodiscard]] std::optional<double> gap() const;
};

/// Candidates: the optimum of each of the three models, the best few (x, c) of the asked one, the scenario's own plan
/// where it verifies, full_kv; then, as long as the leader changes, its neighbours in x, c, B_c and B_g. Contexts of
/// unlike lengths make "as many as fit" a plan of its own: the optimum, full_kv and neighbours are tried so, too. All
/// run with the same seeds (common random numbers); a candidate stops when the interval of its paired difference to the
/// leader (95 %) lies below zero. The scenario's seed counts, its number of replications does not. Results do not
/// depend on `jobs`. Throws what run_experiment throws.
SimulatedPlan simulate_plans(const scenario::Scenario& scenario, const ScenarioPlan& plan,
                             const SimulatedSearchOptions& options);

}  // namespace kvsim::planner
