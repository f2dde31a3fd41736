#include "tests/cache/naive_placement.h"

#include <algorithm>
#include <cmath>

namespace kvsim::cache {

using models::OptionIndex;
using models::UtilityVariant;

double NaivePlacement::weight(ObjectId id) const {
  double sum = 0;
  for (const double s : accesses[id]) {
    sum += spec.frequency == models::FrequencyKind::count ? 1 : std::exp2(s / spec.half_life_s);
  }
  return sum;
}

double NaivePlacement::utility(const CachedObject& object, TierIndex tier, OptionIndex option) const {
  const auto full = static_cast<double>(object.full_bytes);
  if (tier == kNoTier) return spec.alpha_s - full * prefill_s_per_full_byte;
  const double quality = std::min(object.quality, profiled.quality(object.curve, option));
  const double ttft = tiers[tier].read_latency_s +
                      static_cast<double>(pool.bytes(option, object.full_bytes)) / tiers[tier].read_bytes_per_s +
                      full * pool[option].decompress_s_per_full_byte;
  return spec.alpha_s * quality - ttft;
}

std::vector<NaivePlacement::Candidate> NaivePlacement::candidates(ObjectId id) const {
  const CachedObject& object = objects[id];
  const std::int64_t held_bytes = pool.bytes(object.option, object.full_bytes);
  const double now = utility(object, object.tier, object.option);
  std::vector<Candidate> result;
  const auto add = [&](TierIndex tier, OptionIndex option, std::int64_t freed) {
    if (freed <= 0) return;
    double cost = now - utility(object, tier, option);
    if (spec.variant != UtilityVariant::least_drop) cost /= static_cast<double>(freed);
    result.push_back({cost, {id, tier, option}, freed});
  };
  for (OptionIndex option = 0; option < pool.size(); ++option) {
    if (!pool.follows(object.option, option)) continue;
    add(object.tier, option, held_bytes - pool.bytes(option, object.full_bytes));
  }
  std::optional<Change> best;
  for (TierIndex below = tiers[object.tier].next; below != kNoTier; below = tiers[below].next) {
    const auto consider = [&](OptionIndex option) {
      if (pool.bytes(option, object.full_bytes) > tiers[below].capacity_bytes) return;
      if (!best || utility(object, below, option) > utility(object, best->tier, best->option))
        best = {id, below, option};
    };
    consider(object.option);
    for (OptionIndex option = 0; option < pool.size(); ++option) {
      if (pool.follows(object.option, option)) consider(option);
    }
    if (best && spec.targets == models::EvictionTargets::next) break;
  }
  if (best && (!spec.recompute || utility(object, best->tier, best->option) >= utility(object, kNoTier, 0))) {
    add(best->tier, best->option, held_bytes);
  } else {
    add(kNoTier, object.option, held_bytes);
  }
  return result;
}

std::vector<NaivePlacement::Candidate> NaivePlacement::in_order(TierIndex tier) const {
  std::vector<Candidate> cheapest;
  for (ObjectId id = 0; id < objects.size(); ++id) {
    if (objects[id].tier != tier || held.count(id) > 0) continue;
    const auto all = candidates(id);
    if (all.empty()) continue;
    cheapest.push_back(*std::min_element(all.begin(), all.end(),
                                         [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; }));
  }
  const auto key = [&](const Candidate& c) { return weight(c.change.object) * c.cost; };
  std::stable_sort(cheapest.begin(), cheapest.end(),
                   [&](const Candidate& a, const Candidate& b) { return key(a) < key(b); });
  return cheapest;
}

Change NaivePlacement::relieve(TierIndex tier, std::int64_t need_bytes) const {
  const Candidate first = in_order(tier).front();
  if (spec.variant != UtilityVariant::least_drop_for_need || weight(first.change.object) * first.cost <= 0) {
    return first.change;
  }
  std::optional<Candidate> best;
  for (ObjectId id = 0; id < objects.size(); ++id) {
    if (objects[id].tier != tier || held.count(id) > 0) continue;
    for (Candidate c : candidates(id)) {
      const double drop =
          utility(objects[id], tier, objects[id].option) - utility(objects[id], c.change.tier, c.change.option);
      c.cost = weight(id) * (drop / std::min(static_cast<double>(c.freed), 3.0 * static_cast<double>(need_bytes)));
      if (!best || c.cost < best->cost) best = c;
    }
  }
  return best->change;
}

Change NaivePlacement::place_new(ObjectId id, TierIndex first) const {
  const CachedObject& object = objects[id];
  const auto best_of = [&](OptionIndex begin, std::size_t end) {
    Change best{id, kNoTier, 0};
    // Options in turn, as the whole object is the first of them in every tier.
    for (const bool whole : {true, false}) {
      for (TierIndex tier = first; tier != kNoTier; tier = tiers[tier].next) {
        for (OptionIndex option = begin; option < end; ++option) {
          if (whole != (option == 0) || pool.bytes(option, object.full_bytes) > tiers[tier].capacity_bytes) continue;
          const double value = utility(object, tier, option);
          const bool first_fit = best.tier == kNoTier && !spec.recompute;  // computing it each time is no choice
          const double most = utility(object, best.tier, best.option);
          if (first_fit || value > most || (value == most && best.tier == kNoTier)) best = {id, tier, option};
        }
      }
    }
    return best;
  };
  if (spec.first == models::FirstPlacement::best) return best_of(0, pool.size());
  const Change whole = best_of(0, 1);
  return whole.tier != kNoTier ? whole : best_of(1, pool.size());
}

bool NaivePlacement::promotes(ObjectId id, TierIndex to, std::int64_t bytes, std::int64_t free) const {
  const CachedObject& object = objects[id];
  if (!spec.promote || bytes > tiers[to].capacity_bytes) return false;
  const double gain = weight(id) * (utility(object, to, object.option) - utility(object, object.tier, object.option));
  double loss = 0;
  std::int64_t missing = bytes - free;
  for (const Candidate& c : in_order(to)) {
    if (missing <= 0) break;
    loss += weight(c.change.object) * c.cost *
            (spec.variant == UtilityVariant::least_drop ? 1.0 : static_cast<double>(c.freed));
    missing -= c.freed;
  }
  return gain > 0 && missing <= 0 && loss < gain;
}

}  // namespace kvsim::cache
