#include "sim/cache/store/tiered_store.h"

#include <algorithm>

#include "sim/cache/eviction/chain_rules.h"
#include "sim/engine/invariant.h"

namespace kvsim::cache {

using engine::Callback;

TieredStore::TieredStore(engine::Simulator& simulator, transport::Fabric& fabric, const StoreConfig& config,
                         const models::OptionPool& pool, const models::QualityTable& profiled,
                         const MakePlacement& make_placement)
    : simulator_(simulator),
      options_(pool.size()),
      tiers_(simulator, fabric, config, Callback::to<&TieredStore::tiers_changed>(this)),
      objects_(tiers_, pool, profiled, make_placement),
      whole_(tiers_, objects_),
      moves_(simulator, tiers_, pool, objects_, whole_, Callback::to<&Stores::retry_soon>(&stores_)),
      loads_(simulator, tiers_, Callback::to<&TieredStore::on_batch>(this)),
      stores_(simulator, profiled, tiers_, objects_, moves_, loads_, counts_) {}

ObjectId TieredStore::object(std::size_t replica, std::uint64_t key, std::int64_t full_bytes, std::int64_t tokens,
                             models::CurveIndex curve, float share) {
  CachedObject o;
  o.key = key;
  o.full_bytes = full_bytes;
  o.tokens = tokens;
  o.curve = curve;
  o.share = share;
  return objects_.name_in(tiers_.domain_of(replica), o);
}

Found TieredStore::find(std::size_t replica, std::uint64_t key) const {
  for (const std::size_t domain : {tiers_.domain_of(replica), tiers_.shared_domain()}) {
    const ObjectId id = objects_.find(domain, key);
    if (id == kNoObject || objects_.copy(id).tier == kNoTier) continue;
    const StoredCopy& copy = objects_.copy(id);
    if (tiers_.config().keeps_whole && copy.option != 0 && !whole_.has(replica, key)) return {};
    return {id, tiers_.level(copy.tier), copy.option, copy.quality};
  }
  return {};
}

void TieredStore::used(std::span<const ObjectId> own, std::span<const ObjectId> found) {
  Placement& placement = objects_.placement();
  use_chain(own.size(), [&](std::size_t i) {
    placement.used(own[i], simulator_.now());
    if (i < found.size() && found[i] != own[i]) placement.used(found[i], simulator_.now());
  });
}

StoreCounts TieredStore::counts() const {
  StoreCounts counts = counts_;
  counts.moved_bytes = moves_.moved_bytes() + whole_.moved_bytes();
  return counts;
}

TieredStore::LevelUse TieredStore::level_use(std::size_t level) const {
  LevelUse use;
  use.objects_by_option.resize(options_);
  for (TierIndex tier = 0; tier < tiers_.size(); ++tier) {
    if (tiers_.level(tier) != level) continue;
    use.peak_bytes = std::max(use.peak_bytes, objects_.room(tier).peak() + whole_.bytes(tier));
    use.whole_bytes += whole_.bytes(tier);
    use.evictions += objects_.room(tier).evictions();
  }
  for (ObjectId id = 0; id < objects().size(); ++id) {
    const CachedObject& o = objects_[id];
    if (o.tier == kNoTier || tiers_.level(o.tier) != level) continue;
    use.objects_by_option[o.option] += 1;
    use.bytes += objects_.bytes(id, o.option);
    use.full_bytes += o.full_bytes;
  }
  return use;
}

void TieredStore::reset_statistics() {
  counts_ = {};
  moves_.reset_statistics();
  whole_.reset_statistics();
  for (TierIndex tier = 0; tier < tiers_.size(); ++tier) objects_.room(tier).reset_statistics();
}

void TieredStore::load(std::size_t replica, std::span<const ObjectId> found, std::uint64_t owner, Callback done) {
  Loads::Begun begun = loads_.begin(replica, true, done);
  for (const ObjectId id : found) {
    if (loads_.join(begun, id)) {
      counts_.joined_loads += 1;
      continue;
    }
    const StoredCopy& copy = objects_.copy(id);
    KVSIM_ALWAYS(copy.tier != kNoTier, "an object is loaded that is not stored");
    loads_.add(begun, copy.tier, id, objects_.bytes(id, copy.option));
    objects_.begin_read(id);
    counts_.loads += 1;
  }
  loads_.submit(begun, owner, "load");
}

std::pair<TierIndex, ObjectId> TieredStore::source_of(std::size_t replica, const Missing& missing) const {
  const std::uint64_t key = objects_[missing.id].key;
  const Found now = find(replica, key);
  if (now.id != kNoObject && now.option == 0) return {objects_.copy(now.id).tier, now.id};
  KVSIM_ALWAYS(whole_.has(replica, key), "a verification asks for KV that is whole nowhere");
  return {tiers_.last(replica), kNoObject};
}

void TieredStore::load_missing(std::size_t replica, std::span<const Missing> missing, std::uint64_t owner,
                               Callback done) {
  Loads::Begun begun = loads_.begin(replica, false, done);
  for (const Missing& lack : missing) {
    const auto [tier, id] = source_of(replica, lack);
    loads_.add(begun, tier, id, lack.bytes);
    if (id != kNoObject) objects_.begin_read(id);
    counts_.whole_loads += 1;
    counts_.whole_bytes += lack.bytes;
  }
  loads_.submit(begun, owner, "for verification");
}

double TieredStore::load_s(std::size_t replica, std::span<const ObjectId> found) const {
  double s = 0;
  for (const ObjectId id : found) {
    const StoredCopy& copy = objects_.copy(id);
    s += static_cast<double>(objects_.bytes(id, copy.option)) / tiers_.share_bytes_per_s(copy.tier, replica);
  }
  return s;
}

double TieredStore::load_missing_s(std::size_t replica, std::span<const Missing> missing) const {
  double s = 0;
  for (const Missing& lack : missing) {
    s += static_cast<double>(lack.bytes) / tiers_.share_bytes_per_s(source_of(replica, lack).first, replica);
  }
  return s;
}

void TieredStore::store_again(std::size_t replica, ObjectId computed) {
  constexpr std::uint64_t kNobody = UINT64_MAX;
  const Found copy = find(replica, objects_[computed].key);
  if (copy.id != kNoObject) {
    if (objects_.copy(copy.id).busy()) return;
    objects_.drop(copy.id);  // it makes room for nobody
  }
  store(replica, std::span(&computed, 1), {}, kNobody);
  withdraw(kNobody);
}

void TieredStore::on_batch(std::uint64_t id) {
  const Loads::Batch b = loads_.take(id);
  tiers_.observe(b.tier, static_cast<double>(b.bytes), (simulator_.now() - b.since).seconds());
  for (const ObjectId object : b.objects) end_read(object);
  // A chain's first object last, so that it is the most recent one.
  for (std::size_t i = b.shared ? b.objects.size() : 0; i-- > 0;) consider_promotion(b.objects[i], b.replica);
  loads_.finish(b);
}

void TieredStore::end_read(ObjectId id) {
  if (!objects_.end_read(id)) return;
  const StoredCopy& copy = objects_.copy(id);
  if (copy.moved) {
    moves_.finish(copy.move);
  } else if (!copy.moving) {
    objects_.release(id);
    stores_.retry_soon();
  }
}

/// It is on the replica now, and passed through host memory on its way.
void TieredStore::consider_promotion(ObjectId id, std::size_t replica) {
  const StoredCopy& copy = objects_.copy(id);
  if (copy.busy() || objects_[id].tier == kNoTier) return;
  const std::int64_t bytes = objects_.bytes(id, copy.option);
  for (TierIndex to = tiers_.first(replica); to != copy.tier; to = tiers_.facts()[to].next) {
    const std::int64_t capacity = tiers_.facts()[to].capacity_bytes;
    const std::int64_t free = capacity - objects_.room(to).assigned();
    if (bytes > capacity || !objects_.placement().promotes(id, to, bytes, free)) continue;
    promote(id, replica, to);
    return;
  }
}

/// To a tier that is not shared from one that is, it is copied: others may read it there.
void TieredStore::promote(ObjectId id, std::size_t replica, TierIndex to) {
  ObjectId there = id;
  if (tiers_.domain(objects_.copy(id).tier) != tiers_.domain(to)) {
    there = objects_.name_in(tiers_.domain_of(replica), objects_[id]);
    if (objects_.taken(there)) return;
    objects_.placement().renamed(id, there);
  }
  const StoredCopy copy = objects_.copy(id);
  objects_.hold(id);  // what makes room further down must not be this
  const Stores::Room room = stores_.make_room(to, objects_.bytes(id, copy.option), there);
  objects_.release(id);
  if (room != Stores::Room::made) return;
  objects_.place(there, to, copy.option, copy.quality);
  objects_.put_copy(there);
  counts_.promotions += 1;
}

}  // namespace kvsim::cache
