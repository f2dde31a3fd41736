// The result of a run as a JSON document: the figures of the table of metrics, and what is said beside them. Keys,
// their order and their nesting are fixed; what is not in the fixed set is under "details". Equal scenario, seed and
// version give equal bytes: figures of the wall clock are null unless asked for.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "planner/experiment.h"
#include "sim/engine/statistics.h"
#include "tools/results/numbers.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// Grows when a key changes its meaning or goes.
inline constexpr int kSchemaVersion = 1;

/// The version of the program, "0.1.0".
std::string_view kvsim_version();

/// A scenario and what it came to: what every page and document of runs and comparisons is made of.
struct Outcome {
  scenario::Scenario scenario;
  planner::ExperimentResult result;
  std::string policy;  ///< of a comparison, as asked for; else empty
};

/// Output tokens per second, over all replicas or nodes. 0 where no time was measured.
double output_tokens_per_s(const planner::ExperimentResult& result);

/// Output tokens/s over those of `baseline`; no value where the baseline has none.
std::optional<double> speedup(const planner::ExperimentResult& result, const planner::ExperimentResult& baseline);

/// One run. `timing`: with the figures of the wall clock.
Json result_document(const Outcome& outcome, bool timing);

/// One run without what belongs to it alone: the fixed keys up to "confidence", no timeline, no details.
Json figures_document(const Outcome& outcome);

/// Several runs.
Json results_document(const std::vector<Outcome>& outcomes, bool timing);
KeyList results_keys();

/// The figures of the wall clock alone, for a file beside the results.
Json timing_document(const std::vector<Outcome>& outcomes);

/// Whence a percentile of more values than engine::Sample keeps.
inline constexpr std::string_view kSketched = "of more than 10,000 values, from a sketch within 0.1 %";
static_assert(engine::Sample::kExact == 10'000 && engine::Sample::kRelativeError <= 0.001);

/// Which percentiles of any of these results are such: "gaps between tokens, lengths of iterations: of more than ...";
/// empty: none.
std::string sketched_percentiles(std::span<const Outcome> outcomes);

/// Sentences by word or key, those that this result has.
Json definitions_of(const Outcome& outcome);

}  // namespace kvsim::results
