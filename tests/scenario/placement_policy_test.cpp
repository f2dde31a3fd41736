// The same scenario under another placement policy, for comparisons.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "planner/policy_words.h"
#include "tests/scenario/key_rows.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using planner::with_policy;
scenario::ScenarioFile stored_file(const std::string& placement, Sets more = {}) {
  more.insert(more.begin(), "placement={" + placement + "}");
  return small_file(placed(more));
}

scenario::Scenario stored(const std::string& placement, Sets more = {}) {
  return stored_file(placement, std::move(more)).load();
}

std::string complaint(const scenario::ScenarioFile& s, const std::string& policy) {
  try {
    with_policy(s, policy);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(PlacementPolicy, RunsLikeAScenarioWrittenThatWay) {
  const scenario::ScenarioFile s = stored_file("policy: utility, profiling: {online: true}, drift: {every: 1 s}");
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
  const scenario::ScenarioFile s = stored_file("policy: lru, compressor: keydiff, keep_ratio: 0.3");
  EXPECT_EQ(resolved_yaml(with_policy(s, "lru")), resolved_yaml(stored("policy: lru")));
}

TEST(PlacementPolicy, EveryOneOfTheDefaultComparisonRuns) {
  const scenario::ScenarioFile s = stored_file("policy: utility");
  for (const std::string& policy : planner::default_policies(s.load())) {
    EXPECT_EQ(measure(with_policy(s, policy)).completed, 100U) << policy;
  }
}

TEST(PlacementPolicy, ReadsMeasuredCurvesForItsOwnOptions) {
  // The file knows KeyDiff alone; generated curves would know the others.
  const scenario::ScenarioFile s =
      stored_file("policy: lru, quality: {source: file, path: " + source_path("tests/scenario/data/quality.csv") + "}");
  EXPECT_EQ(measure(with_policy(s, "lru:keydiff:0.25")).placement.quality.quantile(0), 0.75);
  EXPECT_NE(complaint(s, "lru:knorm:0.25"), "nothing");
}

TEST(PlacementPolicy, RefusesUnknownWordsWithTheNearest) {
  const scenario::ScenarioFile s = stored_file("policy: lru");
  EXPECT_EQ(complaint(s, "utilty"),
            "--policies: unknown placement policy \"utilty\", expected utility or another of none, lru, lfu, arc, "
            "s3fifo, sieve, gdsf, belady, importance_chunks, utility");
  EXPECT_EQ(complaint(s, "utility:least_drp"),
            "--policies utility:least_drp: placement.utility.variant: unknown value \"least_drp\"; did you mean "
            "\"least_drop\"?");
  EXPECT_EQ(complaint(s, "lru:keydif:0.3"),
            "--policies lru:keydif:0.3: placement.compressor: unknown compressor \"keydif\"; did you mean \"keydiff\"? "
            "`kvsim list "
            "compressors` names them all");
  EXPECT_TRUE(complaint(s, "fetch").starts_with("--policies: unknown placement policy \"fetch\""));
  EXPECT_EQ(complaint(s, "full_kv"), "nothing") << "a decode policy, over the scenario's own placement";
  EXPECT_TRUE(complaint(s, "utility/full").starts_with("--policies: unknown decode policy \"full\""))
      << complaint(s, "utility/full");
}

TEST(PlacementPolicy, RefusesWhatTheScenarioWouldBeRefusedFor) {
  const scenario::ScenarioFile s = stored_file("policy: lru");
  EXPECT_EQ(
      complaint(s, "lru:keydiff"),
      "--policies lru:keydiff: --set placement: missing key \"keep_ratio\", which compressor keydiff needs, such as "
      "0.25");
  EXPECT_EQ(complaint(s, "lru:keydiff:1.5"),
            "--policies lru:keydiff:1.5: placement.keep_ratio: must be > 0 and <= 1, found 1.5");
  EXPECT_EQ(complaint(s, "lru:keydiff:0.3x"),
            "--policies lru:keydiff:0.3x: placement.keep_ratio: expected a number such as \"0.2\", found \"0.3x\"");
  EXPECT_EQ(complaint(s, "lru:kivi-4bit:0.5"),
            "--policies lru:kivi-4bit:0.5: placement.keep_ratio: kivi-4bit keeps 0.3125 by its bits and groups: remove "
            "this key, or choose another compressor");
  EXPECT_EQ(complaint(s, "none:keydiff:0.3"),
            "--policies none:keydiff:0.3: placement.compressor: not with policy none: nothing is stored that could be "
            "compressed: remove this key");
  EXPECT_EQ(complaint(s, "lru:keydiff:0.3:x"),
            "--policies lru:keydiff:0.3:x: too many values: lru takes placement.compressor, then placement.keep_ratio");
  EXPECT_EQ(complaint(s, "utility:least_drop_for_need:x"),
            "--policies utility:least_drop_for_need:x: too many values: utility takes placement.utility.variant");
  EXPECT_EQ(complaint(s, "importance_chunks:1"),
            "--policies importance_chunks:1: placement.importance.share: must be > 0 and < 1, found 1: with all tokens "
            "important there is no choice");
  EXPECT_EQ(complaint(s, "utility/full_kv:staggered"),
            "--policies utility/full_kv:staggered: schedule staggered orders verifications and decode policy full_kv "
            "has none: use fcfs");
  EXPECT_EQ(complaint(stored_file("policy: lru", {"workload.requests=0", "run.duration=10 s"}), "belady"),
            "--policies belady: placement.policy: belady must know all requests beforehand: give workload.requests, or "
            "use a trace");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
