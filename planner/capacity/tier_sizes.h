// How much memory and storage: the sizes that are compared where prompts are stored in tiers and found again, and what
// of them is bought.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace kvsim::planner::capacity
