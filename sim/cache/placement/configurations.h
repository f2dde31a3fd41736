// Value of each configuration (tier, option) of an object for one access, and the change of one object that frees space
// at the least loss. Knows nothing of other objects and of how often they are used.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "sim/cache/placement/placement.h"

namespace kvsim::cache {

class Configurations {
 public:
  /// `profiled` outlives it; of the rest it keeps what it needs.
  Configurations(const models::OptionPool& pool, const models::QualityTable& profiled, const models::UtilitySpec& spec,
                 models::PrefillCost prefill);

  /// Takes the tiers as they are now. Until the next call it goes by these.
  void set_tiers(const std::vector<TierFacts>& tiers);

  struct Place {
    TierIndex tier = kNoTier;  ///< kNoTier: not stored
    models::OptionIndex option = 0;
  };
  struct Relief {
    double cost = 0;  ///< utility lost for one access, in s; or in s per byte freed, by the variant
    Place to;
    double least_drop = 0;  ///< utility lost for one access by the change of the object that loses least, in s
  };

  /// Where a new object (just computed) is worth most from tier `first` down, in any representation, if a tier can hold
  /// it so and that is worth no less than computing it each time; else not stored. FirstPlacement::whole: whole if
  /// there is such a tier; else compressed, under the same condition. Without UtilitySpec::recompute the condition is
  /// that it fits.
  [[nodiscard]] Place best_new(const CachedObject& object, TierIndex first) const;

  /// The change of a stored object that frees space in its tier at the least cost; none where it takes no space. Per
  /// byte, a change that frees more than `most_bytes` counts as one that frees so many.
  [[nodiscard]] std::optional<Relief> least_cost(const CachedObject& object,
                                                 double most_bytes = std::numeric_limits<double>::infinity()) const;

  /// Bytes freed in its tier if the object went there.
  [[nodiscard]] std::int64_t freed(const CachedObject& object, Place to) const;

  /// Utility of one access, in s, in that place, from the representation that it is in now.
  [[nodiscard]] double utility(const CachedObject& object, Place place) const;

  [[nodiscard]] bool fits(TierIndex tier, std::int64_t bytes) const { return bytes <= tiers_[tier].capacity_bytes; }
  [[nodiscard]] std::int64_t bytes(models::OptionIndex option, std::int64_t full_bytes) const;

 private:
  struct Option {
    double bytes_ratio = 1;
    double decompress_s_per_full_byte = 0;
    std::uint32_t first_follower = 0;  // in followers_, up to the next option's
  };
  struct Tier {
    std::int64_t capacity_bytes = 0;
    double read_bytes_per_s = 0;
    double read_latency_s = 0;
    TierIndex next = kNoTier;
  };
  struct Eviction {
    Place to;
    double utility = 0;
  };
  [[nodiscard]] double stored_utility(const Tier& tier, const Option& option, std::int64_t stored_bytes,
                                      std::int64_t full_bytes, double quality) const;
  [[nodiscard]] double dropped_utility(std::int64_t full_bytes) const;
  [[nodiscard]] double quality(const CachedObject& object, models::OptionIndex option) const;
  [[nodiscard]] static double of_request(const CachedObject& object, float quality);
  [[nodiscard]] Eviction best_eviction(const CachedObject& object) const;

  template <class Visit>
  void for_each_follower(models::OptionIndex option, Visit&& visit) const {
    for (std::uint32_t i = options_[option].first_follower; i < options_[option + 1U].first_follower; ++i) {
      visit(followers_[i]);
    }
  }

  const models::QualityTable* profiled_;
  double alpha_s_;
  bool recompute_;
  models::FirstPlacement first_;
  models::EvictionTargets targets_;
  models::UtilityVariant variant_;
  models::PrefillCost prefill_;
  std::vector<Option> options_;  // and one behind the last
  std::vector<models::OptionIndex> followers_;
  std::vector<Tier> tiers_;
};

}  // namespace kvsim::cache
