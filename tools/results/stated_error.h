// How sure results are: what backtests missed by where they were nearest, in words and as figures.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "planner/stated_error.h"
#include "tools/results/fields.h"
#include "tools/results/outcome.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Confidence of the intervals that pages and documents print.
inline constexpr double kErrorConfidence = 0.9;

/// Error of a run, from what kvsim ships.
[[nodiscard]] planner::StatedError error_of(const Outcome& outcome);

/// Features of this scenario that no measured point has ("draft_verify"), so that the error of it is not known.
[[nodiscard]] std::vector<std::string> not_measured(const scenario::Scenario& scenario);

/// "0.8 to 1.3 of the predicted time per output token"; of an interval that says nothing, that.
[[nodiscard]] std::string interval_words(const planner::ErrorInterval& interval, std::string_view of);
/// "What engines measured was, nine times in ten, 0.8 to 1.3 of the predicted time per output token, ...".
[[nodiscard]] std::string error_words(const planner::StatedError& error);
/// Words for what that leaves out.
[[nodiscard]] std::string unknown_words(const std::vector<std::string>& not_measured);

/// The interval of attention over quantised KV in words; empty where the scenario reads none, or its profile measured
/// it.
[[nodiscard]] std::string quantised_words(const scenario::Scenario& scenario, const serving::Measurements& measured);

/// Sentences on a scenario under which nothing was simulated.
[[nodiscard]] std::vector<std::string> how_sure(const scenario::Scenario& scenario);

/// Sentences on one run.
[[nodiscard]] std::vector<std::string> how_sure(const scenario::Scenario& scenario,
                                                const serving::Measurements& measured);

/// Field of outcomes of plans, which have a scenario.
template <class O>
Field<O> how_sure_field() {
  return Field<O>::values("how_sure[]", {kText, "how wrong the times may be, and what is not known of it"},
                          [](const O& o) { return how_sure(o.scenario); });
}

/// Coverage of intervals stated of groups left out; empty where there is one group or none.
[[nodiscard]] std::vector<std::string> coverage_words(const planner::StatedErrors& errors);

/// Page of the errors that kvsim ships of earlier backtests.
Page stated_errors_page(const planner::StatedErrors& errors);

}  // namespace kvsim::results
