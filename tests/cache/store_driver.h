// A tiered store on a simulator of its own, and what tests do with one.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "models/schemas.h"
#include "sim/cache/placement/placements.h"
#include "sim/cache/store/tiered_store.h"
#include "sim/engine/simulator.h"

namespace kvsim::cache {

inline constexpr std::int64_t kGigabyte = 1'000'000'000;

inline StoreTier host_tier(std::int64_t capacity_bytes, bool shared = false) {
  StoreTier t;
  t.name = "host";
  t.capacity_bytes = capacity_bytes;
  t.shared = shared;
  return t;
}

/// Reads at 2 GB/s, writes at 1 GB/s.
inline StoreTier device_tier(const std::string& name, std::optional<std::int64_t> capacity_bytes = std::nullopt,
                             bool shared = false) {
  StoreTier t;
  t.name = name;
  t.kind = TierKind::device;
  t.capacity_bytes = capacity_bytes;
  t.read_bytes_per_s = 2e9;
  t.write_bytes_per_s = 1e9;
  t.shared = shared;
  return t;
}

/// With the host links that a driver makes for it.
struct TestStore : StoreConfig {
  std::size_t replicas = 1;
  double host_to_gpu_bytes_per_s = 20e9, gpu_to_host_bytes_per_s = 10e9;
  double host_latency_s = 0, host_setup_s = 0;
  transport::Queueing host_queueing = transport::Queueing::serialised;

  /// On a fabric.
  [[nodiscard]] StoreConfig connected(transport::Fabric& fabric) const {
    const transport::HostWay way{host_to_gpu_bytes_per_s, gpu_to_host_bytes_per_s, engine::from_seconds(host_latency_s),
                                 engine::from_seconds(host_setup_s), host_queueing};
    StoreConfig config = *this;
    for (std::size_t r = 0; r < replicas; ++r) {
      config.lanes.push_back(fabric.add_host_lanes("replica " + std::to_string(r), way));
    }
    return config;
  }
};

/// One replica, 20 GB/s to the GPU and 10 GB/s back, nothing kept for what is on its way.
inline TestStore store_of(std::vector<StoreTier> tiers) {
  TestStore c;
  c.tiers = std::move(tiers);
  c.in_transit = 0;
  return c;
}

inline models::StorageOption dropping(double keep, double compress_s_per_full_byte = 0) {
  models::StorageOption option;
  option.name = option.method = "drop";
  option.keep = keep;
  option.compress_s_per_full_byte = compress_s_per_full_byte;
  return option;
}

inline models::OptionPool pool_of(const std::vector<models::StorageOption>& options) {
  models::OptionPool pool;
  for (const models::StorageOption& o : options) pool.add(o);
  return pool;
}

/// Everything goes where it is told to, as what it is told; nothing gives way.
class ToldPlacement final : public Placement {
 public:
  ToldPlacement(const ObjectTable& objects, const std::map<std::uint64_t, Change>& told)
      : objects_(objects), told_(told) {}
  Change place_new(ObjectId id, TierIndex) override {
    const Change& to = told_.at(objects_[id].key);
    return {id, to.tier, to.option};
  }
  void moved(ObjectId, TierIndex) override {}
  void dropped(ObjectId, TierIndex) override {}
  void used(ObjectId, engine::SimTime) override {}
  void held(ObjectId) override {}
  void released(ObjectId) override {}
  bool promotes(ObjectId, TierIndex, std::int64_t, std::int64_t) override { return false; }
  std::optional<Change> relieve(TierIndex, ObjectId, std::int64_t) override { return std::nullopt; }
  void tiers_changed() override {}
  void profile_changed(models::CurveIndex) override {}

 private:
  const ObjectTable& objects_;
  const std::map<std::uint64_t, Change>& told_;
};

/// When a load was complete.
struct Arrival {
  engine::Simulator* simulator = nullptr;
  engine::SimTime since;
  std::optional<double> at_s;  ///< simulated time
  std::optional<double> took_s;
  void done() {
    at_s = simulator->now().seconds();
    took_s = (simulator->now() - since).seconds();
  }
};

struct StoreDriver {
  explicit StoreDriver(const TestStore& config, const models::PlacementSpec& placement = {},
                       models::OptionPool options = {}, const std::vector<std::vector<float>>& curves = {},
                       std::map<std::uint64_t, Change> told_places = {})
      : spec(placement), pool(std::move(options)), profiled(pool.size()), told(std::move(told_places)) {
    for (const auto& curve : curves) profiled.add(curve);
    if (curves.empty()) profiled.add(std::vector<float>(pool.size(), 1.0F));
    store = std::make_unique<TieredStore>(
        simulator, fabric, config.connected(fabric), pool, profiled,
        [&](const ObjectTable& objects, const std::vector<TierFacts>& tiers) -> std::unique_ptr<Placement> {
          facts = &tiers;
          if (!told.empty()) return std::make_unique<ToldPlacement>(objects, told);
          // Whoever needs the future gets some.
          return make_placement({spec, objects, pool, profiled, tiers, 1e-9,
                                 [&objects](ObjectId id) { return objects[id].key * 7919 % 13; }});
        });
  }

  ObjectId object(std::uint64_t key, std::int64_t bytes, std::size_t replica = 0, models::CurveIndex curve = 0) {
    return store->object(replica, key, bytes, bytes, curve);
  }
  /// Begins to store it.
  void put(std::uint64_t key, std::int64_t bytes, std::size_t replica = 0, std::uint64_t owner = 0,
           models::CurveIndex curve = 0) {
    const ObjectId id = object(key, bytes, replica, curve);
    store->used(std::vector{id}, {});
    store->store(replica, std::vector{id}, {}, owner);
  }
  [[nodiscard]] Found find(std::uint64_t key, std::size_t replica = 0) const { return store->find(replica, key); }
  /// The name of the level it is found in, or "".
  [[nodiscard]] std::string where(std::uint64_t key, std::size_t replica = 0) const {
    const Found f = find(key, replica);
    return f.id == kNoObject ? "" : store->level_name(f.level);
  }
  /// Begins to load it.
  Arrival& load(std::uint64_t key, std::size_t replica = 0) {
    arrivals.push_back(std::make_unique<Arrival>(Arrival{&simulator, simulator.now(), {}, {}}));
    Arrival& arrival = *arrivals.back();
    store->load(replica, std::vector{find(key, replica).id}, arrivals.size(),
                engine::Callback::to<&Arrival::done>(&arrival));
    return arrival;
  }
  /// Until nothing happens any more.
  void run() {
    simulator.run();
    check();
  }
  void run_until(double seconds) {
    simulator.run_until(engine::SimTime{} + engine::from_seconds(seconds));
    check();
  }
  void check() const {
    store->check_conservation();
    fabric.check_conservation();
  }
  [[nodiscard]] std::int64_t carried(const std::string& kind) const { return fabric.totals().at(kind).bytes; }

  engine::Simulator simulator;
  transport::Fabric fabric{simulator, nullptr};
  models::PlacementSpec spec;
  models::OptionPool pool;
  models::QualityTable profiled;
  std::map<std::uint64_t, Change> told;  ///< by key
  const std::vector<TierFacts>* facts = nullptr;
  std::unique_ptr<TieredStore> store;
  std::vector<std::unique_ptr<Arrival>> arrivals;
};

}  // namespace kvsim::cache
