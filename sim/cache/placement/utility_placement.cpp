#include "sim/cache/placement/utility_placement.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvsim::cache {
namespace {
// Weights stay below 2^512: sums of 2^500 of them, times seconds, are still finite.
constexpr double kLargestExponent = 512;
}  // namespace

double AccessWeights::of_access(engine::SimTime now) const {
  return kind_ == models::FrequencyKind::count ? 1.0 : std::exp2(exponent(now));
}

std::int64_t AccessWeights::excess(engine::SimTime now) const {
  if (kind_ == models::FrequencyKind::count || exponent(now) <= kLargestExponent) return 0;
  return static_cast<std::int64_t>(std::min(std::floor(exponent(now)), 0x1p62));
}

namespace {

constexpr int kPromotionLooks = 64;
constexpr int kNeedLooks = 8;         // in each index
constexpr double kUsefulNeeds = 3.0;  // bytes freed beyond so many times the need count for nothing
constexpr ObjectId kUnseenCurve = kNoObject - 1;

}  // namespace

UtilityPlacement::UtilityPlacement(const ObjectTable& objects, const models::OptionPool& pool,
                                   const models::QualityTable& profiled, const std::vector<TierFacts>& tiers,
                                   const models::UtilitySpec& spec, models::PrefillCost prefill)
    : objects_(objects),
      tiers_(tiers),
      spec_(spec),
      configurations_(pool, profiled, spec, prefill),
      weights_(spec.frequency, spec.half_life_s),
      indices_(tiers.size(), DropHeap(positions_)) {
  configurations_.set_tiers(tiers);
  if (for_need()) by_drop_.assign(tiers.size(), DropHeap(drop_positions_));
}

UtilityPlacement::Record& UtilityPlacement::record(ObjectId id) {
  while (records_.size() <= id) {
    const auto next = static_cast<ObjectId>(records_.size());
    records_.emplace_back();
    positions_.push_back(kNotInHeap);
    if (for_need()) {
      least_drops_.push_back(0);
      drop_positions_.push_back(kNotInHeap);
    }
    const models::CurveIndex curve = objects_[next].curve;
    if (curve >= curve_owner_.size()) curve_owner_.resize(curve + std::size_t{1}, kUnseenCurve);
    curve_owner_[curve] = curve_owner_[curve] == kUnseenCurve ? next : kNoObject;
  }
  return records_[id];
}

// The more frequent of the two: what one replica used before counts for all, and nothing counts twice.
void UtilityPlacement::renamed(ObjectId from, ObjectId to) {
  record(std::max(from, to));
  records_[to].weight = std::max(records_[to].weight, records_[from].weight);
  update(to);
}

// Looks up its cheapest change again.
void UtilityPlacement::refresh(ObjectId id) {
  Record& r = record(id);
  r.relievable = false;
  if (objects_[id].tier == kNoTier) return;
  const auto relief = configurations_.least_cost(objects_[id]);
  if (!relief) return;
  r.relievable = true;
  r.cost = relief->cost;
  r.change = relief->to;
  if (for_need()) least_drops_[id] = relief->least_drop;
}

void UtilityPlacement::enter(ObjectId id) {
  Record& r = records_[id];
  if (!r.relievable || r.held) return;
  r.index = objects_[id].tier;
  indices_[r.index].insert(id, key(r));
  if (for_need()) by_drop_[r.index].insert(id, drop_key(id));
}

void UtilityPlacement::leave(ObjectId id) {
  Record& r = records_[id];
  if (r.index == kNoTier) return;
  indices_[r.index].erase(id);
  if (for_need()) by_drop_[r.index].erase(id);
  r.index = kNoTier;
}

// Its key changed.
void UtilityPlacement::update(ObjectId id) {
  const Record& r = records_[id];
  if (r.index == kNoTier) return;
  indices_[r.index].update(id, key(r));
  if (for_need()) by_drop_[r.index].update(id, drop_key(id));
}

Change UtilityPlacement::place_new(ObjectId id, TierIndex first) {
  record(id);
  const auto best = configurations_.best_new(objects_[id], first);
  return {id, best.tier, best.option};
}

void UtilityPlacement::moved(ObjectId id, TierIndex /*from*/) {
  const Record& r = record(id);
  refresh(id);
  if (r.index != kNoTier && r.index == objects_[id].tier && r.relievable) return update(id);
  leave(id);
  enter(id);
}

void UtilityPlacement::dropped(ObjectId id, TierIndex /*from*/) {
  record(id).relievable = false;
  leave(id);
}

void UtilityPlacement::used(ObjectId id, engine::SimTime now) {
  if (const std::int64_t excess = weights_.excess(now); excess > 0) rebase(excess);
  record(id).weight += weights_.of_access(now);
  update(id);
}

void UtilityPlacement::held(ObjectId id) {
  record(id).held = true;
  leave(id);
}

void UtilityPlacement::released(ObjectId id) {
  Record& r = record(id);
  if (!r.held) return;
  r.held = false;
  enter(id);
}

