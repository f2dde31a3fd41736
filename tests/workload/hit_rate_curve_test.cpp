#include "models/workload/hit_rate_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <list>
#include <string>

#include "models/workload/trace_reader.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

RequestSpec with_blocks(std::vector<std::uint64_t> blocks) {
  RequestSpec r;
  r.prompt_tokens = static_cast<std::int64_t>(blocks.size()) + 1;
  r.output_tokens = 1;
  r.prefix_blocks = std::move(blocks);
  return r;
}

/// The straightforward way: a list, most recent first. A block without its prefix is no hit.
std::uint64_t lru_hits(const std::vector<RequestSpec>& requests, std::size_t capacity) {
  std::list<std::uint64_t> cache;
  std::uint64_t hits = 0;
  for (const RequestSpec& r : requests) {
    for (const std::uint64_t block : r.prefix_blocks) {
      if (std::find(cache.begin(), cache.end(), block) == cache.end()) break;
      hits += 1;
    }
    for (auto block = r.prefix_blocks.rbegin(); block != r.prefix_blocks.rend(); ++block) {
      cache.remove(*block);
      cache.push_front(*block);
      if (cache.size() > capacity) cache.pop_back();
    }
  }
  return hits;
}

// Prefix 1-2-3, then 1-2-4, then 1-2-3 again. Touched most recently first: 1 2 3 after the first request, so the second
// finds 1 at distance 1 and 2 at distance 2. It leaves 1 2 4 3: the third finds 1 at 1, 2 at 2 and 3 at 4.
TEST(HitRateCurve, AHandWorkedExample) {
  const std::vector<RequestSpec> requests{with_blocks({1, 2, 3}), with_blocks({1, 2, 4}), with_blocks({1, 2, 3})};
  const HitRateCurve curve = hit_rate_curve(requests);
  EXPECT_EQ(curve.accesses, 9U);
  EXPECT_EQ(curve.distinct, 4U);
  ASSERT_EQ(curve.steps.size(), 3U);
  EXPECT_EQ(curve.hits(0), 0U);
  EXPECT_EQ(curve.hits(1), 2U);
  EXPECT_EQ(curve.hits(2), 4U);
  EXPECT_EQ(curve.hits(3), 4U);
  EXPECT_EQ(curve.hits(4), 5U);
  EXPECT_EQ(curve.hits(1000), 5U);
  EXPECT_DOUBLE_EQ(curve.hit_rate(4), 5.0 / 9.0);
  EXPECT_EQ(curve.capacity_for(0.8), 2U);
  EXPECT_EQ(curve.capacity_for(0.81), 4U);
}

TEST(HitRateCurve, WithoutReuseThereIsNoHitAndNoKnee) {
  const HitRateCurve curve = hit_rate_curve(std::vector<RequestSpec>{with_blocks({1}), with_blocks({2})});
  EXPECT_TRUE(curve.steps.empty());
  EXPECT_EQ(curve.hit_rate(100), 0);
  EXPECT_EQ(curve.capacity_for(0.9), 0U);
  EXPECT_EQ(hit_rate_curve({}).hit_rate(1), 0);
}

RC_GTEST_PROP(HitRateCurve, AgreesWithAnLruCacheOfEverySize, ()) {
  const auto blocks = *rc::gen::container<std::vector<std::vector<std::uint64_t>>>(
      rc::gen::unique<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 500)));
  std::vector<RequestSpec> requests;
  for (const auto& b : blocks) requests.push_back(with_blocks(b));
  const HitRateCurve curve = hit_rate_curve(requests);
  for (std::size_t capacity = 1; capacity <= 30; ++capacity) {
    RC_ASSERT(curve.hits(capacity) == lru_hits(requests, capacity));
  }
}

RC_GTEST_PROP(HitRateCurve, NeverFallsAndEndsAtWhatAnEndlessCacheFinds, ()) {
  const auto paths = *rc::gen::container<std::vector<std::vector<std::uint64_t>>>(
      rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 4)));
  std::vector<RequestSpec> requests;
  for (const auto& path : paths) {
    std::vector<std::uint64_t> chain;  // a block always has the same blocks before it
    for (const std::uint64_t step : path) chain.push_back((chain.empty() ? 1 : chain.back()) * 31 + step);
    requests.push_back(with_blocks(std::move(chain)));
  }
  const HitRateCurve curve = hit_rate_curve(requests);
  for (std::size_t i = 1; i < curve.steps.size(); ++i) {
    RC_ASSERT(curve.steps[i].capacity > curve.steps[i - 1].capacity);
    RC_ASSERT(curve.steps[i].hits > curve.steps[i - 1].hits);
  }
  RC_ASSERT(curve.achievable() == curve.accesses - curve.distinct);
  RC_ASSERT(curve.hits(curve.distinct) == curve.achievable());
  for (const double share : {0.5, 0.9, 1.0}) {
    const std::uint64_t capacity = curve.capacity_for(share);
    const auto wanted = share * static_cast<double>(curve.achievable());
    RC_ASSERT(static_cast<double>(curve.hits(capacity)) >= wanted);
    if (capacity > 0) RC_ASSERT(static_cast<double>(curve.hits(capacity - 1)) < wanted);
  }
}

// Block hit rates of the Mooncake conversation trace as published beside it: LRU, prefix touched last.
TEST(SharedTraces, MooncakeHitRateByCapacity) {
  const char* const folder = std::getenv("KVSIM_SHARED");  // NOLINT(concurrency-mt-unsafe): read before any thread
  const std::string path =
      std::string(folder != nullptr ? folder : KVSIM_SHARED_DEFAULT) + "/traces/mooncake_conversation.jsonl";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path << "; set KVSIM_SHARED to the folder that has it";
  const auto requests = read_trace(find_trace_format("mooncake"), path);
  const HitRateCurve curve = hit_rate_curve(requests);
  EXPECT_NEAR(curve.hit_rate(3'000), 0.065, 0.0005);
  EXPECT_NEAR(curve.hit_rate(10'000), 0.212, 0.0005);
  EXPECT_NEAR(curve.hit_rate(30'000), 0.326, 0.0005);
  EXPECT_NEAR(curve.hit_rate(100'000), 0.364, 0.0005);
  EXPECT_NEAR(curve.hit_rate(curve.distinct), describe_trace(requests, 512).block_reuse, 1e-12);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
