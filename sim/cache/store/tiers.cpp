#include "sim/cache/store/tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kvsim::cache {

using engine::Callback;
using transport::LinkId;

namespace {

std::string replica_name(std::size_t replica) {
  return fmt::format("replica {}", replica);
}

}  // namespace

Tiers::Tiers(const engine::Simulator& simulator, transport::Fabric& fabric, const StoreConfig& config,
             Callback believed)
    : simulator_(simulator), fabric_(fabric), config_(config), believed_(believed) {
  if (config.tiers.empty() || config.replicas == 0) throw std::invalid_argument("a store needs tiers and replicas");
  for (std::size_t i = 0; i + 1 < config.tiers.size(); ++i) {
    const bool shared_above = config.tiers[i].shared && !config.tiers[i + 1].shared;
    if (!config.tiers[i].capacity_bytes) throw std::invalid_argument("only the last tier may be without end");
    if (shared_above) throw std::invalid_argument("below a shared tier all are shared");
  }
  const std::vector<Route> to_gpu = make_host_links();
  const auto shared = std::find_if(config_.tiers.begin(), config_.tiers.end(), [](const auto& t) { return t.shared; });
  const auto first_shared = static_cast<std::size_t>(shared - config_.tiers.begin());
  const std::size_t all = config_.replicas * first_shared + (config_.tiers.size() - first_shared);
  if (all >= kNoTier) throw std::invalid_argument("too many tiers");
  // Tiers of the first replica, of the second, ...; then the shared ones.
  for (std::size_t r = 0; r < config_.replicas; ++r) {
    first_.push_back(static_cast<TierIndex>(r * first_shared));
    for (std::size_t level = 0; level < first_shared; ++level) add_tier(level, r, to_gpu);
  }
  const std::size_t shared_begin = tiers_.size();
  for (std::size_t level = first_shared; level < config_.tiers.size(); ++level)
    add_tier(level, shared_domain(), to_gpu);
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    facts_[i].read_bytes_per_s = nominal_bandwidth(static_cast<TierIndex>(i));
    if (tiers_[i].level + 1 == config_.tiers.size()) continue;
    facts_[i].next = static_cast<TierIndex>(tiers_[i].level + 1 == first_shared ? shared_begin : i + 1);
  }
}

std::string Tiers::group_name(std::size_t replica) const {
  return config_.lanes.empty() ? replica_name(replica) : config_.lanes[replica].to_gpu->config().group;
}

/// Those towards each replica's GPUs.
std::vector<Tiers::Route> Tiers::make_host_links() {
  std::vector<Route> routes;
  for (const transport::GroupLanes& lanes : config_.lanes) {
    routes.push_back(lanes.to_gpu->config().route);
    gpu_to_host_.push_back(lanes.from_gpu);
  }
  if (!routes.empty()) return routes;
  const auto latency = engine::from_seconds(config_.host_latency_s);
  const auto setup = engine::from_seconds(config_.host_setup_s);
  std::vector<LinkId> all;
  for (std::size_t r = 0; r < config_.replicas; ++r) {
    const LinkId to_gpu = fabric_.link("host_to_gpu", replica_name(r), config_.host_to_gpu_bytes_per_s);
    routes.push_back({to_gpu});
    const LinkId to_host = fabric_.link("gpu_to_host", replica_name(r), config_.gpu_to_host_bytes_per_s);
    gpu_to_host_.push_back(&fabric_.add_lane(
        {replica_name(r), "host link, from the GPU", {to_host}, latency, setup, config_.host_queueing}));
    all.insert(all.end(), {to_gpu, to_host});
  }
  fabric_.plan_outages(all, config_.host_outages, Callback::to<&Tiers::believe_nominal>(this));
  return routes;
}

