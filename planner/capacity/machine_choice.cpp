#include "planner/capacity/machine_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "models/schema/units.h"
#include "planner/capacity/run_length.h"
#include "planner/quality_floor.h"
#include "sim/reuse/prompt_assembly.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"
#include "sim/systems/systems.h"

namespace kvsim::planner::capacity {
namespace {

constexpr std::int64_t kMostGpus = 64;

std::int64_t parse_gpus(std::string_view text, std::string_view list) {
  try {
    const std::int64_t gpus = schema::parse_integer(text);
    if (gpus >= 1 && gpus <= 1024) return gpus;
  } catch (const schema::UnitError&) {  // said below
  }
  throw schema::InputError(fmt::format(
      "--machines {}: found \"{}\" after the colon, expected GPUs per replica such as h100-nvl:2", list, text));
}

/// scenario::on_machine, whose complaints are about --machines.
scenario::Scenario moved_to(const scenario::Scenario& scenario, const std::string& gpu, std::int64_t gpus) {
  try {
    return scenario::on_machine(scenario, gpu, gpus);
  } catch (const schema::InputError& e) {
    throw schema::InputError(fmt::format("--machines: {}", e.what()));
  }
}

/// Why the scenario as it stands cannot run; empty if it can.
std::string problem_with(const scenario::Scenario& s) {
  try {
    systems::check(s.serving);
    const MeanRequest mean = mean_request(s);
    const double need = mean.prompt_tokens + mean.output_tokens;
    const std::int64_t room = serving::kv_capacity(s.serving, s.serving.cluster.uniform()).context_tokens;
    if (static_cast<double>(room) < need) {
      return fmt::format("KV room for {} tokens, a mean request has {:.0f}", room, need);
    }
    const auto& floor = s.serving.slo.quality_floor;
    if (const double score =
            reuse::mean_relative_score(s.serving, s.serving.chunks ? s.serving.chunks->per_request : 0);
        floor && below_quality_floor(score, *floor) > 0) {
      return fmt::format(
          "its answers score {:.3f} of those to prompts computed whole, in the mean; slo.quality_floor is {:g}", score,
          *floor);
    }
    return {};
  } catch (const serving::ConfigurationError& e) {
    return e.what();
  }
}

}  // namespace

std::string_view words_of(Placement placement) {
  constexpr std::array kWords{"as in the scenario", "as asked for",
                              "the smallest power of two with room for the model and a mean request"};
  return kWords.at(static_cast<std::size_t>(placement));
}

std::vector<MachineRequest> parse_machines(std::string_view list) {
  std::vector<MachineRequest> machines;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string_view item = list.substr(begin, end - begin);
    begin = end + 1;
    const std::size_t colon = item.find(':');
    MachineRequest machine{std::string(item.substr(0, colon)), std::nullopt};
    if (machine.gpu.empty()) {
      throw schema::InputError(
          fmt::format("--machines {}: a name is empty, expected a list such as h100-sxm,h100-nvl:2", list));
    }
    if (colon != std::string_view::npos) machine.tensor_parallel = parse_gpus(item.substr(colon + 1), list);
    const bool twice = std::any_of(machines.begin(), machines.end(), [&](const MachineRequest& m) {
      return m.gpu == machine.gpu && m.tensor_parallel == machine.tensor_parallel;
    });
    if (twice) throw schema::InputError(fmt::format("--machines: {} is there twice", item));
    machines.push_back(std::move(machine));
  }
  return machines;
}

PlacedScenario place(const scenario::Scenario& scenario, const MachineRequest& machine) {
  const serving::GroupConfig& own = scenario.serving.cluster.uniform();
  const auto with = [&](std::int64_t gpus, Placement placement) {
    PlacedScenario placed{moved_to(scenario, machine.gpu, gpus), placement, {}};
    placed.problem = problem_with(placed.scenario);
    return placed;
  };
  if (machine.tensor_parallel) return with(*machine.tensor_parallel, Placement::asked);
  if (machine.gpu == own.gpu.name) {
    PlacedScenario placed = with(own.parallel.tensor, Placement::own);
    if (placed.problem.empty()) return placed;
  }
  PlacedScenario placed = with(1, Placement::smallest);
  for (std::int64_t gpus = 2; gpus <= kMostGpus && !placed.problem.empty(); gpus *= 2) {
    PlacedScenario larger = with(gpus, Placement::smallest);
    if (larger.problem.empty()) return larger;
  }
  return placed;
}

namespace {

using schema::InputError;

std::string option_of(const TierSizes& sizes) {
  return sizes.tier == kHostTier ? "--memory" : fmt::format("--storage {}", sizes.tier);
}

}  // namespace

std::vector<SizeChoice> size_choices(const std::vector<TierSizes>& sizes) {
  std::vector<SizeChoice> choices{{}};
  for (const TierSizes& tier : sizes) {
    std::vector<SizeChoice> next;
    for (const SizeChoice& choice : choices) {
      for (const std::int64_t bytes : tier.bytes) {
        next.push_back(choice);
        next.back().push_back({tier.tier, bytes});
      }
    }
    choices = std::move(next);
  }
  return choices;
}

std::vector<SizeChoice> size_choices(const scenario::Scenario& scenario, const std::vector<TierSizes>& sizes) {
  return scenario.serving.placement ? size_choices(sizes) : size_choices({});
}

