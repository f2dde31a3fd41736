// The answer of a run, as its first screen gives it.
#pragma once

#include <string>
#include <vector>

#include "sim/serving/slo.h"
#include "tools/results/metrics.h"
#include "tools/results/outcome.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// "Objectives are met: TTFT p99 372 ms of 2.00 s."; else those that are missed first. Empty: there are none.
[[nodiscard]] std::string verdict(const serving::SloConfig& slo, const Figures& f);

/// The figures that a reader asks for first, and the latencies of requests. `latency`: the table of a run's page.
[[nodiscard]] std::vector<Table> answer_tables(const Outcome& outcome, const Figures& f, const Table& latency);

/// Half the width of the 95 % confidence interval of a metric; not a number where there is none.
[[nodiscard]] double half_width(const planner::ExperimentResult& result, const std::string& metric);

}  // namespace kvsim::results
