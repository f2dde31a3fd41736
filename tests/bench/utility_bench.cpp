// Evictions by utility from a full tier. Each turn takes the least loss of any change in it and applies it (relieve +
// moved); where that evicts, an object that is new to the tier takes its place (used + moved). The tier lacks from
// nothing to 3 GB, with objects of 1 GB (median). For least_drop, the baseline looks at every object and every option
// instead, in alternating slices of the same run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/cache/placement/utility_placement.h"
#include "sim/engine/random.h"

namespace {

using kvsim::engine::RandomStream;
using kvsim::engine::SimTime;
using namespace kvsim::cache;
namespace models = kvsim::models;

constexpr std::size_t kOptions = 20;

// Whole, three methods at four keep ratios, one quantiser, and both together, but for the mildest.
models::OptionPool twenty_options() {
  models::OptionPool pool;
  for (const double element_ratio : {1.0, 0.28}) {
    for (const char* method : {"kvzip", "knorm", "snapkv"}) {
      for (const double keep : {0.75, 0.5, 0.25, 0.1}) {
        models::StorageOption option;
        option.method = method;
        option.keep = keep;
        option.element_ratio = element_ratio;
        if (element_ratio < 1) option.quantiser = "int4";
        if (pool.size() < kOptions) pool.add(option);
      }
    }
  }
  return pool;
}

class FullTier {
 public:
  FullTier(std::size_t objects, models::UtilityVariant variant)
      : pool_(twenty_options()),
        profiled_(pool_.size()),
        spec_{.variant = variant},
        placement_(objects_, pool_, profiled_, tiers_, spec_, 1e-9) {
    for (std::int64_t& need : needs_) need = 1 + static_cast<std::int64_t>(draw_.below(3'000'000'000));
    std::vector<float> curve(pool_.size(), 1);
    objects_.reserve(2 * objects);
    for (std::size_t i = 0; i < 2 * objects; ++i) {
      const double sensitivity = 0.2 + 0.6 * draw_.uniform();
      for (std::size_t o = 1; o < pool_.size(); ++o) {
        const double lost = 1 - pool_[static_cast<models::OptionIndex>(o)].bytes_ratio();
        curve[o] = static_cast<float>(1 - sensitivity * (0.5 + 0.5 * draw_.uniform()) * lost * lost);
      }
      CachedObject object;
      object.full_bytes = 1 + static_cast<std::int64_t>(draw_.lognormal(1e9, 0.7));
      object.curve = profiled_.add(curve);
      objects_.push_back(object);
      const auto id = static_cast<ObjectId>(i);
      placement_.used(id, {});
      move(id, i < objects ? TierIndex{0} : TierIndex{1}, 0);
    }
  }

  void turn() {
    const auto change = placement_.relieve(0, kNoObject, needs_[turns_++ % needs_.size()]);
    move(change->object, change->tier, change->option);
    if (change->tier == 0) return;
    while (objects_[cursor_].tier == 0) cursor_ = static_cast<ObjectId>((cursor_ + 1) % objects_.size());
    const ObjectId next = cursor_;
    placement_.used(next, {});
    objects_[next].quality = 1;
    move(next, 0, 0);
  }

  // What relieve() answers, from nothing but the tables.
  Change rescan() const {
    Change least;
    double least_cost = std::numeric_limits<double>::infinity();
    for (std::size_t id = 0; id < objects_.size(); ++id) {
      if (objects_[id].tier != 0) continue;
      const auto relief = configurations_.least_cost(objects_[id]);
      if (relief->cost >= least_cost) continue;
      least_cost = relief->cost;
      least = {static_cast<ObjectId>(id), relief->to.tier, relief->to.option};
    }
    return least;
  }
  void prepare_rescan() { configurations_.set_tiers(tiers_); }

  [[nodiscard]] double bytes_per_object() const {
    const std::size_t state = placement_.state_bytes() + objects_.capacity() * sizeof(CachedObject) +
                              objects_.size() * pool_.size() * sizeof(float);
    return static_cast<double>(state) / static_cast<double>(objects_.size());
  }
  [[nodiscard]] double placement_bytes_per_object() const {
    return static_cast<double>(placement_.state_bytes()) / static_cast<double>(objects_.size());
  }

 private:
  void move(ObjectId id, TierIndex tier, models::OptionIndex option) {
    CachedObject& object = objects_[id];
    const TierIndex from = object.tier;
    object.tier = tier;
    object.option = option;
    object.quality = std::min(object.quality, profiled_.quality(object.curve, option));
    if (tier == kNoTier) {
      placement_.dropped(id, from);
    } else {
      placement_.moved(id, from);
    }
  }

  RandomStream draw_{1, "objects"};
  models::OptionPool pool_;
  models::QualityTable profiled_;
  std::vector<TierFacts> tiers_{{.name = "dram", .next = 1, .read_bytes_per_s = 50e9},
                                {.name = "ssd", .read_bytes_per_s = 5e9}};
  models::UtilitySpec spec_;
  ObjectTable objects_;
  UtilityPlacement placement_;
  Configurations configurations_{pool_, profiled_, spec_, 1e-9};
  ObjectId cursor_ = 0;
  std::array<std::int64_t, 1024> needs_{};
  std::size_t turns_ = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void evictions(benchmark::State& state, models::UtilityVariant variant) {
  const auto objects = static_cast<std::size_t>(state.range(0));
  const bool baseline = objects <= 10'000 && variant == models::UtilityVariant::least_drop;
  constexpr std::size_t slice = 20'000;
  FullTier tier(objects, variant);
  tier.prepare_rescan();
  for (std::size_t i = 0; i < 2 * objects; ++i) tier.turn();  // to the steady state
  std::vector<double> turn_s;
  std::vector<double> rescan_s;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < slice; ++i) tier.turn();
    turn_s.push_back(seconds_since(begin) / static_cast<double>(slice));
    state.SetIterationTime(turn_s.back() * static_cast<double>(slice));
    if (!baseline) continue;
    const auto rescan = std::chrono::steady_clock::now();
    for (int i = 0; i < 5; ++i) benchmark::DoNotOptimize(tier.rescan());
    rescan_s.push_back(seconds_since(rescan) / 5);
  }
  std::nth_element(turn_s.begin(), turn_s.begin() + static_cast<std::ptrdiff_t>(turn_s.size() / 2), turn_s.end());
  const double median = turn_s[turn_s.size() / 2];
  state.counters["evictions_per_s"] = 1 / median;
  state.counters["us_per_eviction"] = 1e6 * median;
  state.counters["bytes_per_object"] = tier.bytes_per_object();
  state.counters["placement_bytes_per_object"] = tier.placement_bytes_per_object();
  if (rescan_s.empty()) return;
  std::nth_element(rescan_s.begin(), rescan_s.begin() + static_cast<std::ptrdiff_t>(rescan_s.size() / 2),
                   rescan_s.end());
  state.counters["ratio_to_rescan"] = rescan_s[rescan_s.size() / 2] / median;
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->RangeMultiplier(10)->Range(1'000, 1'000'000)->Iterations(21)->UseManualTime();
}
BENCHMARK_CAPTURE(evictions, least_drop, models::UtilityVariant::least_drop)->Apply(sizes);
BENCHMARK_CAPTURE(evictions, least_drop_per_byte, models::UtilityVariant::least_drop_per_byte)->Apply(sizes);
BENCHMARK_CAPTURE(evictions, least_drop_for_need, models::UtilityVariant::least_drop_for_need)->Apply(sizes);

}  // namespace
