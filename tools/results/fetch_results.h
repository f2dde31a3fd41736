// What a result says of a low-bit copy on the GPU and of what was fetched from host memory beside it: in the document,
// and as a table for people. Internal to the result document and the run's page.
#pragma once

#include <span>
#include <string_view>
#include <utility>

#include "tools/results/result_document.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Whether the scenario's decode policy keeps a low-bit copy, or fetches KV.
[[nodiscard]] bool holds_low_bit_copy_or_fetches(const scenario::Scenario& scenario);

/// Adds the object "fetch" to the document of such a scenario.
void add_fetch(Section& document, const Outcome& outcome);

/// The same figures as a table.
Table fetch_table(const Outcome& outcome);

/// What its keys mean; beside metric_definitions().
std::span<const std::pair<std::string_view, std::string_view>> fetch_definitions();

}  // namespace kvsim::results
