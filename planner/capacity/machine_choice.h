// Which machines are compared, and how many GPUs a replica of each has.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/prices/price_table.h"
#include "models/workload/hit_rate_curve.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::capacity {

struct MachineRequest {
  std::string gpu;  ///< a name in the catalogue
  std::optional<std::int64_t> tensor_parallel;
};

/// "h100-sxm,h100-nvl:2". Throws schema::InputError for empty names, repeated machines and what is no whole number.
std::vector<MachineRequest> parse_machines(std::string_view list);

/// How the GPUs per replica were chosen.
enum class Placement {
  own,      ///< as in the scenario
  asked,    ///< as asked for
  smallest  ///< the smallest power of two with room for the model and a mean request
};
std::string_view words_of(Placement placement);

/// A scenario on a machine. Where it cannot run there, `problem` says why and the scenario must not be simulated.
struct PlacedScenario {
  scenario::Scenario scenario;
  Placement placement = Placement::own;
  std::string problem;  ///< empty: it can run
};

/// Puts the scenario on a machine. GPUs per replica: as asked for; else the scenario's own on the scenario's GPU, where
/// they can run it; else the smallest power of two, up to 64, at which the model fits with KV room for a request of
/// mean length. Throws schema::InputError for unknown names.
PlacedScenario place(const scenario::Scenario& scenario, const MachineRequest& machine);

// How much memory and storage: the sizes that are compared where prompts are stored in tiers and found again, and what
// of them is bought.

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

/// Choices for this scenario: one empty choice where it stores nothing, so that there are no tiers to buy.
std::vector<SizeChoice> size_choices(const scenario::Scenario& scenario, const std::vector<TierSizes>& sizes);

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

/// The purchase for `replicas` of this scenario: host memory as configured, whole (cluster.host.memory of each;
/// where nodes have a memory of their own, cluster.node.memory of the nodes that hold the replicas), and of what stores
/// prompts every storage tier with a capacity, one of each where it is shared; storage without a capacity is not
/// counted. The storage node of pools is host memory, bought once; one without a capacity is not counted.
Purchase purchase_for(const scenario::Scenario& scenario, std::int64_t replicas);

/// One replica's part of what the scenario's replicas need, and of a node's memory its part of a full node.
Purchase purchase_of_one(const scenario::Scenario& scenario);

// Costs of a prefix cache in host memory and on SSD, by the hit-rate curve of a trace.

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
