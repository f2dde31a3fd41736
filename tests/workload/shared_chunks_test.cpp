#include "models/workload/shared_chunks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "models/workload/request_source.h"
#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using Chunks = std::vector<std::uint64_t>;

std::unique_ptr<RandomSource> of_request(std::uint64_t request, std::uint64_t seed = 1) {
  return std::make_unique<RandomSourceOf<engine::RandomStream>>(engine::RandomStream(seed, "chunks", request));
}

// P(k) = k^-s / H; of n draws the standard deviation of a count is below sqrt(n P).
TEST(SharedChunks, TheFirstOneFollowsZipfsLaw) {
  constexpr int draws = 100'000;
  constexpr std::size_t count = 50;
  for (const double s : {0.0, 0.7, 1.0, 2.5}) {
    const SharedChunks shared({count, s, 3, 512});
    const auto random = stream("chunks");
    std::vector<double> drawn(count);
    for (int i = 0; i < draws; ++i) drawn.at(shared.draw(*random).front()) += 1;
    double H = 0;
    for (std::size_t k = 1; k <= count; ++k) H += std::pow(k, -s);
    for (std::size_t k = 1; k <= count; ++k) {
      const double expected = draws * std::pow(k, -s) / H;
      EXPECT_NEAR(drawn[k - 1], expected, 4.5 * std::sqrt(expected)) << "s " << s << ", chunk " << k;
    }
  }
}

// Weights 1, 1/2, 1/3, together 11/6: after chunk a comes b with weight b / (11/6 - weight a).
TEST(SharedChunks, TheNextOneFollowsItAmongThoseThatAreLeft) {
  constexpr int draws = 100'000;
  const SharedChunks shared({3, 1, 3, 512});
  const auto random = stream("chunks");
  double drawn[3][3] = {};
  for (int i = 0; i < draws; ++i) {
    const Chunks chunks = shared.draw(*random);
    drawn[chunks[0]][chunks[1]] += 1;
  }
  const double weight[3] = {1, 1.0 / 2, 1.0 / 3}, all = 11.0 / 6;
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      const double expected = a == b ? 0 : draws * weight[a] / all * weight[b] / (all - weight[a]);
      EXPECT_NEAR(drawn[a][b], expected, 4.5 * std::sqrt(expected)) << a << " then " << b;
    }
  }
}

// By a law so steep that chunk 0 comes nearly always, those that follow it are nearly always drawn among what is left:
// of 2^-10, 3^-10 and 4^-10 the second has 0.01701 of the weight, the last 0.00096.
TEST(SharedChunks, OfASteepLawComeInDueTimeAndInItsProportions) {
  constexpr int draws = 100'000;
  const SharedChunks shared({4, 10, 4, 512});
  const auto random = stream("chunks");
  double second[4] = {};
  for (int i = 0; i < draws; ++i) {
    const Chunks chunks = shared.draw(*random);
    if (chunks[0] == 0) second[chunks[1]] += 1;
  }
  const double left = std::pow(2, -10) + std::pow(3, -10) + std::pow(4, -10);
  EXPECT_GT(second[1] + second[2] + second[3], 0.99 * draws);
  for (int k = 1; k < 4; ++k) {
    const double expected = draws * 0.999 * std::pow(k + 1, -10) / left;
    EXPECT_NEAR(second[k], expected, 4.5 * std::sqrt(expected) + 0.001 * expected) << k;
  }
  EXPECT_EQ(SharedChunks({1'000'000, 10, 50, 8}).draw(*random).size(), 50U) << "chunk 49 has 1e-17 of the weight";
}

