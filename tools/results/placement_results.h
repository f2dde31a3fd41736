// What a result says of prompts that are stored in tiers and found again (placement): in the document, as tables for
// people, and in comparisons. Internal to the result document and to the pages of runs and comparisons.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/results/compare_columns.h"
#include "tools/results/result_document.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// The tiers of a scenario with placement, the nearest to the GPU first.
[[nodiscard]] std::vector<std::string> tier_names(const scenario::Scenario& scenario);

/// Stored bytes / bytes of the same objects whole; NaN where nothing is stored.
[[nodiscard]] double mean_keep_ratio(const serving::TierContents& contents);

/// Adds the object "placement" to the document of a scenario with placement.
void add_placement(Section& document, const Outcome& outcome);

/// Of the same object: tiers, representations, and what became of prompts.
std::vector<Table> placement_tables(const Outcome& outcome);

/// What its keys mean; beside metric_definitions().
std::span<const std::pair<std::string_view, std::string_view>> placement_definitions();

/// Mean time to the first token of the baseline over that of the result; none without samples.
[[nodiscard]] std::optional<double> ttft_speedup(const planner::ExperimentResult& result,
                                                 const planner::ExperimentResult& baseline);

/// Mean and 99th percentile of the time to the first token, and the speedup of the mean over the first outcome.
/// Whether some outcome decodes otherwise than with the full KV, so that decoding is compared, too.
bool decodes_differently(const std::vector<Outcome>& all);
std::vector<Column> first_token_columns(const std::vector<Outcome>& all);

}  // namespace kvsim::results
