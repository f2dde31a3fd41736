// The same scenario under another placement policy, for comparisons.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "planner/policy_words.h"
#include "tests/scenario/key_rows.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"
#include "tools/results/provenance.h"
#include "tools/results/scenario_words.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using planner::with_policy;
using Sets = std::vector<std::string>;

scenario::Scenario stored(const std::string& placement, Sets more = {}) {
  more.insert(more.begin(), "placement={" + placement + "}");
  return small_scenario(placed(more));
}

std::string complaint(const scenario::Scenario& s, const std::string& policy) {
  try {
    with_policy(s, policy);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(PlacementPolicy, RunsLikeAScenarioWrittenThatWay) {
  const scenario::Scenario s = stored("policy: utility, profiling: {online: true}, drift: {every: 1 s}");
  const std::string drift = ", drift: {every: 1 s}";
  const auto same = [&](const std::string& policy, const std::string& placement) {
    EXPECT_EQ(resolved_yaml(with_policy(s, policy)), resolved_yaml(stored(placement + drift))) << policy;
    EXPECT_EQ(summary(measure(with_policy(s, policy))), summary(measure(stored(placement + drift)))) << policy;
  };
  same("lru", "policy: lru");
  same("none", "policy: none");
  same("lru:keydiff:0.3", "policy: lru, compressor: keydiff, keep_ratio: 0.3");
  same("sieve:kivi-4bit", "policy: sieve, compressor: kivi-4bit");
  same("importance_chunks:0.1", "policy: importance_chunks, importance: {share: 0.1}");
  same("utility:least_drop_for_need",
       "policy: utility, profiling: {online: true}, utility: {variant: least_drop_for_need}");
  same("utility", "policy: utility, profiling: {online: true}");
}

TEST(PlacementPolicy, AloneStoresWholeWhateverTheScenarioCompresses) {
  const scenario::Scenario s = stored("policy: lru, compressor: keydiff, keep_ratio: 0.3");
  EXPECT_EQ(resolved_yaml(with_policy(s, "lru")), resolved_yaml(stored("policy: lru")));
}

TEST(PlacementPolicy, EveryOneOfTheDefaultComparisonRuns) {
  const scenario::Scenario s = stored("policy: utility");
  for (const std::string& policy : planner::default_policies(s)) {
    EXPECT_EQ(measure(with_policy(s, policy)).completed, 100U) << policy;
  }
}

TEST(PlacementPolicy, ReadsMeasuredCurvesForItsOwnOptions) {
  // The file knows KeyDiff alone; generated curves would know the others.
  const scenario::Scenario s =
      stored("policy: lru, quality: {source: file, path: " + source_path("tests/scenario/data/quality.csv") + "}");
  EXPECT_EQ(measure(with_policy(s, "lru:keydiff:0.25")).placement.quality.quantile(0), 0.75);
  EXPECT_NE(complaint(s, "lru:knorm:0.25"), "nothing");
}

TEST(PlacementPolicy, RefusesUnknownWordsWithTheNearest) {
  const scenario::Scenario s = stored("policy: lru");
  EXPECT_EQ(complaint(s, "utilty"),
            "--policies: unknown placement policy \"utilty\", expected utility or another of none, lru, lfu, arc, "
            "s3fifo, sieve, gdsf, belady, importance_chunks, utility");
  EXPECT_EQ(complaint(s, "utility:least_drp"),
            "--policies: unknown variant \"least_drp\" of utility, expected least_drop or another of least_drop, "
            "least_drop_per_byte, least_drop_for_need");
  EXPECT_EQ(complaint(s, "lru:keydif:0.3"),
            "--policies lru:keydif:0.3: unknown compressor \"keydif\"; did you mean \"keydiff\"? `kvsim list "
            "compressors` names them all");
  EXPECT_TRUE(complaint(s, "fetch").starts_with("--policies: unknown placement policy \"fetch\""));
  EXPECT_EQ(complaint(s, "full_kv"), "nothing") << "a decode policy, over the scenario's own placement";
  EXPECT_TRUE(complaint(s, "utility/full").starts_with("--policies: unknown decode policy \"full\""))
      << complaint(s, "utility/full");
}

TEST(PlacementPolicy, RefusesCombinationsWithoutMeaning) {
  const scenario::Scenario s = stored("policy: lru");
  EXPECT_EQ(complaint(s, "lru:keydiff"), "--policies lru:keydiff: keydiff needs a keep ratio such as lru:keydiff:0.3");
  EXPECT_EQ(complaint(s, "lru:keydiff:1.5"),
            "--policies lru:keydiff:1.5: expected a number above 0 and at most 1, not \"1.5\"");
  EXPECT_EQ(complaint(s, "lru:keydiff:0.3x"),
            "--policies lru:keydiff:0.3x: expected a number above 0 and at most 1, not \"0.3x\"");
  EXPECT_EQ(complaint(s, "lru:kivi-4bit:0.5"),
            "--policies lru:kivi-4bit:0.5: kivi-4bit keeps 0.3125 by its bits and groups: use lru:kivi-4bit");
  EXPECT_EQ(complaint(s, "none:keydiff:0.3"),
            "--policies none:keydiff:0.3: nothing is stored that could be compressed: use none");
  EXPECT_EQ(complaint(s, "lru:keydiff:0.3:x"),
            "--policies lru:keydiff:0.3:x: expected a policy, a compressor and a keep ratio such as lru:keydiff:0.3");
  EXPECT_EQ(complaint(s, "utility:least_drop_for_need:x"),
            "--policies utility:least_drop_for_need:x: expected utility, or a variant of it such as "
            "utility:least_drop_for_need");
  EXPECT_EQ(complaint(s, "importance_chunks:1"),
            "--policies importance_chunks:1: expected a number above 0 and below 1, not \"1\"");
  EXPECT_EQ(complaint(stored("policy: lru", {"workload.requests=0", "run.duration=10 s"}), "belady"),
            "--policies belady: it must know all requests beforehand: give workload.requests, or use a trace");
}

TEST(Lossless, IsWhatStoresPromptsWholeOrNotAtAll) {
  for (const char* whole :
       {"policy: none", "policy: lru", "policy: belady", "policy: lru, compressor: keydiff, keep_ratio: 1"}) {
    EXPECT_TRUE(results::lossless(stored(whole))) << whole;
  }
  for (const char* less : {"policy: utility", "policy: importance_chunks", "policy: lru, compressor: kivi-4bit",
                           "policy: lru, compressor: keydiff, keep_ratio: 0.9"}) {
    EXPECT_FALSE(results::lossless(stored(less))) << less;
  }
  EXPECT_TRUE(results::lossless(small_scenario()));
  EXPECT_FALSE(results::lossless(small_scenario({"decode.policy=lossy", "schedule.policy=fcfs"})));
}

bool says(const scenario::Scenario& s, const std::string& part) {
  for (const std::string& sentence : results::assumptions_of(s)) {
    if (sentence.find(part) != std::string::npos) return true;
  }
  return false;
}

TEST(PlacementAssumptions, AreSaidWhereTheyAreUsed) {
  const std::string curves = "Quality curves are generated", blocks = "share 64 generated quality curves";
  EXPECT_FALSE(says(stored("policy: lru"), curves));
  EXPECT_TRUE(says(stored("policy: utility"), curves));
  EXPECT_FALSE(says(stored("policy: utility"), blocks));
  EXPECT_TRUE(says(stored("policy: utility, granularity: blocks"), blocks));
  EXPECT_FALSE(says(stored("policy: lru, granularity: blocks"), blocks));
  EXPECT_FALSE(says(stored("policy: utility"), "Drift of queries is generated"));
  EXPECT_TRUE(says(stored("policy: utility, drift: {every: 1 s}"), "Drift of queries is generated"));
  EXPECT_TRUE(says(stored("policy: importance_chunks"), "Choosing important chunks takes no time"));
  EXPECT_TRUE(says(stored("policy: utility"), "Contexts come from no named dataset"));
  const Sets qasper = {"workload.prefixes={count: 4, datasets: [qasper]}"};
  EXPECT_TRUE(says(stored("policy: utility", qasper), "Losses within qasper spread"));
  EXPECT_FALSE(says(stored("policy: utility", qasper), "Contexts come from no named dataset"));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
