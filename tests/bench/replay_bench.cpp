// Replay of eviction policies on a Zipf trace: 20 M requests over 1 M objects of one size, exponent 1, capacity 10 % of
// the objects. `keys`: the timed part begins with 64-bit keys, which it turns into dense ids; `ids`: it begins with
// ids. The baseline is what one would write first, an LRU of std::list and std::unordered_map over the same keys. Each
// benchmark times both in turn in the same run, so that a neighbour's load on the machine hits both alike, and reports
// their ratio.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "sim/cache/eviction/replay.h"
#include "sim/engine/random.h"

namespace {

using namespace kvsim;

constexpr std::size_t kObjects = 1'000'000;
constexpr std::size_t kRequests = 20'000'000;
constexpr std::size_t kCapacity = kObjects / 10;

/// Ranks as keys that look like hashes, their order shuffled by a bijection of 64-bit numbers (the finaliser of
/// splitmix64).
std::uint64_t hash_of(std::uint64_t rank) {
  std::uint64_t z = rank + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

const std::vector<std::uint64_t>& keys() {
  static const std::vector<std::uint64_t> made = [] {
    engine::RandomStream stream(1, "zipf");
    std::vector<std::uint64_t> all(kRequests);
    for (std::uint64_t& key : all) key = hash_of(stream.zipf(kObjects, 1.0));
    return all;
  }();
  return made;
}

cache::ObjectTrace interned() {
  cache::ObjectTrace trace;
  cache::Interner interner;
  trace.uses.resize(keys().size());
  interner.intern(keys(), trace.uses);
  trace.objects = interner.size();
  return trace;
}

std::uint64_t plain_lru_hits() {
  std::list<std::uint64_t> used;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> where;
  std::uint64_t hits = 0;
  for (const std::uint64_t key : keys()) {
    if (const auto found = where.find(key); found != where.end()) {
      ++hits;
      used.splice(used.begin(), used, found->second);
      continue;
    }
    if (used.size() == kCapacity) {
      where.erase(used.back());
      used.pop_back();
    }
    used.push_front(key);
    where.emplace(key, used.begin());
  }
  return hits;
}

template <class Action>
double seconds_of(Action action) {
  const auto begin = std::chrono::steady_clock::now();
  action();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

void replay(benchmark::State& state, const cache::EvictionPolicyEntry& policy, bool from_keys) {
  cache::ObjectTrace ids;
  if (!from_keys) ids = interned();
  cache::ReplayResult result;
  std::vector<double> rates, plain_rates, ratios;
  for (auto _ : state) {
    const double plain_s = seconds_of([] { benchmark::DoNotOptimize(plain_lru_hits()); });
    const double ours_s = seconds_of([&] { result = cache::replay(policy, kCapacity, from_keys ? interned() : ids); });
    state.SetIterationTime(ours_s);
    rates.push_back(kRequests / ours_s);
    plain_rates.push_back(kRequests / plain_s);
    ratios.push_back(plain_s / ours_s);
  }
  state.counters["requests_per_s"] = median(rates);
  state.counters["plain_lru_requests_per_s"] = median(plain_rates);
  state.counters["ratio_to_plain_lru"] = median(ratios);
  state.counters["hit_rate"] = result.hit_rate();
}

const bool kRegistered = [] {
  for (const cache::EvictionPolicyEntry& policy : cache::eviction_policies()) {
    for (const bool from_keys : {true, false}) {
      benchmark::RegisterBenchmark((std::string(policy.name) + (from_keys ? "/keys" : "/ids")).c_str(),
                                   [&policy, from_keys](benchmark::State& state) { replay(state, policy, from_keys); })
          ->Iterations(3)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
