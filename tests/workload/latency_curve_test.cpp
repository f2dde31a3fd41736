#include "models/workload/hit_rate_curve.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <list>

namespace kvsim::models::KVSIM_FILE {
namespace {

RequestSpec request(std::int64_t prompt_tokens, std::vector<std::uint64_t> blocks) {
  RequestSpec r;
  r.prompt_tokens = prompt_tokens;
  r.prefix_blocks = std::move(blocks);
  return r;
}

// Blocks of 10 tokens, loaded in 1 ms a token, prefilled in 5 ms. 1 2 3 with 25 tokens finds nothing: 125 ms. Then 1 2
// 4 with 28: 1 is found from one block of capacity on, 2 from two. Then 1 2 3 with 25 again: 1, 2 and, from four blocks
// on (1 2 4 3), the five tokens of 3.
TEST(LatencyCurve, AHandWorkedExample) {
  const std::vector<RequestSpec> requests{request(25, {1, 2, 3}), request(28, {1, 2, 4}), request(25, {1, 2, 3})};
  const LatencyCurve curve = latency_curve(requests, 10);
  const PromptTimes times{0.001, 0.005};
  EXPECT_EQ(curve.requests, 3U);
  EXPECT_EQ(curve.prompt_tokens, 78);
  EXPECT_EQ(curve.found_tokens(1), 20);
  EXPECT_EQ(curve.found_tokens(3), 40);
  EXPECT_EQ(curve.found_tokens(4), 45);
  EXPECT_DOUBLE_EQ(curve.mean_ttft_s(0, times), 78 * 0.005 / 3);
  EXPECT_DOUBLE_EQ(curve.mean_ttft_s(2, times), (40 * 0.001 + 38 * 0.005) / 3);
  EXPECT_DOUBLE_EQ(curve.mean_ttft_s(99, times), (45 * 0.001 + 33 * 0.005) / 3);
}

// The second request's first block is new: what follows it cannot be used, though a cache holds it.
TEST(LatencyCurve, ABlockBehindOneThatIsMissingIsOfNoUse) {
  EXPECT_TRUE(latency_curve(std::vector{request(20, {1, 2}), request(20, {3, 2})}, 10).steps.empty());
}

TEST(LatencyCurve, WithoutRequestsThereIsNoTime) {
  EXPECT_EQ(latency_curve({}, 10).mean_ttft_s(5, {1, 1}), 0);
}

/// The straightforward way: request by request through a list, most recent first.
double by_simulation(const std::vector<RequestSpec>& requests, std::size_t capacity, std::int64_t block_tokens,
                     const PromptTimes& times) {
  std::list<std::uint64_t> cache;
  double seconds = 0;
  for (const RequestSpec& r : requests) {
    std::int64_t found = 0;
    for (const std::uint64_t block : r.prefix_blocks) {
      if (std::find(cache.begin(), cache.end(), block) == cache.end()) break;
      found += block_tokens;
    }
    found = std::min(found, r.prompt_tokens);
    seconds +=
        static_cast<double>(found) * times.load_s + static_cast<double>(r.prompt_tokens - found) * times.prefill_s;
    for (auto block = r.prefix_blocks.rbegin(); block != r.prefix_blocks.rend(); ++block) {
      cache.remove(*block);
      cache.push_front(*block);
      if (cache.size() > capacity) cache.pop_back();
    }
  }
  return seconds / static_cast<double>(requests.size());
}

RC_GTEST_PROP(LatencyCurve, AgreesWithAnLruCacheOfEverySize, ()) {
  const auto lists = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::vector<std::uint64_t>>>(
      rc::gen::container<std::vector<std::uint64_t>>(rc::gen::inRange<std::uint64_t>(0, 20))));
  std::vector<RequestSpec> requests;
  for (const auto& blocks : lists) {
    // Shorter than its blocks, or longer: some of the prompt has no hash.
    requests.push_back(
        request(*rc::gen::inRange<std::int64_t>(1, 10 * static_cast<std::int64_t>(blocks.size()) + 30), blocks));
  }
  const LatencyCurve curve = latency_curve(requests, 10);
  const PromptTimes times{0.003, 0.011};
  for (std::size_t capacity = 0; capacity <= 22; ++capacity) {
    RC_ASSERT(std::abs(curve.mean_ttft_s(capacity, times) - by_simulation(requests, capacity, 10, times)) < 1e-9);
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
