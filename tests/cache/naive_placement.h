// What UtilityPlacement should say, by looking at every object and every option at every question.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "sim/cache/placement/placement.h"

namespace kvsim::cache {

struct NaivePlacement {
  const ObjectTable& objects;
  const models::OptionPool& pool;
  const models::QualityTable& profiled;
  const std::vector<TierFacts>& tiers;
  models::UtilitySpec spec;
  double prefill_s_per_full_byte = 0;
  std::vector<std::vector<double>> accesses;  // times in s, by object
  std::set<ObjectId> held;

  struct Candidate {
    double cost = 0;  // for one access
    Change change;
    std::int64_t freed = 0;
  };

  [[nodiscard]] double weight(ObjectId id) const;
  [[nodiscard]] double utility(const CachedObject& object, TierIndex tier, models::OptionIndex option) const;
  [[nodiscard]] std::vector<Candidate> candidates(ObjectId id) const;
  /// The cheapest change of each free object of the tier, the cheapest first.
  [[nodiscard]] std::vector<Candidate> in_order(TierIndex tier) const;
  /// The change to make; of a tier with free objects.
  [[nodiscard]] Change relieve(TierIndex tier, std::int64_t need_bytes) const;
  [[nodiscard]] Change place_new(ObjectId id, TierIndex first) const;
  [[nodiscard]] bool promotes(ObjectId id, TierIndex to, std::int64_t bytes, std::int64_t free) const;
};

}  // namespace kvsim::cache
