#include "models/workload/trace_overlay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "models/schema/error.h"
#include "models/workload/distributions.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

/// Requests at so many ms, of 1, 2, ... tokens and a block each, in sessions of two.
std::vector<RequestSpec> at_ms(const std::vector<std::int64_t>& times) {
  std::vector<RequestSpec> all;
  for (const std::int64_t ms : times) {
    RequestSpec& r = all.emplace_back();
    r.id = all.size() - 1;
    r.arrival_ns = ms * 1'000'000;
    r.prompt_tokens = std::ssize(all);
    r.prefix_blocks = {all.size()};
    r.session = static_cast<std::int32_t>((all.size() - 1) / 2);
  }
  return all;
}

// Counts and order are those of the merge, made here by sorting pairs of time and part.
TEST(TraceOverlay, IsTheMergeByTime) {
  const std::vector<std::int64_t> times_a{0, 5, 5, 9, 20, 20}, times_b{1, 5, 9, 9, 30}, times_c{0, 0, 4};
  const auto a = at_ms(times_a), b = at_ms(times_b), c = at_ms(times_c);
  const auto all = overlaid({{&a, 0, 0}, {&b, 0, 1}, {&c, 5'000'000, 2}});
  std::vector<std::tuple<std::int64_t, int, std::int64_t>> expected;  // ms, part, tokens
  for (std::size_t i = 0; i < times_a.size(); ++i) expected.emplace_back(times_a[i], 0, i + 1);
  for (std::size_t i = 0; i < times_b.size(); ++i) expected.emplace_back(times_b[i], 1, i + 1);
  for (std::size_t i = 0; i < times_c.size(); ++i) expected.emplace_back(times_c[i] + 5, 2, i + 1);
  std::sort(expected.begin(), expected.end());
  ASSERT_EQ(all.size(), expected.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].id, i);
    EXPECT_EQ(all[i].arrival_ns, std::get<0>(expected[i]) * 1'000'000) << i;
    EXPECT_EQ(all[i].prompt_tokens, std::get<2>(expected[i])) << i;
  }
}

TEST(TraceOverlay, SessionsAreAPartsOwnAndPromptsAFiles) {
  auto a = at_ms({0, 1, 2});
  a[2].parent = 0;
  const auto all = overlaid({{&a, 0, 0}, {&a, 100'000'000, 0}, {&a, 200'000'000, 1}});
  ASSERT_EQ(all.size(), 9U);
  std::vector<std::int32_t> sessions;
  for (const RequestSpec& r : all) sessions.push_back(r.session);
  EXPECT_EQ(sessions, (std::vector<std::int32_t>{0, 0, 1, 2, 2, 3, 4, 4, 5}));
  EXPECT_EQ(all[5].parent, 2);
  EXPECT_EQ(all[0].parent, -1);
  EXPECT_EQ(all[3].prefix_blocks, a[0].prefix_blocks) << "of one file";
  EXPECT_NE(all[6].prefix_blocks, a[0].prefix_blocks) << "of another";
  EXPECT_NE(all[6].prefix_blocks, all[7].prefix_blocks);
}

TEST(TraceOverlay, BeyondAHundredYearsIsRefused) {
  const auto a = at_ms({0, 10});
  EXPECT_THROW(overlaid({{&a, 0, 0}, {&a, max_arrival_ns, 0}}), schema::InputError);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
