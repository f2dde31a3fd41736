// What results say of stored prompts, from measurements made by hand.
#include <gtest/gtest.h>

#include "tests/results/outcome_of.h"
#include "tests/support/small_scenario.h"
#include "tools/results/metrics.h"
#include "tools/results/result_document.h"
#include "tools/results/run_page.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using results::Json;

scenario::Scenario stored(const std::string& placement) {
  return small_scenario({"decode={policy: full_kv}", "schedule={}", "prefill=prefix_cache",
                         "workload.prefixes={count: 2, tokens: 1k tokens}",
                         "cluster.storage=[{name: ssd, capacity: 1 TB, read: 3 GB/s}, {name: far, read: 1 GB/s}]",
                         "placement={" + placement + "}"});
}

serving::Measurements measured_by_hand() {
  serving::Measurements m;
  m.measured_s = m.capacity_s = 10;
  m.completed = m.completed_measured = 2;
  m.quality = 1.5;
  m.placement.loaded_tokens = 300;
  m.placement.computed_tokens = 100;
  m.placement.drops = 7;
  for (int i = 0; i <= 100; ++i) m.placement.quality.add(0.5 + i / 200.0);  // 0.5 to 1
  m.placement.contents["host"] = {3, 30, 120, 0, {{"full", 1}, {"kvzip 0.1", 2}}};
  m.tiers["host"] = {6, 2, 1, 40};
  m.tiers["ssd"] = {1, 7, 0, 0};
  m.tiers["far"] = {0, 8, 0, 0};
  return m;
}

TEST(PlacementDocument, SaysWhatIsStoredWhereAndInWhichForm) {
  const Json doc = result_document(outcome_of(stored("policy: utility"), measured_by_hand()), false);
  const Json& p = doc["placement"];
  EXPECT_EQ(p["policy"], "utility");
  EXPECT_EQ(p["granularity"], "contexts");
  EXPECT_EQ(p["loaded_tokens"], 300);
  EXPECT_EQ(p["drops"], 7);
  EXPECT_DOUBLE_EQ(p["quality"]["mean"].get<double>(), 0.75);
  EXPECT_DOUBLE_EQ(p["quality"]["p10"].get<double>(), 0.55);
  EXPECT_DOUBLE_EQ(p["quality"]["p1"].get<double>(), 0.505);
  EXPECT_EQ(p["quality"]["min"], 0.5);
  EXPECT_EQ(p["contents"]["host"]["mean_keep_ratio"], 0.25);
  EXPECT_EQ(p["contents"]["host"]["options"]["kvzip 0.1"], 2);
  EXPECT_EQ(p["contents"]["ssd"]["objects"], 0);
  EXPECT_TRUE(p["contents"]["ssd"]["mean_keep_ratio"].is_null());
  EXPECT_EQ(doc["quality"]["mean_score"], 0.75);
  EXPECT_EQ(doc["quality"]["lossless"], false);
  EXPECT_FALSE(result_document(outcome_of(small_scenario(), {}), false).contains("placement"));
}

TEST(PlacementDocument, HasEveryKeyWhereNothingFinished) {
  const Json some = result_document(outcome_of(stored("policy: utility"), measured_by_hand()), false)["placement"];
  const Json none = result_document(outcome_of(stored("policy: utility"), {}), false)["placement"];
  for (const auto& [key, value] : some.items()) EXPECT_TRUE(none.contains(key)) << key;
  EXPECT_TRUE(none["quality"]["mean"].is_null());
  EXPECT_EQ(none["contents"].size(), 3U);
}

TEST(PlacementDocument, StoringWholeIsLossless) {
  const Json doc = result_document(outcome_of(stored("policy: lru"), measured_by_hand()), false);
  EXPECT_EQ(doc["quality"]["lossless"], true);
  EXPECT_EQ(doc["quality"]["mean_score"], 1);
}

TEST(PlacementDocument, DefinesItsFigures) {
  const Json doc = result_document(outcome_of(stored("policy: lru"), measured_by_hand()), false);
  for (const char* key : {"tiers", "placement.loaded_tokens", "placement.loads", "placement.stores",
                          "placement.promotions", "placement.whole_loads", "placement.profiled", "placement.quality",
                          "placement.contents", "placement.contents.mean_keep_ratio"}) {
    EXPECT_TRUE(doc["details"]["definitions"].contains(key)) << key;
  }
  EXPECT_EQ(doc["details"]["definitions"]["placement.moved_bytes"], "written to a tier for a store or a demotion");
}

TEST(PlacementTables, SharesOfLookupsAddUpFromTheNearestTierDown) {
  const auto tables = placement_tables(outcome_of(stored("policy: utility"), measured_by_hand()));
  const auto& rows = tables.at(1).rows;
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(rows[0][0], "host");
  EXPECT_EQ(rows[0][2], "75.0 %");
  EXPECT_EQ(rows[0][7], "0.2500");
  EXPECT_EQ(rows[1][0], "ssd");
  EXPECT_EQ(rows[2][0], "far");
  EXPECT_EQ(rows[3][0], "computed");
  EXPECT_EQ(rows[3][2], "12.5 %");                  // 8 lookups, 6 + 1 hits
  EXPECT_EQ(tables.at(2).rows[0][0], "kvzip 0.1");  // the most used first
  EXPECT_EQ(tables.at(2).rows[0][1], "2");
}

TEST(PlacementFigures, RankASweep) {
  EXPECT_NO_THROW(results::checked_metric("placement.quality.mean"));
  EXPECT_FALSE(results::less_is_better("placement.quality.mean"));
  EXPECT_FALSE(results::less_is_better("tiers.host.hit_rate"));
  EXPECT_TRUE(results::less_is_better("placement.computed_tokens"));
  EXPECT_TRUE(results::less_is_better("placement.unstored"));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