void check_sizes(const scenario::Scenario& scenario, const std::vector<TierSizes>& sizes) {
  if (sizes.empty()) return;
  if (!scenario.serving.placement) {
    throw InputError(fmt::format(
        "{}: sizes are those of tiers in which prompts are stored and found again, and {} stores none: give it "
        "prefill: prefix_cache and placement: {{policy: lru}}, with cluster.host.memory or cluster.storage",
        option_of(sizes.front()), scenario.file));
  }
  const bool host = std::any_of(sizes.begin(), sizes.end(), [](const TierSizes& t) { return t.tier == kHostTier; });
  if (const auto& node = scenario.serving.cluster.node; host && node && node->usd_per_hour) {
    throw InputError(
        fmt::format("--memory: {} has cluster.node.price, which is that of a node with the memory that it has: leave "
                    "--memory out, or cluster.node.price, so that GPUs and memory count at their own prices",
                    scenario.file));
  }
  std::vector<std::string> names;
  for (const serving::StorageTierConfig& t : scenario.serving.cluster.storage) names.push_back(t.name);
  for (auto tier = sizes.begin(); tier != sizes.end(); ++tier) {
    const auto same = [&](const TierSizes& other) { return other.tier == tier->tier; };
    if (std::any_of(sizes.begin(), tier, same)) {
      throw InputError(
          fmt::format("{} is there twice: give its capacities in one list, separated by commas", option_of(*tier)));
    }
    if (tier->tier == kHostTier || std::find(names.begin(), names.end(), tier->tier) != names.end()) continue;
    throw InputError(fmt::format(
        "{}: {} has no storage tier \"{}\"{}", option_of(*tier), scenario.file, tier->tier,
        names.empty() ? "; cluster.storage is where tiers are described" : schema::suggest(tier->tier, names)));
  }
}

scenario::Scenario with_sizes(const scenario::Scenario& scenario, const SizeChoice& choice) {
  if (choice.empty()) return scenario;
  std::vector<schema::Assignment> changes;
  const std::vector<serving::StorageTierConfig>& storage = scenario.serving.cluster.storage;
  for (const TierSize& size : choice) {
    const std::string bytes = fmt::format("{} B", size.bytes);
    if (size.tier == kHostTier) {
      changes.push_back({"cluster.host.memory", bytes});
      changes.push_back({"cluster.node.memory", std::nullopt});
    }
    for (std::size_t i = 0; i < storage.size(); ++i) {
      if (storage[i].name == size.tier) changes.push_back({fmt::format("cluster.storage.{}.capacity", i), bytes});
    }
  }
  return scenario::with(scenario, changes);
}

namespace {

/// Memory of a node that has one of its own.
double node_memory_gb(const serving::NodeConfig& node) {
  return static_cast<double>(*node.memory_bytes) / kGB;
}

}  // namespace

Purchase purchase_for(const scenario::Scenario& scenario, std::int64_t replicas) {
  const auto n = static_cast<double>(replicas);
  const serving::ClusterConfig& cluster = scenario.serving.cluster;
  Purchase purchase;
  if (cluster.node && cluster.node->memory_bytes) {
    purchase.dram_gb = static_cast<double>(serving::nodes_for(cluster, replicas)) * node_memory_gb(*cluster.node);
  } else {
    purchase.dram_gb = n * static_cast<double>(cluster.topology().memory.capacity_bytes.value_or(0)) / kGB;
  }
  if (!scenario.serving.placement) return purchase;
  for (const serving::StorageTierConfig& t : cluster.storage) {
    const double each = static_cast<double>(t.capacity_bytes.value_or(0)) / kGB;
    purchase.storage_gb += t.shared ? each : n * each;
  }
  return purchase;
}

Purchase purchase_of_one(const scenario::Scenario& scenario) {
  const serving::ClusterConfig& cluster = scenario.serving.cluster;
  const auto replicas = static_cast<double>(cluster.replicas());
  Purchase purchase = purchase_for(scenario, cluster.replicas());
  purchase.dram_gb = cluster.node && cluster.node->memory_bytes
                         ? serving::nodes_per_replica(cluster) * node_memory_gb(*cluster.node)
                         : purchase.dram_gb / replicas;
  purchase.storage_gb /= replicas;
  return purchase;
}

namespace {

constexpr double kShares[] = {0.9, 0.99};  // of the achievable hits
constexpr double kInDram = 0.9;            // of an option's hits, where there is an SSD too

}  // namespace

std::vector<CacheOption> cache_options(const models::HitRateCurve& curve, double block_bytes,
                                       const models::PriceTable& prices) {
  std::vector<CacheOption> options;
  if (curve.achievable() == 0) return options;
  const auto gb = [block_bytes](std::uint64_t blocks) { return static_cast<double>(blocks) * block_bytes / kGB; };
  const auto add = [&](double share, std::uint64_t blocks, std::uint64_t in_dram) {
    CacheOption o{share, curve.hit_rate(blocks), curve.hit_rate(in_dram), gb(in_dram), gb(blocks - in_dram), 0};
    o.usd_per_hour = (o.dram_gb * prices.dram.usd.value + o.ssd_gb * prices.ssd.usd.value) / models::kHoursPerMonth;
    options.push_back(o);
  };
  for (const double share : kShares) {
    const std::uint64_t blocks = curve.capacity_for(share);
    add(share, blocks, blocks);
    add(share, blocks, std::min(blocks, curve.capacity_for(share * kInDram)));
  }
  return options;
}

}  // namespace kvsim::planner::capacity
