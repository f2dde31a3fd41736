#include "sim/cache/placement/configurations.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvsim::cache {

using models::OptionIndex;
using models::UtilityVariant;

Configurations::Configurations(const models::OptionPool& pool, const models::QualityTable& profiled,
                               const models::UtilitySpec& spec, models::PrefillCost prefill)
    : profiled_(&profiled),
      alpha_s_(spec.alpha_s),
      recompute_(spec.recompute),
      first_(spec.first),
      targets_(spec.targets),
      variant_(spec.variant),
      prefill_(prefill) {
  for (std::size_t from = 0; from < pool.size(); ++from) {
    const auto option = static_cast<OptionIndex>(from);
    options_.push_back({pool[option].bytes_ratio(), pool[option].decompress_s_per_full_byte,
                        static_cast<std::uint32_t>(followers_.size())});
    for (std::size_t to = 0; to < pool.size(); ++to) {
      if (pool.follows(option, static_cast<OptionIndex>(to))) followers_.push_back(static_cast<OptionIndex>(to));
    }
  }
  options_.push_back({1, 0, static_cast<std::uint32_t>(followers_.size())});
}

void Configurations::set_tiers(const std::vector<TierFacts>& tiers) {
  tiers_.clear();
  for (const TierFacts& t : tiers) tiers_.push_back({t.capacity_bytes, t.read_bytes_per_s, t.read_latency_s, t.next});
}

// As OptionPool::bytes, from the compact copy.
std::int64_t Configurations::bytes(OptionIndex option, std::int64_t full_bytes) const {
  if (option == 0 || full_bytes <= 0) return full_bytes;
  return std::max<std::int64_t>(std::llround(static_cast<double>(full_bytes) * options_[option].bytes_ratio), 1);
}

double Configurations::stored_utility(const Tier& tier, const Option& option, std::int64_t stored_bytes,
                                      std::int64_t full_bytes, double quality) const {
  return models::utility_s(alpha_s_, quality,
                           models::load_ttft_s(tier.read_latency_s, tier.read_bytes_per_s, stored_bytes, full_bytes,
                                               option.decompress_s_per_full_byte));
}

double Configurations::dropped_utility(std::int64_t full_bytes) const {
  return models::dropped_utility_s(alpha_s_, models::prefill_ttft_s(full_bytes, prefill_));
}

// An object that is compressed again keeps the worse of the two qualities.
double Configurations::quality(const CachedObject& object, OptionIndex option) const {
  return of_request(object, std::min(object.quality, profiled_->quality(object.curve, option)));
}

// A request's quality is the mean over its prompt.
double Configurations::of_request(const CachedObject& object, float quality) {
  return 1 - static_cast<double>(object.share) * (1 - static_cast<double>(quality));
}

double Configurations::utility(const CachedObject& object, Place place) const {
  if (place.tier == kNoTier) return dropped_utility(object.full_bytes);
  return stored_utility(tiers_[place.tier], options_[place.option], bytes(place.option, object.full_bytes),
                        object.full_bytes, quality(object, place.option));
}

Configurations::Place Configurations::best_new(const CachedObject& object, TierIndex first) const {
  Place best;
  double most = recompute_ ? dropped_utility(object.full_bytes) : -std::numeric_limits<double>::infinity();
  // Being stored wins a tie against being computed; a higher tier and an earlier option against a later one.
  const auto consider = [&](TierIndex tier, OptionIndex option) {
    const std::int64_t stored = bytes(option, object.full_bytes);
    if (!fits(tier, stored)) return;
    const double value = stored_utility(tiers_[tier], options_[option], stored, object.full_bytes,
                                        of_request(object, profiled_->quality(object.curve, option)));
    if (value > most || (value == most && best.tier == kNoTier)) {
      most = value;
      best = {tier, option};
    }
  };
  for (TierIndex tier = first; tier != kNoTier; tier = tiers_[tier].next) consider(tier, 0);
  if (best.tier != kNoTier && first_ == models::FirstPlacement::whole) return best;
  for (TierIndex tier = first; tier != kNoTier; tier = tiers_[tier].next) {
    for_each_follower(0, [&](OptionIndex option) { consider(tier, option); });
  }
  return best;
}

// In the best configuration of any tier below (or of the first that can take it at all); dropped where there is none,
// or where computing it each time is worth more than what the tiers offer (recompute). The higher tier wins a tie.
Configurations::Eviction Configurations::best_eviction(const CachedObject& object) const {
  const Eviction dropped{{kNoTier, object.option}, dropped_utility(object.full_bytes)};
  std::optional<Eviction> best;
  for (TierIndex below = tiers_[object.tier].next; below != kNoTier; below = tiers_[below].next) {
    const auto consider = [&](OptionIndex option) {
      const std::int64_t stored = bytes(option, object.full_bytes);
      if (!fits(below, stored)) return;
      const double value =
          stored_utility(tiers_[below], options_[option], stored, object.full_bytes, quality(object, option));
      if (!best || value > best->utility) best = {{below, option}, value};
    };
    consider(object.option);
    for_each_follower(object.option, consider);
    if (best && targets_ == models::EvictionTargets::next) break;
  }
  return best && (best->utility >= dropped.utility || !recompute_) ? *best : dropped;
}

std::optional<Configurations::Relief> Configurations::least_cost(const CachedObject& object, double most_bytes) const {
  const std::int64_t held = bytes(object.option, object.full_bytes);
  if (held <= 0) return std::nullopt;
  const Tier& tier = tiers_[object.tier];
  const double now =
      stored_utility(tier, options_[object.option], held, object.full_bytes, quality(object, object.option));

  std::optional<Relief> best;
  const auto consider = [&](Place to, double utility, std::int64_t frees) {
    const double drop = now - utility;
    const double cost =
        variant_ == UtilityVariant::least_drop ? drop : drop / std::min(static_cast<double>(frees), most_bytes);
    if (!best) {
      best = Relief{cost, to, drop};
      return;
    }
    best->least_drop = std::min(best->least_drop, drop);
    if (!(cost < best->cost)) return;
    best->cost = cost;
    best->to = to;
  };
  for_each_follower(object.option, [&](OptionIndex option) {
    const std::int64_t stored = bytes(option, object.full_bytes);
    if (stored >= held) return;
    consider({object.tier, option},
             stored_utility(tier, options_[option], stored, object.full_bytes, quality(object, option)), held - stored);
  });
  const Eviction eviction = best_eviction(object);
  consider(eviction.to, eviction.utility, held);
  return best;
}

std::int64_t Configurations::freed(const CachedObject& object, Place to) const {
  const std::int64_t held = bytes(object.option, object.full_bytes);
  return to.tier == object.tier ? held - bytes(to.option, object.full_bytes) : held;
}

}  // namespace kvsim::cache
