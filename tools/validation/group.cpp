#include "tools/validation/group.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "tools/validation/groups/groups.h"

namespace kvsim::validation {
namespace {

constexpr std::array kGroups{
    Group{"draft-verify", "Drafting on compressed KV, verifying against full KV (VeriCache)", draft_verify_figures},
    Group{"baselines", "Drafters and sparse self-speculation beside drafts on compressed KV", baselines_figures},
    Group{"remote-prefix", "Two pools around a storage node, remote prefix caching (VeriCache)", remote_prefix_figures},
    Group{"speculative-prefetch", "Prefetching the KV pairs that the next token attends to (SpeCache)",
          speculative_prefetch_figures},
    Group{"tiered-eviction", "Compressing and evicting stored prompts together over tiers (EvicPress)",
          tiered_eviction_figures},
    Group{"selective-reuse", "Computing a few tokens of reused chunks again (SpecCache)", selective_reuse_figures},
    Group{"links", "What links and storage devices reach", link_figures},
    Group{"collectives", "NCCL all-reduce of half precision", collective_figures},
    Group{"kernels", "What kernels reach of a GPU's datasheet peaks", kernel_figures},
    Group{"measured-kernels", "Measured kernel times, row by row, against the shipped profiles",
          measured_kernel_figures},
    Group{"transfers", "Measured transfers, row by row of kv_transfer.csv", transfer_figures},
    Group{"serving", "A real vLLM 0.19 run: Llama-3.1-8B on RTX PRO 6000, 300 requests", serving_figures},
};

}  // namespace

std::span<const Group> groups() {
  return kGroups;
}

const Group& find_group(std::string_view name) {
  const auto found = std::find_if(kGroups.begin(), kGroups.end(), [name](const Group& g) { return g.name == name; });
  if (found != kGroups.end()) return *found;
  std::vector<std::string> names;
  names.reserve(kGroups.size());
  for (const Group& g : kGroups) names.emplace_back(g.name);
  throw schema::InputError(fmt::format("--group: unknown group \"{}\"{}", name, schema::suggest(name, names)));
}

}  // namespace kvsim::validation
