// Random stores under random use: whatever the tiers, the policy and the links, every load completes, no byte is lost,
// and no tier is over-committed.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <tuple>
#include <vector>

#include "sim/engine/random.h"
#include "tests/cache/store_driver.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

using engine::RandomStream;

constexpr std::int64_t kMegabyte = 1'000'000;

std::vector<transport::Outage> random_changes(RandomStream& draw) {
  std::vector<transport::Outage> changes;
  double at_s = 0;
  while (draw.uniform() < 0.4) {
    at_s += 5 * draw.uniform();
    const double lasting_s = 0.01 + 3 * draw.uniform();
    changes.push_back({at_s, lasting_s, draw.uniform() < 0.5 ? 0 : draw.uniform()});
    at_s += lasting_s;
  }
  return changes;
}

std::int64_t random_capacity(RandomStream& draw) {
  if (draw.uniform() < 0.1) return 0;
  return std::llround(static_cast<double>(kMegabyte) * std::exp(std::log(3000.0) * draw.uniform()));
}

TestStore random_store(RandomStream& draw) {
  TestStore c = store_of({});
  c.replicas = 1 + draw.below(3);
  c.host_to_gpu_bytes_per_s = 1e9 * (0.1 + 3 * draw.uniform());
  c.gpu_to_host_bytes_per_s = 1e9 * (0.1 + 3 * draw.uniform());
  if (draw.uniform() < 0.5) c.host_latency_s = 0.01 * draw.uniform();
  if (draw.uniform() < 0.5) c.host_setup_s = 0.01 * draw.uniform();
  c.host_queueing = draw.uniform() < 0.5 ? transport::Queueing::serialised : transport::Queueing::fair_share;
  c.workers = 1 + draw.below(3);
  c.in_transit = draw.uniform() < 0.3 ? 0 : 0.5 * draw.uniform();
  c.observed_bandwidth = draw.uniform() < 0.3;
  c.host_outages = random_changes(draw);
  if (draw.uniform() < 0.4) {
    StoreTier gpu;
    gpu.name = "gpu";
    gpu.kind = TierKind::gpu;
    gpu.capacity_bytes = random_capacity(draw);
    gpu.read_bytes_per_s = 50e9;
    c.tiers.push_back(gpu);
  }
  bool shared = false;
  if (draw.uniform() < 0.9 || c.tiers.empty()) {
    shared = draw.uniform() < 0.3;
    c.tiers.push_back(host_tier(random_capacity(draw), shared));
  }
  const std::size_t devices = draw.below(4);
  for (std::size_t i = 0; i < devices; ++i) {
    shared = shared || draw.uniform() < 0.4;
    StoreTier t = device_tier("device" + std::to_string(i), random_capacity(draw), shared);
    t.read_bytes_per_s = 1e9 * (0.05 + draw.uniform());
    t.write_bytes_per_s = 1e9 * (0.05 + draw.uniform());
    if (draw.uniform() < 0.5) t.latency_s = 0.02 * draw.uniform();
    t.outages = random_changes(draw);
    c.tiers.push_back(t);
  }
  if (draw.uniform() < 0.5) c.tiers.back().capacity_bytes.reset();
  c.keeps_whole = !c.tiers.back().capacity_bytes && draw.uniform() < 0.3;
  return c;
}

models::OptionPool random_pool(bool utility, RandomStream& draw) {
  std::vector<models::StorageOption> options;
  const std::uint64_t count = utility ? draw.below(6) : draw.below(2);
  for (std::uint64_t i = 0; i < count; ++i) {
    models::StorageOption option = dropping(0.02 + 0.9 * draw.uniform(), draw.uniform() < 0.5 ? 0 : 1e-9);
    option.name = std::to_string(i);
    option.method = draw.uniform() < 0.5 ? "a" : "b";
    if (draw.uniform() < 0.3) {
      option.quantiser = "q";
      option.element_ratio = 0.3;
      option.decompress_s_per_full_byte = 1e-12;
    }
    options.push_back(option);
  }
  return pool_of(options);
}

models::PlacementSpec random_policy(RandomStream& draw) {
  const auto all = placements();
  models::PlacementSpec spec;
  spec.policy = draw.uniform() < 0.5 ? models::utility_policy : all[draw.below(all.size())].name;
  spec.utility.alpha_s = draw.uniform() < 0.2 ? 0 : 10 * draw.uniform();
  spec.utility.variant = std::vector{models::UtilityVariant::least_drop, models::UtilityVariant::least_drop_per_byte,
                                     models::UtilityVariant::least_drop_for_need}[draw.below(3)];
  if (draw.uniform() < 0.3) {
    spec.utility.frequency = models::FrequencyKind::decayed;
    spec.utility.half_life_s = 0.01 + draw.uniform();
  }
  spec.utility.promote = draw.uniform() < 0.7;
  return spec;
}

std::vector<float> random_curve(const models::OptionPool& pool, RandomStream& draw) {
  std::vector<float> curve{1};
  while (curve.size() < pool.size()) curve.push_back(static_cast<float>(draw.uniform()));
  return curve;
}

