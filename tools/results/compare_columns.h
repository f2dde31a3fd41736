// The columns of a comparison: which figures stand side by side, and what is better. Which they are depends on what
// the scenario compares: decode policies, placement policies or prefill policies. Internal to comparisons.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/results/best.h"
#include "tools/results/comparison.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// All but the policy's name, in the order of the table.
[[nodiscard]] std::vector<Column> columns_of(const Comparison& comparison);
/// What they mean, without their marks.
[[nodiscard]] std::vector<std::string> column_notes(const Comparison& comparison);

/// Whether the times of those requests that finished say something of all: fewer than half are the quick ones.
[[nodiscard]] bool most_finished(const serving::Measurements& measured);
[[nodiscard]] std::vector<Competitor> competitors_of(const std::vector<Outcome>& outcomes);

/// USD per 1M output tokens: the GPUs' rent, and host memory and storage as `kvsim capacity` buys them. None where the
/// table has no price for the GPU, or no tokens came out.
[[nodiscard]] std::optional<double> usd_per_million(const Outcome& outcome, const models::PriceTable& prices);

/// Mean time to the first token of the baseline over that of the result; none without samples.
[[nodiscard]] std::optional<double> ttft_speedup(const planner::ExperimentResult& result,
                                                 const planner::ExperimentResult& baseline);

/// The figures of a comparison beside those of its results, one for every policy.
Metrics comparison_metrics();

}  // namespace kvsim::results
