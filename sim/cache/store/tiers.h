// The tiers of a store as they are made: the lanes to and from each of them, and what a placement is told about them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/cache/placement/placement.h"
#include "sim/engine/simulator.h"
#include "sim/transport/fabric.h"

namespace kvsim::cache {

// Parts of a tiered store: replicas, each with its links to host memory, and tiers from the fastest down.

enum class TierKind {
  gpu,    ///< a part of a replica's GPU memory: read by copying within it
  host,   ///< host memory: read and written over the replica's links
  device  ///< below host memory: crosses its own links and host memory
};

struct StoreTier {
  std::string name;
  TierKind kind = TierKind::host;
  std::optional<std::int64_t> capacity_bytes;  ///< of each; none: without end
  double read_bytes_per_s = 0;                 ///< device; gpu: of copies within it
  double write_bytes_per_s = 0;                ///< device
  double latency_s = 0;                        ///< device: of every read and write
  bool shared = false;                         ///< one for all replicas, else one each; below a shared tier all are
  std::vector<transport::Outage> outages{};    ///< device: of its links
};

struct StoreConfig {
  /// Lanes of each replica, between its GPUs and its tier of kind host, with its latency and setup. Whatever comes from
  /// or goes to a device crosses the same links.
  std::vector<transport::GroupLanes> lanes{};
  std::vector<transport::Outage> host_outages{};  ///< of their links
  std::vector<StoreTier> tiers{};                 ///< fastest first; only the last may be without end
  std::size_t workers = 1;                        ///< that compress, for all replicas together
  double in_transit = 0.1;                        ///< share of a tier's capacity kept for what is on its way out of it
  bool keeps_whole = false;         ///< what is stored is also kept whole in the last tier, which is without end
  bool observed_bandwidth = false;  ///< what the placement takes a tier's bandwidth to be: what loads got lately
};

/// A domain is a set of tiers that know the same objects: those of one replica, or those that all share.
class Tiers {
 public:
  /// `simulator` and `fabric`, whose the links and lanes are, outlive the tiers. `believed` runs whenever facts() have
  /// changed. Throws std::invalid_argument where the tiers make no sense.
  Tiers(const engine::Simulator& simulator, transport::Fabric& fabric, const StoreConfig& config,
        engine::Callback believed);
  Tiers(const Tiers&) = delete;
  Tiers& operator=(const Tiers&) = delete;

  [[nodiscard]] const StoreConfig& config() const { return config_; }
  [[nodiscard]] std::size_t size() const { return tiers_.size(); }
  /// By tier.
  [[nodiscard]] const std::vector<TierFacts>& facts() const { return facts_; }
  [[nodiscard]] const StoreTier& spec(TierIndex tier) const { return config_.tiers[tiers_[tier].level]; }
  /// Level of the tier in StoreConfig::tiers.
  [[nodiscard]] std::size_t level(TierIndex tier) const { return tiers_[tier].level; }
  [[nodiscard]] std::size_t domain(TierIndex tier) const { return tiers_[tier].domain; }
  [[nodiscard]] std::size_t replicas() const { return config_.lanes.size(); }
  [[nodiscard]] std::size_t shared_domain() const { return replicas(); }

  /// A replica's highest and lowest tier, and the domain of the highest.
  [[nodiscard]] TierIndex first(std::size_t replica) const { return first_[replica]; }
  [[nodiscard]] TierIndex last(std::size_t replica) const;
  [[nodiscard]] std::size_t domain_of(std::size_t replica) const { return tiers_[first_[replica]].domain; }

  /// From the tier to the replica's GPUs.
  [[nodiscard]] transport::Lane& load(TierIndex tier, std::size_t replica) const;
  /// Bandwidth that a replica may count on now, of the links from the tier to its GPUs; above 0.
  [[nodiscard]] double share_bytes_per_s(TierIndex tier, std::size_t replica) const;
  /// From the tier to host memory, for what moves to another one; null: it is there.
  [[nodiscard]] transport::Lane* read_down(TierIndex tier) const { return tiers_[tier].read_down; }
  /// From host memory to the tier; null: it is there.
  [[nodiscard]] transport::Lane* write(TierIndex tier) const { return tiers_[tier].write; }
  /// From the replica's GPUs to host memory.
  [[nodiscard]] transport::Lane& to_host(std::size_t replica) const { return *config_.lanes[replica].from_gpu; }

  /// A load from the tier took so long.
  void observe(TierIndex tier, double bytes, double seconds);

 private:
  struct Tier {
    std::size_t level = 0;
    std::size_t domain = 0;
    std::vector<transport::Lane*> loads;   // to each replica that can read it; one where the tier is a replica's own
    transport::Lane* read_down = nullptr;  // device, gpu
    transport::Lane* write = nullptr;      // device
    double observed_bytes_per_s = 0;
  };

  [[nodiscard]] const transport::LaneConfig& to_gpu(std::size_t replica) const {
    return config_.lanes[replica].to_gpu->config();
  }
  void plan_host_outages();
  void add_tier(std::size_t level, std::size_t domain);
  transport::LinkId add_device_links(Tier& tier, const StoreTier& t);
  transport::Lane* add_load_lane(const StoreTier& t, std::optional<transport::LinkId> read, std::size_t replica);
  [[nodiscard]] double nominal_bandwidth(TierIndex tier) const;
  void believe_nominal();

  const engine::Simulator& simulator_;
  transport::Fabric& fabric_;
  StoreConfig config_;
  engine::Callback believed_;
  std::vector<Tier> tiers_;
  std::vector<TierFacts> facts_;
  std::vector<TierIndex> first_;  // by replica
  engine::SimTime believed_at_;
};

}  // namespace kvsim::cache
