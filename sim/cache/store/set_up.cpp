// The links and tiers of a store: what is made once, before anything is stored.
#include <algorithm>
#include <cmath>
#include <stdexcept>

#include <fmt/format.h>

#include "sim/cache/store/tiered_store.h"

namespace kvsim::cache {

using engine::Callback;
using engine::NetworkLinkId;

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
  const std::vector<NetworkLinkId> to_gpu = make_host_links();
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
std::vector<NetworkLinkId> TieredStore::make_host_links() {
  const auto latency = engine::from_seconds(config_.host_latency_s);
  const auto setup = engine::from_seconds(config_.host_setup_s);
  std::vector<NetworkLinkId> to_gpu, all;
  for (std::size_t r = 0; r < config_.replicas; ++r) {
    to_gpu.push_back(network_.add_link("host_to_gpu", config_.host_to_gpu_bytes_per_s));
    const NetworkLinkId to_host = network_.add_link("gpu_to_host", config_.gpu_to_host_bytes_per_s);
    gpu_to_host_.push_back(network_.add_lane(
        {replica_name(r), "host link, from the GPU", {to_host}, latency, setup, config_.serial_host_link}));
    all.insert(all.end(), {to_gpu.back(), to_host});
  }
  if (!config_.host_changes.empty()) {
    network_.plan_changes(all, config_.host_changes, Callback::to<&TieredStore::believe_nominal>(this));
  }
  return to_gpu;
}

void TieredStore::add_tier(std::size_t level, std::size_t domain, const std::vector<NetworkLinkId>& to_gpu) {
  const StoreTier& t = config_.tiers[level];
  const bool own = domain != shared_domain_;
  Tier tier;
  tier.level = level;
  tier.domain = domain;
  tier.capacity = t.capacity_bytes;
  std::optional<NetworkLinkId> read;
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
NetworkLinkId TieredStore::add_device_links(Tier& tier, const StoreTier& t) {
  const std::string owner = tier.domain == shared_domain_ ? "shared tiers" : replica_name(tier.domain);
  const auto latency = engine::from_seconds(t.latency_s);
  const NetworkLinkId read = network_.add_link(fmt::format("{}_read", t.name), t.read_bytes_per_s);
  const NetworkLinkId write = network_.add_link(fmt::format("{}_write", t.name), t.write_bytes_per_s);
  tier.read_down =
      network_.add_lane({owner, fmt::format("{}, read for the next tier", t.name), {read}, latency, {}, true});
  tier.write = network_.add_lane({owner, fmt::format("{}, written", t.name), {write}, latency, {}, true});
  if (!t.changes.empty()) {
    network_.plan_changes({read, write}, t.changes, Callback::to<&TieredStore::believe_nominal>(this));
  }
  return read;
}

/// From a tier to a replica's GPUs.
LaneId TieredStore::add_load_lane(const StoreTier& t, std::optional<NetworkLinkId> read, NetworkLinkId to_gpu,
                                  std::size_t replica) {
  TierNetwork::LaneConfig lane{replica_name(replica), fmt::format("load from {}", t.name), {}, {}, {}, true};
  if (t.kind == TierKind::gpu) {
    lane.route = {network_.add_link("within_gpu", t.read_bytes_per_s)};
    return network_.add_lane(std::move(lane));
  }
  if (read) lane.route.push_back(*read);
  lane.route.push_back(to_gpu);
  lane.latency = engine::from_seconds(t.latency_s) + engine::from_seconds(config_.host_latency_s);
  lane.setup = engine::from_seconds(config_.host_setup_s);
  lane.serial = t.kind == TierKind::device || config_.serial_host_link;
  return network_.add_lane(std::move(lane));
}

}  // namespace kvsim::cache