std::vector<std::vector<float>> random_curves(const models::OptionPool& pool, std::size_t curves, RandomStream& draw) {
  std::vector<std::vector<float>> list(curves);
  for (auto& curve : list) curve = random_curve(pool, draw);
  return list;
}

/// Chains of objects in a tree: what follows an object depends on it.
class RandomUse {
 public:
  explicit RandomUse(std::uint64_t seed)
      : draw_(seed, "random use"),
        config_(random_store(draw_)),
        spec_(random_policy(draw_)),
        equal_(draw_.uniform() < 0.25),
        objects_(3 + draw_.below(30)),
        pool_(random_pool(spec_.policy == models::utility_policy, draw_)),
        d_(config_, spec_, pool_, random_curves(pool_, equal_ ? 1 : objects_, draw_)) {
    for (std::size_t i = 0; i < objects_; ++i) {
      bytes_.push_back(equal_ && i > 0 ? bytes_[0] : 1 + std::llround(300e6 * draw_.uniform() * draw_.uniform()));
    }
  }

  void run() {
    for (std::size_t phase = 0; phase < 3; ++phase) {
      for (std::size_t i = 0; i < 30; ++i) {
        step();
        d_.check();
        check_changes();
      }
      for (std::uint64_t owner = 0; owner < next_owner_; ++owner) d_.store->withdraw(owner);
      d_.run();
      check_quiet();
    }
  }

 private:
  [[nodiscard]] std::size_t any_replica() { return draw_.below(config_.replicas); }
  [[nodiscard]] ObjectId object(std::uint64_t key, std::size_t replica) {
    return d_.object(key, bytes_[key], replica, static_cast<models::CurveIndex>(equal_ ? 0 : key));
  }

  void step() {
    const double what = draw_.uniform();
    if (what < 0.5) {
      request();
    } else if (what < 0.6) {
      d_.store->withdraw(draw_.below(next_owner_ + 1));
    } else if (what < 0.65 && !equal_) {
      const std::uint64_t key = draw_.below(objects_);
      d_.profiled.replace(static_cast<models::CurveIndex>(key), random_curve(d_.pool, draw_));
      d_.store->profile_changed(static_cast<models::CurveIndex>(key), key);
    } else {
      const auto pass = engine::from_seconds(draw_.uniform() < 0.3 ? 0 : draw_.uniform() * draw_.uniform());
      d_.simulator.run_until(d_.simulator.now() + pass);
    }
  }

  /// As a request does it: what is found of a chain is loaded, the rest is stored, now or after some time.
  void request() {
    const std::size_t replica = any_replica();
    std::vector<ObjectId> own, found;
    std::vector<std::uint64_t> keys;
    for (std::uint64_t key = draw_.below(objects_); key < objects_ && keys.size() < 6;
         key = 2 * key + 1 + draw_.below(2))
      keys.push_back(key);
    if (draw_.uniform() < 0.1) keys.push_back(keys.front());  // a chain may repeat a block
    for (const std::uint64_t key : keys) own.push_back(object(key, replica));
    for (const std::uint64_t key : keys) {
      const Found copy = d_.find(key, replica);
      if (copy.id == kNoObject) break;
      found.push_back(copy.id);
    }
    if (!found.empty()) {
      d_.arrivals.push_back(std::make_unique<Arrival>(Arrival{&d_.simulator, d_.simulator.now(), {}, {}}));
      d_.store->load(replica, found, next_owner_, engine::Callback::to<&Arrival::done>(d_.arrivals.back().get()));
    }
    if (draw_.uniform() < 0.5) d_.simulator.run_until(d_.simulator.now() + engine::from_seconds(draw_.uniform() / 2));
    if (draw_.uniform() < 0.9) d_.store->used(own, found);
    if (found.size() < own.size()) {
      d_.store->store(replica, std::span(own).subspan(found.size()), found, next_owner_++);
    }
  }

  /// Who asks for changes() alone misses nothing that find() would return.
  void check_changes() {
    std::vector<std::tuple<ObjectId, std::size_t, models::OptionIndex, float>> found;
    for (std::size_t r = 0; r < config_.replicas; ++r) {
      for (std::uint64_t key = 0; key < objects_; ++key) {
        const Found f = d_.find(key, r);
        found.emplace_back(f.id, f.level, f.option, f.quality);
      }
    }
    RC_ASSERT(found_.empty() || found == found_ || d_.store->changes() > changes_);
    RC_ASSERT(d_.store->changes() >= changes_);
    found_ = std::move(found);
    changes_ = d_.store->changes();
  }

