// How sure results are: what backtests missed by where they were nearest, in words and as figures.
#pragma once

#include <string>
#include <vector>

#include "planner/stated_error.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Of the intervals that pages and documents print.
inline constexpr double kErrorConfidence = 0.9;

/// Of a run, from what kvsim ships.
[[nodiscard]] planner::StatedError error_of(const Outcome& outcome);

/// What no measured point has of this scenario ("draft_verify"), so that the error of it is not known.
[[nodiscard]] std::vector<std::string> not_measured(const scenario::Scenario& scenario);

/// Of a scenario under which nothing was simulated.
[[nodiscard]] std::vector<std::string> how_sure(const scenario::Scenario& scenario);

/// Each once: intervals of the runs, what was not measured; of several, which are even with the best.
[[nodiscard]] std::vector<std::string> how_sure(const std::vector<Outcome>& outcomes);

/// What intervals stated of groups left out hold; empty where there is one group or none.
[[nodiscard]] std::vector<std::string> coverage_words(const planner::StatedErrors& errors);

/// What kvsim ships of earlier backtests.
Page stated_errors_page(const planner::StatedErrors& errors);

/// What is stated of one run, as figures.
Metrics stated_error_metrics();

}  // namespace kvsim::results
