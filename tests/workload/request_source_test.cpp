#include "models/workload/request_source.h"

#include <gtest/gtest.h>

#include "tests/workload/test_support.h"

namespace kvsim::models {
namespace {

const LengthSpec context{.distribution = LengthDistribution::lognormal, .mean = 8'000, .cv = 1};
const LengthSpec answer{.distribution = LengthDistribution::exponential, .mean = 300};

RequestSource source(const GeneratedWorkload& workload, std::uint64_t seed = 7) {
  return {workload, {stream("arrivals", seed), stream("prompts", seed), stream("outputs", seed)}};
}

TEST(RequestSource, ChangingTheRateLeavesEveryLength) {
  RequestSource slow = source({context, answer, ArrivalSpec{.rate_per_s = 0.5}});
  RequestSource fast = source({context, answer, ArrivalSpec{.kind = ArrivalKind::gamma, .rate_per_s = 50, .cv = 4}});
  RequestSource closed = source({context, answer, std::nullopt});
  for (std::uint64_t i = 0; i < 1'000; ++i) {
    const RequestSpec a = slow.next(), b = fast.next(), c = closed.next();
    EXPECT_EQ(a.id, i);
    EXPECT_EQ(a.prompt_tokens, b.prompt_tokens);
    EXPECT_EQ(a.output_tokens, b.output_tokens);
    EXPECT_EQ(a.prompt_tokens, c.prompt_tokens);
    EXPECT_EQ(a.output_tokens, c.output_tokens);
    EXPECT_EQ(c.arrival_ns, 0);
  }
  EXPECT_FALSE(slow.closed_loop());
  EXPECT_TRUE(closed.closed_loop());
}

TEST(RequestSource, ChangingOutputsLeavesPromptsAndArrivals) {
  RequestSource a = source({context, answer, ArrivalSpec{}});
  RequestSource b = source({context, {.distribution = LengthDistribution::gamma, .mean = 40, .cv = 2}, ArrivalSpec{}});
  bool differ = false;
  for (int i = 0; i < 1'000; ++i) {
    const RequestSpec x = a.next(), y = b.next();
    EXPECT_EQ(x.prompt_tokens, y.prompt_tokens);
    EXPECT_EQ(x.arrival_ns, y.arrival_ns);
    differ |= x.output_tokens != y.output_tokens;
  }
  EXPECT_TRUE(differ);
}

TEST(RequestSource, PromptsAndOutputsAreIndependent) {
  const LengthSpec coin{.distribution = LengthDistribution::uniform, .min = 1, .max = 2};
  RequestSource r = source({coin, coin, std::nullopt});
  int equal = 0;
  for (int i = 0; i < 10'000; ++i) {
    const RequestSpec x = r.next();
    equal += x.prompt_tokens == x.output_tokens ? 1 : 0;
  }
  EXPECT_NEAR(equal, 5'000, 4 * 50);  // binomial, standard deviation 50
}

TEST(RequestSource, SaysWhichPartIsWrong) {
  const auto refusal = [](const GeneratedWorkload& workload) { return failure_of([&] { source(workload); }); };
  GeneratedWorkload prompt{context, answer, std::nullopt};
  prompt.prompt.min = 0;
  EXPECT_EQ(refusal(prompt), "prompt: min is 0 tokens, expected 1 to 10000000");
  GeneratedWorkload output{context, answer, std::nullopt};
  output.output.mean = -2;
  EXPECT_EQ(refusal(output), "output: mean is -2 tokens, expected 1 to 10000000");
  const GeneratedWorkload rate{context, answer, ArrivalSpec{.rate_per_s = -1}};
  EXPECT_EQ(refusal(rate), "arrivals: rate is -1 requests/s, expected 1e-06 to 1e+09");
}

TEST(RequestSource, AMissingStreamIsAProgrammingError) {
  EXPECT_THROW(RequestSource({context, answer, std::nullopt}, {nullptr, stream("p"), stream("o")}),
               std::invalid_argument);
}

}  // namespace
}  // namespace kvsim::models
