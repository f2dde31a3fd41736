#include "sim/cache/placement/utility_placement.h"

#include <algorithm>
#include <cmath>

namespace kvsim::cache {

namespace {

constexpr int kPromotionLooks = 64;
constexpr ObjectId kUnseenCurve = kNoObject - 1;

}  // namespace

UtilityPlacement::UtilityPlacement(const ObjectTable& objects, const models::OptionPool& pool,
                                   const models::QualityTable& profiled, const std::vector<TierFacts>& tiers,
                                   const models::UtilitySpec& spec, double prefill_s_per_full_byte)
    : objects_(objects),
      tiers_(tiers),
      spec_(spec),
      configurations_(pool, profiled, spec, prefill_s_per_full_byte),
      weights_(spec.frequency, spec.half_life_s),
      indices_(tiers.size(), DropHeap(positions_)) {
  configurations_.set_tiers(tiers);
}

UtilityPlacement::Record& UtilityPlacement::record(ObjectId id) {
  while (records_.size() <= id) {
    const auto next = static_cast<ObjectId>(records_.size());
    records_.emplace_back();
    positions_.push_back(kNotInHeap);
    const models::CurveIndex curve = objects_[next].curve;
    if (curve >= curve_owner_.size()) curve_owner_.resize(curve + std::size_t{1}, kUnseenCurve);
    curve_owner_[curve] = curve_owner_[curve] == kUnseenCurve ? next : kNoObject;
  }
  return records_[id];
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
}

void UtilityPlacement::enter(ObjectId id) {
  Record& r = records_[id];
  if (!r.relievable || r.held) return;
  r.index = objects_[id].tier;
  indices_[r.index].insert(id, key(r));
}

void UtilityPlacement::leave(ObjectId id) {
  Record& r = records_[id];
  if (r.index == kNoTier) return;
  indices_[r.index].erase(id);
  r.index = kNoTier;
}

// Its key changed.
void UtilityPlacement::update(ObjectId id) {
  const Record& r = records_[id];
  if (r.index != kNoTier) indices_[r.index].update(id, key(r));
}

Change UtilityPlacement::place_new(ObjectId id, TierIndex first) {
  record(id);
  const auto best = configurations_.best_new(objects_[id], first);
  return {id, best.tier, best.option};
}

void UtilityPlacement::moved(ObjectId id, TierIndex /*from*/) {
  record(id);
  leave(id);
  refresh(id);
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

std::optional<Change> UtilityPlacement::relieve(TierIndex tier, ObjectId /*incoming*/) {
  const DropHeap& index = indices_[tier];
  if (index.empty()) return std::nullopt;
  const ObjectId id = index.top().id;
  const Configurations::Place& to = records_[id].change;
  return Change{id, to.tier, to.option};
}

bool UtilityPlacement::promotes(ObjectId id, TierIndex to, std::int64_t bytes, std::int64_t free) {
  const CachedObject& object = objects_[id];
  if (!spec_.promote || object.tier == kNoTier || !configurations_.fits(to, bytes)) return false;
  const double gain = record(id).weight * (configurations_.utility(object, {to, object.option}) -
                                           configurations_.utility(object, {object.tier, object.option}));
  if (!(gain > 0)) return false;

  // The least entries of the heap in order, by way of those whose parents were looked at.
  const auto entries = indices_[to].entries();
  const auto later = [&](std::uint32_t a, std::uint32_t b) { return DropHeap::before(entries[b], entries[a]); };
  frontier_.clear();
  if (!entries.empty()) frontier_.push_back(0);
  std::int64_t missing = bytes - free;
  double loss = 0;
  for (int looks = 0; missing > 0; ++looks) {
    if (frontier_.empty() || looks == kPromotionLooks) return false;
    std::pop_heap(frontier_.begin(), frontier_.end(), later);
    const std::uint32_t at = frontier_.back();
    frontier_.pop_back();
    const ObjectId victim = entries[at].id;
    const std::int64_t freed = configurations_.freed(objects_[victim], records_[victim].change);
    const bool per_byte = spec_.variant != models::UtilityVariant::least_drop;
    loss += entries[at].key * (per_byte ? static_cast<double>(freed) : 1.0);
    missing -= freed;
    if (loss >= gain) return false;  // gains come first, so it only grows from here
    for (std::size_t child = DropHeap::kChildren * at + 1;
         child <= DropHeap::kChildren * at + DropHeap::kChildren && child < entries.size(); ++child) {
      frontier_.push_back(static_cast<std::uint32_t>(child));
      std::push_heap(frontier_.begin(), frontier_.end(), later);
    }
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
  for (DropHeap& index : indices_) {
    index.rekey([&](ObjectId id) { return key(records_[id]); });
  }
}

void UtilityPlacement::rebase(std::int64_t half_lives) {
  // A weight of 2^512 has vanished after 1600 half-lives.
  const int down = static_cast<int>(std::min<std::int64_t>(half_lives, 1600));
  for (Record& r : records_) r.weight = std::ldexp(r.weight, -down);
  weights_.rebased(half_lives);
  // Scaling keeps the order of keys, but for those that vanish and become equal.
  for (DropHeap& index : indices_) {
    index.rekey([&](ObjectId id) { return key(records_[id]); });
  }
}

std::size_t UtilityPlacement::state_bytes() const {
  std::size_t bytes = sizeof(*this) + records_.capacity() * sizeof(Record) +
                      positions_.capacity() * sizeof(positions_[0]) + curve_owner_.capacity() * sizeof(ObjectId) +
                      frontier_.capacity() * sizeof(frontier_[0]);
  for (const DropHeap& index : indices_) bytes += sizeof(DropHeap) + index.state_bytes();
  return bytes;
}

}  // namespace kvsim::cache
