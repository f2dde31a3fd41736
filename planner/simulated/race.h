// Candidates simulated side by side with common random numbers, the clearly worse ones stopped early.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "planner/simulated/simulated_search.h"

namespace kvsim::planner::detail {

class Race {
 public:
  /// All arguments outlive the race.
  Race(const scenario::Scenario& scenario, const SimulatedSearchOptions& options)
      : scenario_(scenario), options_(options) {}

  /// Adds a candidate; false where its plan is there already.
  bool enter(SimulatedCandidate candidate);

  /// Simulates everyone not stopped with the first seeds, stops the clearly worse, and simulates the others with all.
  void run();

  /// The best of those not stopped: the highest mean over all seeds. Precondition: run() with a candidate.
  [[nodiscard]] std::size_t leader() const;

  /// Tokens/s of a plan with seeds after those of the race.
  [[nodiscard]] std::vector<double> judge(const SimulatedCandidate& candidate);

  [[nodiscard]] const std::vector<SimulatedCandidate>& candidates() const { return candidates_; }
  [[nodiscard]] std::size_t simulations() const { return simulations_; }
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  [[nodiscard]] double simulate(const SimulatedCandidate& candidate, std::int64_t seed);
  /// Brings everyone not stopped to `seeds` seeds.
  void simulate_all(std::int64_t seeds);
  void stop_the_worse();

  const scenario::Scenario& scenario_;
  const SimulatedSearchOptions& options_;
  std::vector<SimulatedCandidate> candidates_;
  std::atomic<std::size_t> simulations_{0};
  std::size_t known_ = 0;
  std::atomic<bool> interrupted_{false};
};

}  // namespace kvsim::planner::detail
