// What a prefix cache costs, by hand.
#include <gtest/gtest.h>

#include "planner/capacity/machine_choice.h"

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

/// Of 2,000 looks, hits by capacity.
models::HitRateCurve curve() {
  models::HitRateCurve c;
  c.accesses = 2000;
  c.distinct = 10000;
  c.steps = {{10, 100}, {500, 810}, {600, 900}, {4000, 950}, {5000, 990}, {9000, 1000}};
  return c;
}

models::PriceTable prices() {
  models::PriceTable table;
  table.dram.usd.value = 7.3;  // 0.01 USD per GB and hour
  table.ssd.usd.value = 0.73;
  return table;
}

TEST(PrefixCache, IsTheSmallestThatReachesTheShareInDramAlone) {
  const std::vector<CacheOption> options = cache_options(curve(), 2e9, prices());
  ASSERT_EQ(options.size(), 4U);
  EXPECT_DOUBLE_EQ(options[0].dram_gb, 1200);  // 600 blocks of 2 GB
  EXPECT_DOUBLE_EQ(options[0].ssd_gb, 0);
  EXPECT_DOUBLE_EQ(options[0].hit_rate, 0.45);
  EXPECT_DOUBLE_EQ(options[0].usd_per_hour, 12);
  EXPECT_DOUBLE_EQ(options[2].dram_gb, 10000);
  EXPECT_DOUBLE_EQ(options[2].usd_per_hour, 100);
}

TEST(PrefixCache, OrDramForNineTenthsOfItsHitsAndSsdForTheOlderBlocks) {
  const std::vector<CacheOption> options = cache_options(curve(), 2e9, prices());
  EXPECT_DOUBLE_EQ(options[1].dram_gb, 1000);  // 81 % of 1,000 hits: 500 blocks
  EXPECT_DOUBLE_EQ(options[1].ssd_gb, 200);
  EXPECT_DOUBLE_EQ(options[1].usd_per_hour, 10.2);
  EXPECT_DOUBLE_EQ(options[3].dram_gb, 1200);  // 89.1 %: 600 blocks
  EXPECT_DOUBLE_EQ(options[3].ssd_gb, 8800);
  EXPECT_DOUBLE_EQ(options[3].hit_rate, options[2].hit_rate);
  EXPECT_LT(options[3].usd_per_hour, options[2].usd_per_hour);
}

TEST(PrefixCache, WithoutReuseThereIsNothingToBuy) {
  EXPECT_TRUE(cache_options({}, 2e9, prices()).empty());
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
