// What a result says of two pools of nodes around a storage node: in the document, and as tables for people. Internal
// to the result document and the run's page.
#pragma once

#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/results/result_document.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

/// Adds the objects "pools", "paths" and "prefix" to the document of a scenario with pools.
void add_pools(Section& document, const Outcome& outcome);

/// The pools, their links and the dispatch, as configured.
Json pools_configuration(const serving::PoolsConfig& pools);

/// Of the same objects as tables: nodes, paths, and where prompts' KV came from.
std::vector<Table> pools_tables(const Outcome& outcome);

/// What their figures mean; beside metric_definitions().
std::span<const std::pair<std::string_view, std::string_view>> pools_definitions();

}  // namespace kvsim::results
