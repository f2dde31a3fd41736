#include "sim/cache/store/tiered_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "sim/engine/invariant.h"

namespace kvsim::cache {

// The links and tiers of a store: what is made once, before anything is stored.

using engine::Callback;
using transport::LinkId;

namespace {

std::string replica_name(std::size_t replica) {
  return fmt::format("replica {}", replica);
}

}  // namespace

void TieredStore::set_up() {
  const std::size_t replicas = config_.replicas;
  shared_domain_ = replicas;
  names_.resize(replicas + 1);
  whole_.resize(replicas + 1);
  const std::vector<LinkId> to_gpu = make_host_links();
  const auto shared = std::find_if(config_.tiers.begin(), config_.tiers.end(), [](const auto& t) { return t.shared; });
  const auto first_shared = static_cast<std::size_t>(shared - config_.tiers.begin());
  const std::size_t all = replicas * first_shared + (config_.tiers.size() - first_shared);
  if (all >= kNoTier) throw std::invalid_argument("too many tiers");
  // Tiers of the first replica, of the second, ...; then the shared ones.
  for (std::size_t r = 0; r < replicas; ++r) {
    first_tier_.push_back(static_cast<TierIndex>(r * first_shared));
    for (std::size_t level = 0; level < first_shared; ++level) add_tier(level, r, to_gpu);
  }
  const std::size_t shared_begin = tiers_.size();
  for (std::size_t level = first_shared; level < config_.tiers.size(); ++level) add_tier(level, shared_domain_, to_gpu);
  whole_bytes_.assign(tiers_.size(), 0);
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    facts_[i].read_bytes_per_s = nominal_bandwidth(static_cast<TierIndex>(i));
    if (tiers_[i].level + 1 == config_.tiers.size()) continue;
    facts_[i].next = static_cast<TierIndex>(tiers_[i].level + 1 == first_shared ? shared_begin : i + 1);
  }
}

/// Those towards each replica's GPUs.
std::vector<LinkId> TieredStore::make_host_links() {
  const auto latency = engine::from_seconds(config_.host_latency_s);
  const auto setup = engine::from_seconds(config_.host_setup_s);
  std::vector<LinkId> to_gpu, all;
  for (std::size_t r = 0; r < config_.replicas; ++r) {
    to_gpu.push_back(fabric_.link("host_to_gpu", replica_name(r), config_.host_to_gpu_bytes_per_s));
    const LinkId to_host = fabric_.link("gpu_to_host", replica_name(r), config_.gpu_to_host_bytes_per_s);
    gpu_to_host_.push_back(&fabric_.add_lane(
        {replica_name(r), "host link, from the GPU", {to_host}, latency, setup, config_.host_queueing}));
    all.insert(all.end(), {to_gpu.back(), to_host});
  }
  fabric_.plan_outages(all, config_.host_outages, Callback::to<&TieredStore::believe_nominal>(this));
  return to_gpu;
}

void TieredStore::add_tier(std::size_t level, std::size_t domain, const std::vector<LinkId>& to_gpu) {
  const StoreTier& t = config_.tiers[level];
  const bool own = domain != shared_domain_;
  Tier tier;
  tier.level = level;
  tier.domain = domain;
  tier.capacity = t.capacity_bytes;
  std::optional<LinkId> read;
  if (t.kind == TierKind::device) read = add_device_links(tier, t);
  for (std::size_t r = own ? domain : 0; r < (own ? domain + 1 : config_.replicas); ++r) {
    tier.loads.push_back(add_load_lane(t, read, to_gpu[r], r));
    if (t.kind == TierKind::gpu) tier.read_down = gpu_to_host_[r];
  }
  tiers_.push_back(std::move(tier));
  TierFacts facts;
  facts.name = t.name;
  facts.read_latency_s = t.latency_s + (t.kind == TierKind::gpu ? 0 : config_.host_latency_s + config_.host_setup_s);
  if (t.capacity_bytes) {
    const double usable = static_cast<double>(*t.capacity_bytes) * (1 - config_.in_transit);
    facts.capacity_bytes = static_cast<std::int64_t>(std::floor(usable));
  }
  facts_.push_back(std::move(facts));
}

/// Returns the link that reads cross.
LinkId TieredStore::add_device_links(Tier& tier, const StoreTier& t) {
  const std::string owner = tier.domain == shared_domain_ ? "shared tiers" : replica_name(tier.domain);
  const auto latency = engine::from_seconds(t.latency_s);
  const LinkId read = fabric_.link(fmt::format("{}_read", t.name), owner, t.read_bytes_per_s);
  const LinkId write = fabric_.link(fmt::format("{}_write", t.name), owner, t.write_bytes_per_s);
  tier.read_down = &fabric_.add_lane({owner, fmt::format("{}, read for the next tier", t.name), {read}, latency});
  tier.write = &fabric_.add_lane({owner, fmt::format("{}, written", t.name), {write}, latency});
  fabric_.plan_outages({read, write}, t.outages, Callback::to<&TieredStore::believe_nominal>(this));
  return read;
}

/// From a tier to a replica's GPUs.
transport::Lane* TieredStore::add_load_lane(const StoreTier& t, std::optional<LinkId> read, LinkId to_gpu,
                                            std::size_t replica) {
  transport::LaneConfig lane{replica_name(replica), fmt::format("load from {}", t.name), {}};
  if (t.kind == TierKind::gpu) {
    lane.route = {fabric_.link("within_gpu", replica_name(replica), t.read_bytes_per_s)};
    return &fabric_.add_lane(std::move(lane));
  }
  if (read) lane.route.push_back(*read);
  lane.route.push_back(to_gpu);
  lane.latency = engine::from_seconds(t.latency_s) + engine::from_seconds(config_.host_latency_s);
  lane.setup = engine::from_seconds(config_.host_setup_s);
  if (t.kind != TierKind::device) lane.queueing = config_.host_queueing;
  return &fabric_.add_lane(std::move(lane));
}

TieredStore::TieredStore(engine::Simulator& simulator, transport::Fabric& fabric, const StoreConfig& config,
                         const models::OptionPool& pool, const models::QualityTable& profiled,
                         const MakePlacement& make_placement)
    : simulator_(simulator),
      config_(config),
      pool_(pool),
      profiled_(profiled),
      fabric_(fabric),
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
  return std::max(tiers_[tier].loads.front()->bandwidth(), kStandstill);
}

/// A bandwidth changed.
void TieredStore::believe_nominal() {
  if (config_.observed_bandwidth) return;  // loads will tell
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    facts_[i].read_bytes_per_s = nominal_bandwidth(static_cast<TierIndex>(i));
  }
  placement_->tiers_changed();
}

transport::Lane& TieredStore::load_lane(TierIndex tier, std::size_t replica) const {
  const Tier& t = tiers_[tier];
  return *(t.domain == shared_domain_ ? t.loads[replica] : t.loads.front());
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
