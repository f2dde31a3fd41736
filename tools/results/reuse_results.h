// What a result says of prompts made of chunks: how they were put together, and what answers scored; in the document,
// as tables for people, and in comparisons. Internal to the result document and to the pages of runs and comparisons.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/results/result_document.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// "recompute" as it is called beside the reuse of chunks, "selective, rho 0.15, scored by llama-3.2-1b".
[[nodiscard]] std::string prefill_text(const scenario::Scenario& scenario);

/// Adds the objects "answers" (of prompts made of chunks) and "reuse" (where they are put together) to the document.
void add_reuse(Section& document, const Outcome& outcome);

/// The same; none for prompts that are not made of chunks.
std::vector<Table> reuse_tables(const Outcome& outcome);

/// What their keys mean; beside metric_definitions().
std::span<const std::pair<std::string_view, std::string_view>> reuse_definitions();

/// What answers' scores take for granted.
std::vector<std::string> reuse_assumptions(const scenario::Scenario& scenario);

}  // namespace kvsim::results