  void check_quiet() {
    for (const auto& arrival : d_.arrivals) RC_ASSERT(arrival->at_s.has_value());
    const StoreCounts counts = d_.store->counts();
    std::uint64_t present = 0;
    for (const CachedObject& o : d_.store->objects()) {
      if (o.tier == kNoTier) continue;
      present += 1;
      bool readable = false;
      for (std::size_t r = 0; r < config_.replicas; ++r) readable = readable || d_.find(o.key, r).id != kNoObject;
      RC_ASSERT(readable);
      RC_ASSERT(o.quality >= 0 && o.quality <= 1);
    }
    const bool one_domain = config_.replicas == 1 && !config_.tiers.back().shared;
    if (one_domain || config_.tiers.front().shared) RC_ASSERT(present_ + counts.stores == counts.drops + present);
    RC_ASSERT(present + counts.drops <= present_ + counts.stores + counts.promotions);
    present_ = present;
    // Nothing is on its way out any more, and what belongs to a tier leaves its share free.
    d_.store->reset_statistics();
    for (std::size_t level = 0; level < d_.store->levels(); ++level) {
      const TieredStore::LevelUse use = d_.store->level_use(level);
      const StoreTier& tier = config_.tiers[level];
      if (tier.shared || config_.replicas == 1) RC_ASSERT(use.peak_bytes == use.bytes + use.whole_bytes);
      RC_ASSERT(use.peak_bytes <= use.bytes + use.whole_bytes);
      if (!tier.capacity_bytes) continue;
      RC_ASSERT(static_cast<double>(use.peak_bytes) <=
                static_cast<double>(*tier.capacity_bytes) * (1 - config_.in_transit));
    }
    check_kept();
  }

  /// Policies that only order give nothing up while the last tier is without end.
  void check_kept() {
    if (config_.tiers.back().capacity_bytes || spec_.policy == models::utility_policy) return;
    RC_ASSERT(d_.store->counts().drops == 0U);
    for (const auto& [replica, key] : kept_) RC_ASSERT(d_.find(key, replica).id != kNoObject);
    for (std::size_t r = 0; r < config_.replicas; ++r) {
      for (std::uint64_t key = 0; key < objects_; ++key) {
        if (d_.find(key, r).id != kNoObject) kept_.insert({r, key});
      }
    }
  }

  RandomStream draw_;
  TestStore config_;
  models::PlacementSpec spec_;
  bool equal_;
  std::size_t objects_;
  models::OptionPool pool_;
  StoreDriver d_;
  std::vector<std::int64_t> bytes_;
  std::uint64_t present_ = 0;  // when counts began
  std::uint64_t next_owner_ = 0;
  std::set<std::pair<std::size_t, std::uint64_t>> kept_;
  std::vector<std::tuple<ObjectId, std::size_t, models::OptionIndex, float>> found_;  // by replica and key
  std::uint64_t changes_ = 0;                                                         // when that was found
};

RC_GTEST_PROP(StoreProperty, EveryLoadCompletesAndNoByteIsLost, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1'000'000'000);
  RandomUse(seed).run();
}

/// The least recently used gives way, and the last tier has room for the longest prompt: the newest is found whole,
/// however soon its KV left the GPU.
void store_prompts(std::uint64_t seed) {
  RandomStream draw(seed, "newest prompt");
  TestStore config = random_store(draw);
  const std::uint64_t prompts = 2 + draw.below(8);
  std::vector<std::vector<std::int64_t>> sizes(prompts);
  std::int64_t longest = 0;
  for (auto& blocks : sizes) {
    const bool equal = draw.uniform() < 0.5;
    std::int64_t prompt = 0;
    for (std::uint64_t left = 1 + draw.below(12); left > 0; --left) {
      blocks.push_back(equal && !blocks.empty() ? blocks[0] : 1 + std::llround(200e6 * draw.uniform()));
      prompt += blocks.back();
    }
    longest = std::max(longest, prompt);
  }
  const auto room = static_cast<std::int64_t>(static_cast<double>(longest) / (1 - config.in_transit)) + 1;
  if (auto& last = config.tiers.back().capacity_bytes) last = std::max(*last, room);
  StoreDriver d(config);
  for (std::uint64_t prompt = 0; prompt < prompts; ++prompt) {
    const std::size_t replica = draw.below(config.replicas);
    std::vector<ObjectId> own;
    for (std::size_t b = 0; b < sizes[prompt].size(); ++b) {
      own.push_back(d.object(100 * prompt + b, sizes[prompt][b], replica));
    }
    d.store->used(own, {});
    d.store->store(replica, own, {}, prompt);
    if (draw.uniform() < 0.3) d.run_until(d.simulator.now().seconds() + 3 * draw.uniform() * draw.uniform());
    d.store->withdraw(prompt);
    d.check();
    if (draw.uniform() < 0.5) d.run_until(d.simulator.now().seconds() + 3 * draw.uniform() * draw.uniform());
    if (draw.uniform() < 0.3) d.run();
    if (prompt + 1 == prompts) {
      d.run();
      for (std::size_t b = 0; b < own.size(); ++b) RC_ASSERT(d.find(100 * prompt + b, replica).id != kNoObject);
    }
  }
  RC_ASSERT(d.store->counts().unstored == 0U);
}

RC_GTEST_PROP(StoreProperty, TheNewestPromptIsFoundWhole, ()) {
  store_prompts(*rc::gen::inRange<std::uint64_t>(0, 1'000'000'000));
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
