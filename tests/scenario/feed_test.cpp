// Prefix blocks of the requests that a scenario feeds to a simulation.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "models/placement/quality_curves.h"
#include "tests/scenario/temporary_folder.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

scenario::Scenario with_pools(scenario::Scenario s) {
  s.serving.cluster.pools.emplace();
  return s;
}

class Feed : public ::testing::Test {
 protected:
  Feed() {
    folder_.write("t.jsonl", R"({"timestamp": 0, "input_length": 600, "output_length": 9, "hash_ids": [4, 5]})"
                             "\n");
    folder_.write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0.0,600,9\n");
  }
  scenario::Scenario trace(const std::string& format, const std::string& file) const {
    return small_scenario({"workload={trace: {format: " + format + ", path: " + folder_.path() + "/" + file + "}}"});
  }
  TemporaryFolder folder_;
};

TEST_F(Feed, OfATraceHasItsBlocksForPools) {
  const auto feed = make_feed(with_pools(trace("mooncake", "t.jsonl")), 1);
  EXPECT_EQ(feed->prefix_block_tokens(), 512);
  EXPECT_EQ(feed->next()->prefix_blocks, (std::vector<std::uint64_t>{4, 5}));
  EXPECT_FALSE(feed->next());
}

TEST_F(Feed, OfATraceLeavesItsBlocksOutForReplicas) {
  const auto feed = make_feed(trace("mooncake", "t.jsonl"), 1);
  EXPECT_EQ(feed->prefix_block_tokens(), 0);
  const auto request = feed->next();
  EXPECT_TRUE(request->prefix_blocks.empty());
  EXPECT_EQ(request->prompt_tokens, 600);
}

TEST_F(Feed, OfATraceWithoutBlocksHasNone) {
  const auto feed = make_feed(with_pools(trace("csv", "t.csv")), 1);
  EXPECT_EQ(feed->prefix_block_tokens(), 0);
  EXPECT_TRUE(feed->next()->prefix_blocks.empty());
}

// The second request of the file comes at 2.5 s; prompts and outputs are those of the same workload with arrivals.
TEST_F(Feed, OfATracesArrivalsHasThemOverGeneratedPrompts) {
  folder_.write("two.csv", "arrival_s,prompt_tokens,output_tokens\n0.5,600,9\n2.5,700,8\n");
  const std::string rest =
      ", context: {distribution: exponential, mean: 64 tokens}, output: {distribution: exponential, mean: 32 tokens}, "
      "prefixes: {count: 9, tokens: {distribution: exponential, mean: 9k tokens}}";
  const scenario::Scenario s = small_scenario(
      {"workload={trace: {format: csv, arrivals_only: true, path: " + folder_.path() + "/two.csv}" + rest + "}"});
  const scenario::Scenario poisson = small_scenario({"workload={requests: 2, arrivals: {rate: 1/s}" + rest + "}"});
  EXPECT_TRUE(has_prefix_blocks(s));
  const auto recorded = make_feed(s, 1), generated = make_feed(poisson, s.serving.run.seed);
  for (const std::int64_t arrival_ns : std::vector<std::int64_t>{500'000'000, 2'500'000'000}) {
    const auto a = recorded->next(), b = generated->next();
    ASSERT_TRUE(a);
    EXPECT_EQ(a->arrival_ns, arrival_ns);
    EXPECT_EQ(a->prompt_tokens, b->prompt_tokens);
    EXPECT_EQ(a->output_tokens, b->output_tokens);
    EXPECT_EQ(a->context, b->context);
    EXPECT_EQ(a->context_tokens, b->context_tokens);
  }
  EXPECT_FALSE(recorded->next());
}

TEST_F(Feed, OfSharedPrefixesHasTheirBlocksForPools) {
  const scenario::Scenario s = small_scenario({"workload.prefixes={count: 1, tokens: 1k tokens}"});
  const auto pools = make_feed(with_pools(s), 1), replicas = make_feed(s, 1);
  EXPECT_EQ(pools->prefix_block_tokens(), 256);
  EXPECT_EQ(replicas->prefix_block_tokens(), 0);
  const auto a = pools->next(), b = pools->next(), bare = replicas->next();
  EXPECT_EQ(a->prompt_tokens, 17'000);
  EXPECT_EQ(a->prefix_blocks.size(), 67U);  // 66.4
  EXPECT_EQ(a->prefix_blocks[2], b->prefix_blocks[2]);
  EXPECT_NE(a->prefix_blocks[3], b->prefix_blocks[3]);  // 1000 tokens are three whole blocks
  EXPECT_EQ(bare->prompt_tokens, 17'000);
  EXPECT_TRUE(bare->prefix_blocks.empty());
}

TEST_F(Feed, OfChunksHasThemAlwaysAndTheirBlocksForWhoeverSharesThem) {
  const std::string chunks = "workload.chunks={count: 50, per_request: 4, tokens: 300 tokens}";
  const scenario::Scenario s = small_scenario({chunks});
  const auto pools = make_feed(with_pools(s), 1), replicas = make_feed(s, 1), other = make_feed(s, 2);
  EXPECT_EQ(pools->prefix_block_tokens(), 300);
  EXPECT_EQ(replicas->prefix_block_tokens(), 0);
  const auto a = pools->next(), bare = replicas->next();
  EXPECT_EQ(a->prompt_tokens, 17'200);
  EXPECT_EQ(a->chunks.size(), 4U);
  EXPECT_EQ(a->chunk_tokens, 300);
  EXPECT_EQ(a->prefix_blocks, models::SharedChunks::chain(a->chunks));
  EXPECT_EQ(bare->chunks, a->chunks);
  EXPECT_EQ(bare->prompt_tokens, 17'200);
  EXPECT_TRUE(bare->prefix_blocks.empty());
  EXPECT_NE(other->next()->chunks, a->chunks) << "another seed";
  EXPECT_NE(pools->next()->chunks, a->chunks) << "another request";
  EXPECT_TRUE(has_prefix_blocks(s));
}

TEST_F(Feed, OfChunksIsStoredByBlocks) {
  const scenario::Scenario s = small_scenario({"workload.chunks={count: 50, per_request: 4}", "prefill=prefix_cache",
                                               "placement={policy: lru}", "decode={policy: full_kv}", "schedule={}"});
  EXPECT_EQ(s.serving.placement->granularity, models::Granularity::blocks);
  EXPECT_EQ(s.serving.context_sensitivities.size(), models::block_curves);
  EXPECT_EQ(make_feed(s, 1)->next()->prefix_blocks.size(), 4U);
}

TEST_F(Feed, WithoutPrefixesHasNoBlocks) {
  const auto feed = make_feed(with_pools(small_scenario()), 1);
  EXPECT_EQ(feed->prefix_block_tokens(), 0);
  EXPECT_TRUE(feed->next()->prefix_blocks.empty());
}

TEST_F(Feed, SharedPrefixesDependOnTheSeed) {
  const scenario::Scenario s =
      small_scenario({"workload.prefixes={count: 9, tokens: {distribution: exponential, mean: 9k tokens}}"});
  EXPECT_EQ(make_feed(s, 1)->next()->prompt_tokens, make_feed(s, 1)->next()->prompt_tokens);
  EXPECT_NE(make_feed(s, 1)->next()->prompt_tokens, make_feed(s, 2)->next()->prompt_tokens);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
