// The placement policies by name: every eviction policy, and those that also choose representations.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "sim/cache/placement/placement.h"

namespace kvsim::cache {

/// Parts of a placement; all of it outlives it.
struct PlacementParts {
  const models::PlacementSpec& spec;
  const ObjectTable& objects;
  const models::OptionPool& pool;
  const models::QualityTable& profiled;
  const std::vector<TierFacts>& tiers;
  models::PrefillCost prefill = 0;
  NextUse next_use{};  ///< of a policy that needs the future
};

struct PlacementEntry {
  std::string_view name;
  std::string_view description;
  bool needs_future = false;
};

/// In the order in which they are listed to users.
std::span<const PlacementEntry> placements();
/// The policy of this name, or null.
const PlacementEntry* find_placement(std::string_view name);

/// The policy that the specification names, which must be known.
std::unique_ptr<Placement> make_placement(const PlacementParts& parts);

}  // namespace kvsim::cache