// The last two of a hundred, all alike, are nearly always drawn among what is left, either first in half of the
// prompts.
TEST(SharedChunks, TheLastOnesAreInNoOrder) {
  const SharedChunks shared({100, 0, 100, 512});
  const auto random = stream("chunks");
  int ascending = 0;
  for (int i = 0; i < 2'000; ++i) {
    const Chunks chunks = shared.draw(*random);
    ascending += chunks[98] < chunks[99] ? 1 : 0;
  }
  EXPECT_NEAR(ascending, 1'000, 4.5 * 22.4);  // binomial
}

TEST(SharedChunks, OfOnePromptAreAllDifferentAndWithinTheCount) {
  for (const double s : {0.0, 1.0, 3.0}) {
    const SharedChunks shared({30, s, 20, 512});
    for (std::uint64_t request = 0; request < 500; ++request) {
      const Chunks chunks = shared.draw(*of_request(request));
      EXPECT_EQ(chunks.size(), 20U);
      EXPECT_EQ(std::set<std::uint64_t>(chunks.begin(), chunks.end()).size(), 20U);
      EXPECT_LT(*std::max_element(chunks.begin(), chunks.end()), 30U);
    }
  }
}

TEST(SharedChunks, AllOfThemAreAPermutation) {
  for (const double s : {0.0, 1.0, 10.0}) {
    for (const std::int64_t count : {1, 2, 7, 300}) {
      Chunks chunks = SharedChunks({count, s, count, 512}).draw(*stream("chunks"));
      std::sort(chunks.begin(), chunks.end());
      ASSERT_EQ(std::ssize(chunks), count);
      for (std::size_t i = 0; i < chunks.size(); ++i) EXPECT_EQ(chunks[i], i);
    }
  }
}

TEST(SharedChunks, MoreOfThemInAPromptLeaveTheFirstOnes) {
  for (const double s : {0.0, 1.0, 10.0}) {
    const SharedChunks few({40, s, 3, 512}), many({40, s, 40, 512});
    for (std::uint64_t request = 0; request < 200; ++request) {
      const Chunks a = few.draw(*of_request(request)), b = many.draw(*of_request(request));
      EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin())) << request;
    }
  }
}

