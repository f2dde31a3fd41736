#include "models/workload/trace_reader.h"

#include <gtest/gtest.h>

#include <vector>

namespace kvsim::models::KVSIM_FILE {
namespace {

RequestSpec request(double arrival_s, std::int64_t prompt, std::int64_t output,
                    std::vector<std::uint64_t> blocks = {}) {
  return {.arrival_ns = static_cast<std::int64_t>(arrival_s * 1e9),
          .prompt_tokens = prompt,
          .output_tokens = output,
          .prefix_blocks = std::move(blocks)};
}

TEST(TraceStatistics, SmallTraceByHand) {
  // Gaps 1, 3, 2 s: mean 2, variance 2/3, cv 0.4082. Prompts 100..400: median 250, p99 at position 2.97: 397.
  const std::vector<RequestSpec> trace{request(0, 100, 1), request(1, 400, 2), request(4, 300, 3), request(6, 200, 4)};
  const TraceStatistics s = describe_trace(trace, 0);
  EXPECT_EQ(s.requests, 4U);
  EXPECT_DOUBLE_EQ(s.span_s, 6);
  EXPECT_DOUBLE_EQ(s.rate_per_s, 0.5);
  EXPECT_NEAR(s.gap_cv, 0.408248, 1e-6);
  EXPECT_DOUBLE_EQ(s.prompt.mean, 250);
  EXPECT_DOUBLE_EQ(s.prompt.p50, 250);
  EXPECT_DOUBLE_EQ(s.prompt.p99, 397);
  EXPECT_EQ(s.prompt.min, 100);
  EXPECT_EQ(s.prompt.max, 400);
  EXPECT_DOUBLE_EQ(s.output.mean, 2.5);
  EXPECT_EQ(s.blocks, 0U);
  EXPECT_EQ(s.block_reuse, 0);
}

// Blocks of 512: 0,1 | 0,1,2 | 3. Two of six are reused: 0 whole and 1, which in the second request is whole too:
// 1,024 of 600 + 1,100 + 10 tokens.
TEST(TraceStatistics, ReuseByHand) {
  const std::vector<RequestSpec> trace{request(0, 600, 1, {0, 1}), request(0, 1'100, 1, {0, 1, 2}),
                                       request(0, 10, 1, {3})};
  const TraceStatistics s = describe_trace(trace, 512);
  EXPECT_EQ(s.blocks, 6U);
  EXPECT_EQ(s.distinct_blocks, 4U);
  EXPECT_DOUBLE_EQ(s.block_reuse, 2.0 / 6);
  EXPECT_DOUBLE_EQ(s.token_reuse, 1'024.0 / 1'710);
  EXPECT_EQ(s.rate_per_s, 0);
}

// Two sessions, three turns, one of which was waited for 4 s.
TEST(TraceStatistics, SessionsByHand) {
  std::vector<RequestSpec> trace{request(0, 1, 1), request(1, 1, 1), request(2, 1, 1), request(3, 1, 1)};
  trace[0].session = 0;
  trace[1].session = 1;
  trace[3].session = 0;
  trace[3].think_ns = 4'000'000'000;
  const TraceStatistics s = describe_trace(trace, 0);
  EXPECT_EQ(s.sessions, 2U);
  EXPECT_EQ(s.session_turns, 3U);
  EXPECT_EQ(s.think_times, 1U);
  EXPECT_DOUBLE_EQ(s.mean_think_s, 4);
}

// What begins a sub-agent is no pause of a reader's.
TEST(TraceStatistics, TheBeginningOfASubAgentIsNoThinkTime) {
  std::vector<RequestSpec> trace{request(0, 1, 1), request(1, 1, 1), request(2, 1, 1)};
  trace[0].session = 0;
  trace[1].session = 1;
  trace[1].parent = 0;
  trace[1].turn = 1;
  trace[1].think_ns = 0;
  trace[2].session = 1;
  trace[2].parent = 0;
  trace[2].turn = 2;
  trace[2].think_ns = 3'000'000'000;
  const TraceStatistics s = describe_trace(trace, 0);
  EXPECT_EQ(s.think_times, 1U);
  EXPECT_DOUBLE_EQ(s.mean_think_s, 3);
}

// Above and below a million tokens: 1, 2,000,000 and 3,000,000; the median lies in the upper half.
TEST(TraceStatistics, LengthsOfAnySizeHaveExactQuantiles) {
  const std::vector<RequestSpec> trace{request(0, 3'000'000, 1), request(1, 1, 1), request(2, 2'000'000, 1)};
  const TraceStatistics s = describe_trace(trace, 0);
  EXPECT_DOUBLE_EQ(s.prompt.p50, 2'000'000);
  EXPECT_EQ(s.prompt.min, 1);
  EXPECT_EQ(s.prompt.max, 3'000'000);
  EXPECT_DOUBLE_EQ(s.prompt.p99, 2'980'000);
}

TEST(TraceStatistics, NothingAndOneRequest) {
  EXPECT_EQ(describe_trace({}, 512).requests, 0U);
  const std::vector<RequestSpec> one{request(3, 7, 9)};
  const TraceStatistics s = describe_trace(one, 0);
  EXPECT_DOUBLE_EQ(s.prompt.p99, 7);
  EXPECT_EQ(s.rate_per_s, 0);
  EXPECT_EQ(s.gap_cv, 0);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