void Tiers::add_tier(std::size_t level, std::size_t domain, const std::vector<Route>& to_gpu) {
  const StoreTier& t = config_.tiers[level];
  const bool own = domain != shared_domain();
  Tier tier;
  tier.level = level;
  tier.domain = domain;
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
LinkId Tiers::add_device_links(Tier& tier, const StoreTier& t) {
  const std::string owner = tier.domain == shared_domain() ? "shared tiers" : replica_name(tier.domain);
  const auto latency = engine::from_seconds(t.latency_s);
  const LinkId read = fabric_.link(fmt::format("{}_read", t.name), owner, t.read_bytes_per_s);
  const LinkId write = fabric_.link(fmt::format("{}_write", t.name), owner, t.write_bytes_per_s);
  tier.read_down = &fabric_.add_lane({owner, fmt::format("{}, read for the next tier", t.name), {read}, latency});
  tier.write = &fabric_.add_lane({owner, fmt::format("{}, written", t.name), {write}, latency});
  fabric_.plan_outages({read, write}, t.outages, Callback::to<&Tiers::believe_nominal>(this));
  return read;
}

/// From a tier to a replica's GPUs.
transport::Lane* Tiers::add_load_lane(const StoreTier& t, std::optional<LinkId> read, const Route& to_gpu,
                                      std::size_t replica) {
  if (t.kind == TierKind::host && !config_.lanes.empty()) return config_.lanes[replica].to_gpu;
  transport::LaneConfig lane{group_name(replica), fmt::format("load from {}", t.name), {}};
  if (t.kind == TierKind::gpu) {
    lane.route = {fabric_.link("within_gpu", replica_name(replica), t.read_bytes_per_s)};
    return &fabric_.add_lane(std::move(lane));
  }
  if (read) lane.route.push_back(*read);
  lane.route.insert(lane.route.end(), to_gpu.begin(), to_gpu.end());
  lane.latency = engine::from_seconds(config_.host_latency_s);
  lane.setup = engine::from_seconds(config_.host_setup_s);
  if (!config_.lanes.empty()) {
    lane.latency = config_.lanes[replica].to_gpu->config().latency;
    lane.setup = config_.lanes[replica].to_gpu->config().setup;
  }
  lane.latency = engine::from_seconds(t.latency_s) + lane.latency;
  if (t.kind != TierKind::device) lane.queueing = config_.host_queueing;
  return &fabric_.add_lane(std::move(lane));
}

double Tiers::nominal_bandwidth(TierIndex tier) const {
  constexpr double kStandstill = 1.0;  // bytes/s: to whoever plans with it, a dead link is a very slow one
  return std::max(tiers_[tier].loads.front()->bandwidth(), kStandstill);
}

/// A bandwidth changed.
void Tiers::believe_nominal() {
  if (config_.observed_bandwidth) return;  // loads will tell
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    facts_[i].read_bytes_per_s = nominal_bandwidth(static_cast<TierIndex>(i));
  }
  believed_();
}

TierIndex Tiers::last(std::size_t replica) const {
  TierIndex tier = first_[replica];
  while (facts_[tier].next != kNoTier) tier = facts_[tier].next;
  return tier;
}

transport::Lane& Tiers::load(TierIndex tier, std::size_t replica) const {
  const Tier& t = tiers_[tier];
  return *(t.domain == shared_domain() ? t.loads[replica] : t.loads.front());
}

/// What loads got lately, their waiting included: the mean over some twenty of them.
void Tiers::observe(TierIndex tier, double bytes, double seconds) {
  if (!config_.observed_bandwidth) return;
  constexpr double kPast = 0.95;
  constexpr double kNoticed = 0.1;       // share by which it must have changed
  constexpr double kBetweenLooks_s = 1;  // new beliefs cost a look at every object
  Tier& t = tiers_[tier];
  const double transfer_s = seconds - facts_[tier].read_latency_s;
  if (bytes <= 0 || transfer_s <= 0) return;
  const double rate = bytes / transfer_s;
  t.observed_bytes_per_s = t.observed_bytes_per_s > 0 ? kPast * t.observed_bytes_per_s + (1 - kPast) * rate : rate;
  const double believed = facts_[tier].read_bytes_per_s;
  if (std::abs(t.observed_bytes_per_s - believed) <= kNoticed * believed) return;
  if ((simulator_.now() - believed_at_).seconds() < kBetweenLooks_s) return;
  believed_at_ = simulator_.now();
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    if (tiers_[i].observed_bytes_per_s > 0) facts_[i].read_bytes_per_s = tiers_[i].observed_bytes_per_s;
  }
  believed_();
}

}  // namespace kvsim::cache