std::size_t common(const Chunks& a, const Chunks& b) {
  return static_cast<std::size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

TEST(SharedChunks, ChainsAreEqualAsFarAsAllChunksAre) {
  const auto shared = [](const Chunks& a, const Chunks& b) {
    return common(SharedChunks::chain(a), SharedChunks::chain(b));
  };
  EXPECT_EQ(shared({1, 2, 3}, {1, 2, 3}), 3U);
  EXPECT_EQ(shared({1, 2, 3}, {1, 2}), 2U);
  EXPECT_EQ(shared({1, 2, 3}, {1, 3, 2}), 1U);
  EXPECT_EQ(shared({1, 2, 3}, {2, 1, 3}), 0U);
  EXPECT_EQ(shared({1, 2, 3}, {0, 2, 3}), 0U);
  EXPECT_TRUE(SharedChunks::chain({}).empty());
  // All chains of up to three of nine chunks: as many hashes as there are of them.
  std::set<std::uint64_t> hashes;
  for (std::uint64_t a = 0; a < 9; ++a) {
    for (std::uint64_t b = 0; b < 9; ++b) {
      for (std::uint64_t c = 0; c < 9; ++c) {
        const Chunks chain = SharedChunks::chain({a, b, c});
        ASSERT_EQ(chain.size(), 3U);
        hashes.insert(chain.begin(), chain.end());
      }
    }
  }
  EXPECT_EQ(hashes.size(), 9U + 81U + 729U);
}

TEST(SharedChunks, SayWhatIsWrong) {
  EXPECT_EQ(problem_with(SharedChunkSpec{}), "");
  EXPECT_EQ(problem_with(SharedChunkSpec{0, 1, 1, 1}), "count is 0, expected 1 to 1000000 chunks");
  EXPECT_EQ(problem_with(SharedChunkSpec{5, std::nan(""), 1, 1}), "popularity is nan, expected 0 to 10");
  EXPECT_EQ(problem_with(SharedChunkSpec{5, 1, 0, 1}), "per_request is 0, expected 1 to 10000 chunks");
  EXPECT_EQ(problem_with(SharedChunkSpec{5, 1, 6, 1}),
            "per_request is 6, expected at most 5 (count): a prompt has no chunk twice");
  EXPECT_EQ(problem_with(SharedChunkSpec{5, 1, 5, 0}), "tokens is 0, expected 1 to 9999999");
  EXPECT_EQ(problem_with(SharedChunkSpec{5, 1, 5, 2'000'000}),
            "per_request is 5 chunks of 2000000 tokens, 10000000 together, expected fewer than 10000000");
  EXPECT_EQ(problem_with(SharedChunkSpec{5, 1, 5, 1'999'999}), "");
  EXPECT_EQ(failure_of([] {
              SharedChunks({5, 1, 6, 1});
            }),
            "per_request is 6, expected at most 5 (count): a prompt has no chunk twice");
}

const LengthSpec query{.distribution = Distribution::lognormal, .mean = 60, .cv = 1};
const LengthSpec answer{.distribution = Distribution::exponential, .mean = 300};

RequestSource source(const GeneratedWorkload& workload, std::uint64_t seed = 7) {
  return {workload,
          {stream("arrivals", seed), stream("prompts", seed), stream("outputs", seed), nullptr, nullptr,
           [seed](std::uint64_t request) { return of_request(request, seed); }}};
}

RequestSource with_chunks(std::int64_t per_request, double rate = 1, bool with_blocks = true) {
  return source({query, answer, ArrivalSpec{.rate_per_s = rate}, std::nullopt, with_blocks,
                 SharedChunkSpec{.count = 100, .per_request = per_request, .tokens = 300}});
}

TEST(RequestsOfChunks, HaveThemBeforeTheQueryThatWouldBeThereWithoutThem) {
  RequestSource without = source({query, answer, ArrivalSpec{}});
  RequestSource with = with_chunks(4);
  EXPECT_EQ(with.block_tokens(), 300);
  for (int i = 0; i < 300; ++i) {
    const RequestSpec x = without.next(), y = with.next();
    EXPECT_TRUE(x.chunks.empty());
    EXPECT_EQ(x.chunk_tokens, 0);
    EXPECT_EQ(y.prompt_tokens, 1'200 + x.prompt_tokens);
    EXPECT_EQ(y.output_tokens, x.output_tokens);
    EXPECT_EQ(y.arrival_ns, x.arrival_ns);
    EXPECT_EQ(y.chunks.size(), 4U);
    EXPECT_EQ(y.chunk_tokens, 300);
    EXPECT_EQ(y.prefix_blocks, SharedChunks::chain(y.chunks));
    EXPECT_EQ(y.context, -1);
  }
}

TEST(RequestsOfChunks, MoreChunksAndOtherRatesLeaveTheFirstOnesOfAllRequests) {
  RequestSource few = with_chunks(2), many = with_chunks(50), fast = with_chunks(2, 90);
  std::set<Chunks> different;
  for (int i = 0; i < 300; ++i) {
    const Chunks a = few.next().chunks, b = many.next().chunks;
    EXPECT_EQ(common(a, b), 2U) << i;
    EXPECT_EQ(fast.next().chunks, a);
    different.insert(a);
  }
  EXPECT_GT(different.size(), 200U);
}

TEST(RequestsOfChunks, HaveNoBlocksWhereNobodyAsksForThem) {
  RequestSource bare = with_chunks(4, 1, false), with = with_chunks(4);
  EXPECT_EQ(bare.block_tokens(), 0);
  const RequestSpec a = bare.next(), b = with.next();
  EXPECT_TRUE(a.prefix_blocks.empty());
  EXPECT_EQ(a.chunks, b.chunks);
  EXPECT_EQ(a.prompt_tokens, b.prompt_tokens);
}

TEST(RequestsOfChunks, StayWithinTheLongestRequest) {
  const LengthSpec longest{.mean = 10'000'000};
  RequestSource r = source({longest, answer, std::nullopt, std::nullopt, true, SharedChunkSpec{}});
  EXPECT_EQ(r.next().prompt_tokens, 10'000'000);
}

TEST(RequestsOfChunks, SayWhatIsWrong) {
  const GeneratedWorkload wrong{query, answer, std::nullopt, std::nullopt, true, SharedChunkSpec{.count = 0}};
  EXPECT_EQ(failure_of([&] { source(wrong); }), "chunks: count is 0, expected 1 to 1000000 chunks");
  const GeneratedWorkload workload{query, answer, std::nullopt, std::nullopt, true, SharedChunkSpec{}};
  EXPECT_THROW(RequestSource(workload, {stream("a"), stream("p"), stream("o")}), std::invalid_argument);
  GeneratedWorkload both = workload;
  both.prefixes = SharedPrefixSpec{1, 1, query};
  EXPECT_THROW(RequestSource(both, {stream("a"), stream("p"), stream("o"), stream("q"), stream("r"),
                                    [](std::uint64_t request) { return of_request(request); }}),
               std::invalid_argument);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