std::optional<Change> UtilityPlacement::relieve(TierIndex tier, ObjectId /*incoming*/, std::int64_t need_bytes) {
  const DropHeap& index = indices_[tier];
  if (index.empty()) return std::nullopt;
  if (for_need() && index.top().key > 0) {
    return least_for_need(tier, kUsefulNeeds * static_cast<double>(need_bytes));
  }
  const ObjectId id = index.top().id;
  const Configurations::Place& to = records_[id].change;
  return Change{id, to.tier, to.option};
}

// A threshold search over two orders. Where nothing is gained, drop / min(freed, useful) is no less than drop / freed,
// by which one index is ordered, and no less than drop / useful, which has the order of the other.
Change UtilityPlacement::least_for_need(TierIndex tier, double useful_bytes) {
  HeapWalk per_byte(indices_[tier], frontier_);
  HeapWalk drops(by_drop_[tier], drop_frontier_);
  DropHeap::Entry least{std::numeric_limits<double>::infinity(), kNoObject};
  Configurations::Place to;
  const auto look = [&](HeapWalk& walk) {
    const ObjectId id = walk.next().id;
    walk.take();
    const Record& r = records_[id];
    DropHeap::Entry entry{key(r), id};
    if (!DropHeap::before(entry, least)) return;
    Configurations::Place change = r.change;
    if (static_cast<double>(configurations_.freed(objects_[id], change)) > useful_bytes) {
      const auto relief = configurations_.least_cost(objects_[id], useful_bytes);
      entry.key = r.weight * relief->cost;
      change = relief->to;
      if (!DropHeap::before(entry, least)) return;
    }
    least = entry;
    to = change;
  };
  for (int looks = 0; looks < kNeedLooks; ++looks) {
    look(per_byte);
    if (per_byte.done() || DropHeap::before(least, per_byte.next())) break;
    look(drops);
    constexpr double rounding = 1e-14;  // (weight x drop) / bytes against weight x (drop / bytes)
    if (least.key < drops.next().key / useful_bytes * (1 - rounding)) break;
  }
  return {least.id, to.tier, to.option};
}

bool UtilityPlacement::promotes(ObjectId id, TierIndex to, std::int64_t bytes, std::int64_t free) {
  const CachedObject& object = objects_[id];
  if (!spec_.promote || object.tier == kNoTier || !configurations_.fits(to, bytes)) return false;
  const double gain = record(id).weight * (configurations_.utility(object, {to, object.option}) -
                                           configurations_.utility(object, {object.tier, object.option}));
  if (!(gain > 0)) return false;

  HeapWalk walk(indices_[to], frontier_);
  std::int64_t missing = bytes - free;
  double loss = 0;
  for (int looks = 0; missing > 0; ++looks) {
    if (walk.done() || looks == kPromotionLooks) return false;
    const DropHeap::Entry victim = walk.next();
    walk.take();
    const std::int64_t freed = configurations_.freed(objects_[victim.id], records_[victim.id].change);
    const bool per_byte = spec_.variant != models::UtilityVariant::least_drop;
    loss += victim.key * (per_byte ? static_cast<double>(freed) : 1.0);
    missing -= freed;
    if (loss >= gain) return false;  // gains come first, so it only grows from here
  }
  return true;
}

void UtilityPlacement::tiers_changed() {
  configurations_.set_tiers(tiers_);
  rebuild();
}

void UtilityPlacement::profile_changed(models::CurveIndex curve) {
  if (curve >= curve_owner_.size() || curve_owner_[curve] == kUnseenCurve) return;
  const ObjectId owner = curve_owner_[curve];
  if (owner == kNoObject) return rebuild();
  refresh(owner);
  update(owner);
}

void UtilityPlacement::rebuild() {
  for (std::size_t id = 0; id < records_.size(); ++id) refresh(static_cast<ObjectId>(id));
  rekey();
}

void UtilityPlacement::rekey() {
  for (DropHeap& index : indices_) {
    index.rekey([&](ObjectId id) { return key(records_[id]); });
  }
  for (DropHeap& index : by_drop_) {
    index.rekey([&](ObjectId id) { return drop_key(id); });
  }
}

void UtilityPlacement::rebase(std::int64_t half_lives) {
  // A weight of 2^512 has vanished after 1600 half-lives.
  const int down = static_cast<int>(std::min<std::int64_t>(half_lives, 1600));
  for (Record& r : records_) r.weight = std::ldexp(r.weight, -down);
  weights_.rebased(half_lives);
  rekey();  // scaling keeps the order of keys, but for those that vanish and become equal
}

std::size_t UtilityPlacement::state_bytes() const {
  std::size_t bytes = sizeof(*this) + records_.capacity() * sizeof(Record) +
                      positions_.capacity() * sizeof(positions_[0]) + curve_owner_.capacity() * sizeof(ObjectId) +
                      least_drops_.capacity() * sizeof(double) + drop_positions_.capacity() * sizeof(positions_[0]) +
                      (frontier_.capacity() + drop_frontier_.capacity()) * sizeof(frontier_[0]);
  for (const DropHeap& index : indices_) bytes += sizeof(DropHeap) + index.state_bytes();
  for (const DropHeap& index : by_drop_) bytes += sizeof(DropHeap) + index.state_bytes();
  return bytes;
}

}  // namespace kvsim::cache
