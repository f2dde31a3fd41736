// What a prefix cache for a trace costs, as a table and as JSON.
#pragma once

#include <vector>

#include "planner/capacity/prefix_cache.h"
#include "tools/results/hit_rate_page.h"

namespace kvsim::results {

/// The options for a view with a model; empty without one.
std::vector<planner::capacity::CacheOption> cache_options_of(const HitRateView& view, const models::PriceTable& prices);

Json cache_options_json(const std::vector<planner::capacity::CacheOption>& options);
Table cache_options_table(const std::vector<planner::capacity::CacheOption>& options);

}  // namespace kvsim::results
