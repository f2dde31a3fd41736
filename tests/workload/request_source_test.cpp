#include "models/workload/request_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

const LengthSpec context{.distribution = Distribution::lognormal, .mean = 8'000, .cv = 1};
const LengthSpec answer{.distribution = Distribution::exponential, .mean = 300};

RequestSource source(const GeneratedWorkload& workload, std::uint64_t seed = 7) {
  return {workload,
          {stream("arrivals", seed), stream("prompts", seed), stream("outputs", seed), stream("prefixes", seed),
           stream("prefix lengths", seed)}};
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
  RequestSource b = source({context, {.distribution = Distribution::gamma, .mean = 40, .cv = 2}, ArrivalSpec{}});
  bool differ = false;
  for (int i = 0; i < 1'000; ++i) {
    const RequestSpec x = a.next(), y = b.next();
    EXPECT_EQ(x.prompt_tokens, y.prompt_tokens);
    EXPECT_EQ(x.arrival_ns, y.arrival_ns);
    differ |= x.output_tokens != y.output_tokens;
  }
  EXPECT_TRUE(differ);
}

TEST(RequestSource, APrefixComesBeforeThePromptThatWouldBeThereWithoutIt) {
  const SharedPrefixSpec shared{20, 1, {.distribution = Distribution::uniform, .min = 100, .max = 9'000}};
  RequestSource without = source({context, answer, ArrivalSpec{}});
  RequestSource with = source({context, answer, ArrivalSpec{}, shared, true});
  EXPECT_EQ(without.block_tokens(), 0);
  EXPECT_EQ(with.block_tokens(), 256);
  std::set<std::int64_t> added;
  for (int i = 0; i < 1'000; ++i) {
    const RequestSpec x = without.next(), y = with.next();
    EXPECT_EQ(x.output_tokens, y.output_tokens);
    EXPECT_EQ(x.arrival_ns, y.arrival_ns);
    EXPECT_TRUE(x.prefix_blocks.empty());
    EXPECT_EQ(std::ssize(y.prefix_blocks), (y.prompt_tokens + 255) / 256);
    added.insert(y.prompt_tokens - x.prompt_tokens);
  }
  EXPECT_EQ(added.size(), 20U);  // as many lengths as there are prefixes
  EXPECT_GE(*added.begin(), 100);
  EXPECT_LE(*added.rbegin(), 9'000);
}

TEST(RequestSource, BlocksAreLeftOutWhereNobodyAsksForThem) {
  const SharedPrefixSpec shared{20, 1, {.distribution = Distribution::uniform, .min = 100, .max = 9'000}};
  RequestSource with = source({context, answer, std::nullopt, shared, true});
  RequestSource bare = source({context, answer, std::nullopt, shared, false});
  EXPECT_EQ(bare.block_tokens(), 0);
  for (int i = 0; i < 100; ++i) {
    const RequestSpec x = with.next(), y = bare.next();
    EXPECT_EQ(x.prompt_tokens, y.prompt_tokens);
    EXPECT_TRUE(y.prefix_blocks.empty());
  }
}

TEST(RequestSource, PrefixAndPromptTogetherStayWithinTheLongestRequest) {
  const LengthSpec longest{.mean = 10'000'000};
  RequestSource r = source({longest, answer, std::nullopt, SharedPrefixSpec{1, 1, longest}, true});
  EXPECT_EQ(r.next().prompt_tokens, 10'000'000);
}

TEST(RequestSource, PromptsAndOutputsAreIndependent) {
  const LengthSpec coin{.distribution = Distribution::uniform, .min = 1, .max = 2};
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
  EXPECT_EQ(refusal(rate), "arrivals: rate is -1/s, expected 1e-09/s to 1000000000/s");
  const GeneratedWorkload prefixes{context, answer, std::nullopt, SharedPrefixSpec{0, 1, context}};
  EXPECT_EQ(refusal(prefixes), "prefixes: count is 0, expected 1 to 1000000 prefixes");
}

TEST(RequestSource, AMissingStreamIsAProgrammingError) {
  EXPECT_THROW(RequestSource({context, answer, std::nullopt}, {nullptr, stream("p"), stream("o")}),
               std::invalid_argument);
  EXPECT_THROW(RequestSource({context, answer, std::nullopt, SharedPrefixSpec{}},
                             {stream("a"), stream("p"), stream("o"), stream("prefixes"), nullptr}),
               std::invalid_argument);
}

/// A source of classes, whose streams are by name.
RequestSource of_classes(std::vector<RequestClass> classes, std::uint64_t seed = 7) {
  GeneratedWorkload w{{}, {}, ArrivalSpec{}};
  w.with_blocks = true;
  w.classes = std::move(classes);
  return {w,
          {stream("arrivals", seed),
           stream("prompts", seed),
           stream("outputs", seed),
           {},
           {},
           {},
           [seed](const std::string& what, std::uint64_t) { return stream(what, seed); }}};
}

const RequestClass chat{"chat", 3, context, answer};
const RequestClass search{"search",
                          1,
                          {.distribution = Distribution::exponential, .mean = 90},
                          {.mean = 5},
                          SharedPrefixSpec{4, 1, {.distribution = Distribution::uniform, .min = 512, .max = 900}}};

TEST(RequestClasses, ComeByTheirShares) {
  RequestSource both = of_classes({chat, search});
  int of_chat = 0;
  for (int i = 0; i < 20'000; ++i) of_chat += both.next().kind == 0 ? 1 : 0;
  EXPECT_NEAR(of_chat, 15'000, 4 * std::sqrt(20'000 * 0.75 * 0.25));
}

// The k-th request of a class is the same one, whatever others come between.
TEST(RequestClasses, AnotherOneLeavesTheLengthsOfTheRest) {
  RequestSource two = of_classes({chat, search});
  RequestSource three = of_classes({{"batch", 5, context, answer, search.prefixes}, search, chat});
  std::vector<std::vector<RequestSpec>> a(2), b(3);
  for (int i = 0; i < 4'000; ++i) {
    RequestSpec x = two.next(), y = three.next();
    EXPECT_EQ(x.arrival_ns, y.arrival_ns);
    a[x.kind].push_back(std::move(x));
    b[y.kind].push_back(std::move(y));
  }
  const auto alike = [](const std::vector<RequestSpec>& one, const std::vector<RequestSpec>& other) {
    const std::size_t n = std::min(one.size(), other.size());
    EXPECT_GT(n, 300U);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(one[i].prompt_tokens, other[i].prompt_tokens);
      EXPECT_EQ(one[i].output_tokens, other[i].output_tokens);
    }
  };
  alike(a[0], b[2]);
  alike(a[1], b[1]);
}

TEST(RequestClasses, ShareTheirPrefixesWithinThemselves) {
  RequestSource two = of_classes({{"other", 1, {.mean = 50}, {.mean = 5}, search.prefixes}, search});
  std::vector<std::set<std::uint64_t>> first(2);
  for (int i = 0; i < 2'000; ++i) {
    const RequestSpec r = two.next();
    first[r.kind].insert(r.prefix_blocks.front());
  }
  EXPECT_EQ(first[0].size(), 4U);
  EXPECT_EQ(first[1].size(), 4U);
  for (const std::uint64_t block : first[0]) EXPECT_EQ(first[1].count(block), 0U);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
