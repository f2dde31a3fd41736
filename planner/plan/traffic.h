// Facts of a scenario's requests that a plan needs: lengths as moments and as a sample.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"

namespace kvsim::planner {

struct Traffic {
  double named_context = 1;      ///< prompt tokens: the mean as the scenario names it; a trace's own mean
  double mean_context = 1;       ///< prompt tokens: the mean of what is really drawn, bounds applied
  std::vector<double> contexts;  ///< a sample of prompt tokens, ascending
  double mean_output = 1;        ///< output tokens
  std::vector<double> outputs;   ///< a sample of them
  double mean_generated = 0;     ///< output tokens that a request under way has, at a random moment: E[n^2] / 2 E[n]
  std::optional<double> rate_per_s;         ///< requests per second and replica; none: closed loop
  std::optional<std::int64_t> concurrency;  ///< requests at once and replica; none: open loop

  /// Prompt tokens of the longest of `requests`, expected: the quantile n / (n + 1).
  [[nodiscard]] double longest_of(double requests) const;
};

/// Throws schema::InputError for traffic that no closed form knows: sessions, classes, shared blocks, stored prompts,
/// rates over time.
void check_traffic(const scenario::Scenario& scenario);

/// Generated workloads are sampled with a stream of its own, so that plans do not depend on the run's seed.
Traffic traffic_of(const scenario::Scenario& scenario);

/// Throws Infeasible where requests of mean lengths are longer than the model's contexts.
void check_context(const scenario::Scenario& scenario, const Traffic& traffic);

/// How to go on with the rate at its highest, for users: a setting that leaves it alone, and what that says.
/// Precondition: over_time is there.
std::string sized_for_the_highest(const models::ArrivalSpec& arrivals);

}  // namespace kvsim::planner
