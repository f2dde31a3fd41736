#include "sim/cache/store/tiered_store.h"

#include <algorithm>
#include <stdexcept>

#include "sim/engine/invariant.h"

namespace kvsim::cache {

TieredStore::TieredStore(engine::Simulator& simulator, engine::TraceSink* trace, const StoreConfig& config,
                         const models::OptionPool& pool, const models::QualityTable& profiled,
                         const MakePlacement& make_placement)
    : simulator_(simulator),
      config_(config),
      pool_(pool),
      profiled_(profiled),
      network_(simulator, trace),
      workers_(simulator, std::max<std::size_t>(config.workers, 1)) {
  if (config.tiers.empty() || config.replicas == 0) throw std::invalid_argument("a store needs tiers and replicas");
  for (std::size_t i = 0; i + 1 < config.tiers.size(); ++i) {
    const bool shared_above = config.tiers[i].shared && !config.tiers[i + 1].shared;
    if (!config.tiers[i].capacity_bytes) throw std::invalid_argument("only the last tier may be without end");
    if (shared_above) throw std::invalid_argument("below a shared tier all are shared");
  }
  set_up();
  placement_ = make_placement(objects_, facts_);
}

std::size_t TieredStore::domain_of(std::size_t replica) const {
  return tiers_[first_tier_[replica]].domain;
}

double TieredStore::nominal_bandwidth(TierIndex tier) const {
  constexpr double kStandstill = 1.0;  // bytes/s: to whoever plans with it, a dead link is a very slow one
  return std::max(network_.bandwidth(tiers_[tier].loads.front()), kStandstill);
}

/// A bandwidth changed.
void TieredStore::believe_nominal() {
  if (config_.observed_bandwidth) return;  // loads will tell
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    facts_[i].read_bytes_per_s = nominal_bandwidth(static_cast<TierIndex>(i));
  }
  placement_->tiers_changed();
}

LaneId TieredStore::load_lane(TierIndex tier, std::size_t replica) const {
  const Tier& t = tiers_[tier];
  return t.domain == shared_domain_ ? t.loads[replica] : t.loads.front();
}

ObjectId TieredStore::object(std::size_t replica, std::uint64_t key, std::int64_t full_bytes, std::int64_t tokens,
                             models::CurveIndex curve, float share) {
  CachedObject o;
  o.key = key;
  o.full_bytes = full_bytes;
  o.tokens = tokens;
  o.curve = curve;
  o.share = share;
  return name_in(domain_of(replica), o);
}

/// The object of the same content in these tiers.
ObjectId TieredStore::name_in(std::size_t domain, const CachedObject& like) {
  const auto [at, is_new] = names_[domain].try_emplace(like.key, static_cast<ObjectId>(objects_.size()));
  if (is_new) {
    KVSIM_ALWAYS(objects_.size() < kNoObject, "too many objects");
    CachedObject o = like;
    o.tier = kNoTier;
    o.option = 0;
    o.quality = 1;
    objects_.push_back(o);
    copies_.emplace_back();
    domains_.push_back(domain);
  }
  return at->second;
}

Found TieredStore::find(std::size_t replica, std::uint64_t key) const {
  const std::size_t own = domain_of(replica);
  for (const std::size_t domain : {own, shared_domain_}) {
    const auto at = names_[domain].find(key);
    if (at != names_[domain].end() && copies_[at->second].tier != kNoTier) {
      const Copy& copy = copies_[at->second];
      if (config_.keeps_whole && copy.option != 0 && !has_whole(replica, key)) return {};
      return {at->second, tiers_[copy.tier].level, copy.option, copy.quality};
    }
    if (own == shared_domain_) break;
  }
  return {};
}

void TieredStore::used(std::span<const ObjectId> own, std::span<const ObjectId> found) {
  for (std::size_t i = own.size(); i-- > 0;) {
    placement_->used(own[i], simulator_.now());
    if (i < found.size() && found[i] != own[i]) placement_->used(found[i], simulator_.now());
  }
}

void TieredStore::profile_changed(models::CurveIndex curve, std::uint64_t key) {
  for (const auto& names : names_) {
    const auto at = names.find(key);
    if (at == names.end()) continue;
    CachedObject& o = objects_[at->second];
    Copy& copy = copies_[at->second];
    o.quality = profiled_.quality(o.curve, o.option);
    copy.quality = profiled_.quality(o.curve, copy.option);
  }
  placement_->profile_changed(curve);
}

TieredStore::LevelUse TieredStore::level_use(std::size_t level) const {
  LevelUse use;
  use.objects_by_option.resize(pool_.size());
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    const Tier& t = tiers_[i];
    if (t.level != level) continue;
    use.peak_bytes = std::max(use.peak_bytes, t.peak + whole_bytes_[i]);
    use.whole_bytes += whole_bytes_[i];
    use.evictions += t.evictions;
  }
  for (ObjectId id = 0; id < objects_.size(); ++id) {
    const CachedObject& o = objects_[id];
    if (o.tier == kNoTier || tiers_[o.tier].level != level) continue;
    use.objects_by_option[o.option] += 1;
    use.bytes += bytes_of(id, o.option);
    use.full_bytes += o.full_bytes;
  }
  return use;
}

void TieredStore::reset_statistics() {
  for (Tier& t : tiers_) {
    t.peak = t.assigned + t.leaving;
    t.evictions = 0;
  }
}

void TieredStore::check_conservation() {
  network_.check_conservation();
  std::vector<std::int64_t> assigned(tiers_.size()), leaving(tiers_.size());
  for (ObjectId id = 0; id < objects_.size(); ++id) {
    const CachedObject& o = objects_[id];
    const Copy& c = copies_[id];
    if (o.tier != kNoTier) assigned[o.tier] += bytes_of(id, o.option);
    if (c.tier != kNoTier) leaving[c.tier] += bytes_of(id, c.option) - (c.tier == o.tier ? bytes_of(id, o.option) : 0);
    KVSIM_ALWAYS(c.moving || (c.tier == o.tier && c.option == o.option),
                 "an object is not where it belongs, and nothing moves it");
  }
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    KVSIM_ALWAYS(assigned[i] == tiers_[i].assigned, "bytes that belong to a tier differ from the sum over objects");
    KVSIM_ALWAYS(leaving[i] == tiers_[i].leaving, "bytes that leave a tier differ from the sum over objects");
    KVSIM_ALWAYS(!tiers_[i].capacity || tiers_[i].assigned + tiers_[i].leaving <= *tiers_[i].capacity,
                 "a tier holds more than its capacity");
  }
}

}  // namespace kvsim::cache
