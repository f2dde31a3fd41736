#include "sim/cache/store/tiers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace kvsim::cache {

using engine::Callback;
using transport::LinkId;

Tiers::Tiers(const engine::Simulator& simulator, transport::Fabric& fabric, const StoreConfig& config,
             Callback believed)
    : simulator_(simulator), fabric_(fabric), config_(config), believed_(believed) {
  if (config.tiers.empty() || config.lanes.empty()) throw std::invalid_argument("a store needs tiers and replicas");
  for (std::size_t i = 0; i + 1 < config.tiers.size(); ++i) {
    const bool shared_above = config.tiers[i].shared && !config.tiers[i + 1].shared;
    if (!config.tiers[i].capacity_bytes) throw std::invalid_argument("only the last tier may be without end");
    if (shared_above) throw std::invalid_argument("below a shared tier all are shared");
  }
  plan_host_outages();
  const auto shared = std::find_if(config_.tiers.begin(), config_.tiers.end(), [](const auto& t) { return t.shared; });
  const auto first_shared = static_cast<std::size_t>(shared - config_.tiers.begin());
  const std::size_t all = replicas() * first_shared + (config_.tiers.size() - first_shared);
  if (all >= kNoTier) throw std::invalid_argument("too many tiers");
  // Tiers of the first replica, of the second, ...; then the shared ones.
  for (std::size_t r = 0; r < replicas(); ++r) {
    first_.push_back(static_cast<TierIndex>(r * first_shared));
    for (std::size_t level = 0; level < first_shared; ++level) add_tier(level, r);
  }
  const std::size_t shared_begin = tiers_.size();
  for (std::size_t level = first_shared; level < config_.tiers.size(); ++level) add_tier(level, shared_domain());
  for (std::size_t i = 0; i < tiers_.size(); ++i) {
    facts_[i].read_bytes_per_s = nominal_bandwidth(static_cast<TierIndex>(i));
    if (tiers_[i].level + 1 == config_.tiers.size()) continue;
    facts_[i].next = static_cast<TierIndex>(tiers_[i].level + 1 == first_shared ? shared_begin : i + 1);
  }
}

void Tiers::plan_host_outages() {
  std::vector<LinkId> all;
  for (const transport::GroupLanes& lanes : config_.lanes) {
    all.insert(all.end(), {lanes.to_gpu->config().route.front(), lanes.from_gpu->config().route.front()});
  }
  fabric_.plan_outages(all, config_.host_outages, Callback::to<&Tiers::believe_nominal>(this));
}

void Tiers::add_tier(std::size_t level, std::size_t domain) {
  const StoreTier& t = config_.tiers[level];
  const bool own = domain != shared_domain();
  Tier tier;
  tier.level = level;
  tier.domain = domain;
  std::optional<LinkId> read;
  if (t.kind == TierKind::device) read = add_device_links(tier, t);
  for (std::size_t r = own ? domain : 0; r < (own ? domain + 1 : replicas()); ++r) {
    tier.loads.push_back(add_load_lane(t, read, r));
    if (t.kind == TierKind::gpu) tier.read_down = &to_host(r);
  }
  tiers_.push_back(std::move(tier));
  TierFacts facts;
  facts.name = t.name;
  facts.read_latency_s =
      t.latency_s + (t.kind == TierKind::gpu ? 0 : to_gpu(0).latency.seconds() + to_gpu(0).setup.seconds());
  if (t.capacity_bytes) {
    const double usable = static_cast<double>(*t.capacity_bytes) * (1 - config_.in_transit);
    facts.capacity_bytes = static_cast<std::int64_t>(std::floor(usable));
  }
  facts_.push_back(std::move(facts));
}

/// Returns the link that reads cross.
LinkId Tiers::add_device_links(Tier& tier, const StoreTier& t) {
  const std::string owner = tier.domain == shared_domain() ? "shared tiers" : to_gpu(tier.domain).group;
  const auto latency = engine::from_seconds(t.latency_s);
  const LinkId read = fabric_.link(fmt::format("{}_read", t.name), owner, t.read_bytes_per_s);
  const LinkId write = fabric_.link(fmt::format("{}_write", t.name), owner, t.write_bytes_per_s);
  tier.read_down = &fabric_.add_lane({owner, fmt::format("{}, read for the next tier", t.name), {read}, latency});
  tier.write = &fabric_.add_lane({owner, fmt::format("{}, written", t.name), {write}, latency});
  fabric_.plan_outages({read, write}, t.outages, Callback::to<&Tiers::believe_nominal>(this));
  return read;
}

/// From a tier to a replica's GPUs.
transport::Lane* Tiers::add_load_lane(const StoreTier& t, std::optional<LinkId> read, std::size_t replica) {
  if (t.kind == TierKind::host) return config_.lanes[replica].to_gpu;
  const transport::LaneConfig& host = to_gpu(replica);
  transport::LaneConfig lane{host.group, fmt::format("load from {}", t.name), host.route, host.latency, host.setup};
  if (t.kind == TierKind::gpu) {
    lane.route = {fabric_.link("within_gpu", lane.group, t.read_bytes_per_s)};
    lane.latency = lane.setup = {};
    return &fabric_.add_lane(std::move(lane));
  }
  if (read) lane.route.insert(lane.route.begin(), *read);
  lane.latency = engine::from_seconds(t.latency_s) + lane.latency;
  return &fabric_.add_lane(std::move(lane));
}

constexpr double kStandstill = 1.0;  // bytes/s: to whoever plans with it, a dead link is a very slow one

double Tiers::share_bytes_per_s(TierIndex tier, std::size_t replica) const {
  const double route = load(tier, replica).bandwidth();
  const bool shared = tiers_[tier].domain == shared_domain() && spec(tier).kind == TierKind::device;
  if (!shared) return std::max(route, kStandstill);
  return std::max(std::min(route, tiers_[tier].read_down->bandwidth() / static_cast<double>(replicas())), kStandstill);
}

double Tiers::nominal_bandwidth(TierIndex tier) const {
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

/// Updates the bandwidth that loads got lately, their waiting included: the mean over some twenty of them.
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
