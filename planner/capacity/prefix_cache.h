// What a prefix cache costs in host memory and on SSD, by the hit-rate curve of a trace.
#pragma once

#include <vector>

#include "models/prices/price_table.h"
#include "models/workload/hit_rate_curve.h"

namespace kvsim::planner::capacity {

/// Memory for a prefix cache: the most recently used blocks in DRAM, older ones on SSD.
struct CacheOption {
  double of_achievable = 0;  ///< share of the hits of a cache without end
  double hit_rate = 0;       ///< share of the trace's blocks
  double dram_hit_rate = 0;  ///< of them, found in DRAM
  double dram_gb = 0;        ///< decimal GB
  double ssd_gb = 0;
  double usd_per_hour = 0;  ///< at the table's prices per GB and month of 730 h
};

/// 90 % and 99 % of the achievable hits: all in DRAM, and DRAM for 90 % of that option's hits with SSD for the rest, an
/// exclusive hierarchy under one LRU order. `block_bytes` > 0. Empty where no block is used twice. What a hit saves,
/// and whether loading from SSD is faster than prefilling again, is for the simulator to say.
std::vector<CacheOption> cache_options(const models::HitRateCurve& curve, double block_bytes,
                                       const models::PriceTable& prices);

}  // namespace kvsim::planner::capacity
