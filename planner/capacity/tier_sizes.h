// How much memory and storage: the sizes that are compared where prompts are stored in tiers and found again, and what
// of them is bought.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/prices/price_table.h"
#include "models/workload/hit_rate_curve.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::capacity {

/// The name under which host memory is a tier.
inline constexpr std::string_view kHostTier = "host";

/// A tier and the capacities to be compared.
struct TierSizes {
  std::string tier;                 ///< kHostTier (bytes per replica), or a name in cluster.storage
  std::vector<std::int64_t> bytes;  ///< ascending or not; each once
};

/// One capacity for each tier that is varied.
struct TierSize {
  std::string tier;
  std::int64_t bytes = 0;
};
using SizeChoice = std::vector<TierSize>;

/// Every combination, the first tier's size varying slowest; one empty choice where nothing is varied.
std::vector<SizeChoice> size_choices(const std::vector<TierSizes>& sizes);

/// Throws schema::InputError, in the words of the command's options, for a scenario without placement, a tier it does
/// not have (with the nearest name), and a tier named twice.
void check_sizes(const scenario::Scenario& scenario, const std::vector<TierSizes>& sizes);

/// The scenario with tiers of these capacities. Whether that can run is not checked.
scenario::Scenario with_sizes(const scenario::Scenario& scenario, const SizeChoice& choice);

/// Memory beside that of the GPUs, in decimal GB, over all replicas.
struct Purchase {
  double dram_gb = 0;
  double storage_gb = 0;
};

/// What `replicas` of this scenario need. With placement the tiers as they are: host memory and every storage tier with
/// a capacity, one of each where it is shared; storage without a capacity is not counted. Without placement the host
/// memory that KV had reserved at most (`host_peak_bytes` of one replica), with kHostMemoryMargin.
Purchase purchase_for(const scenario::Scenario& scenario, std::int64_t replicas, std::int64_t host_peak_bytes);

// What a prefix cache costs in host memory and on SSD, by the hit-rate curve of a trace.

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
