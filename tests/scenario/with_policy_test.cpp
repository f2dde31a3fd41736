// The same scenario under another policy, for comparisons.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "planner/policy_words.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using planner::with_policy;
std::string policies(const scenario::Scenario& s) {
  return s.serving.decode.policy + ":" + s.serving.schedule.policy;
}

std::string complaint(const scenario::ScenarioFile& s, const std::string& policy) {
  try {
    with_policy(s, policy);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "nothing";
}

TEST(WithPolicy, KeepsAScheduleOfVerifications) {
  EXPECT_EQ(policies(with_policy(small_file(), "draft_verify")), "draft_verify:staggered");
  EXPECT_EQ(policies(with_policy(small_file({"schedule.policy=lock_step"}), "draft_verify")), "draft_verify:lock_step");
}

TEST(WithPolicy, GivesVerificationsAScheduleWhereTheScenarioHasNone) {
  const auto s = small_file({"decode.policy=full_kv", "schedule.policy=fcfs"});
  EXPECT_EQ(policies(with_policy(s, "draft_verify")), "draft_verify:staggered");
}

TEST(WithPolicy, TakesTheScheduleOfVerificationsAwayWhereThereAreNone) {
  EXPECT_EQ(policies(with_policy(small_file(), "full_kv")), "full_kv:fcfs");
  EXPECT_EQ(policies(with_policy(small_file(), "lossy")), "lossy:fcfs");
}

TEST(WithPolicy, NamesASchedule) {
  for (const char* schedule : {"fcfs", "lock_step", "sequential_verify", "staggered"}) {
    const std::string policy = std::string("draft_verify:") + schedule;
    EXPECT_EQ(policies(with_policy(small_file(), policy)), policy);
  }
}

TEST(WithPolicy, ChangesNothingElse) {
  scenario::Scenario changed = with_policy(small_file({"run.seed=7", "decode.draft_length=9"}), "full_kv");
  changed.serving.decode.policy = "draft_verify";
  changed.serving.schedule.policy = "staggered";
  EXPECT_EQ(resolved_yaml(changed), resolved_yaml(small_scenario({"run.seed=7", "decode.draft_length=9"})));
}

TEST(WithPolicy, OfTheScenariosOwnPoliciesIsTheScenario) {
  EXPECT_EQ(summary(measure(with_policy(small_file(), "draft_verify"))), summary(measure(small_scenario())));
}

TEST(WithPolicy, RunsLikeAScenarioWrittenThatWay) {
  EXPECT_EQ(summary(measure(with_policy(small_file(), "full_kv"))),
            summary(measure_with({"decode.policy=full_kv", "schedule.policy=fcfs"})));
}

TEST(WithPolicy, RefusesUnknownNamesWithTheNearest) {
  EXPECT_EQ(complaint(small_file(), "draft_verfy"),
            "--policies: unknown decode policy \"draft_verfy\", expected draft_verify or another of full_kv, lossy, "
            "draft_verify, drafter, sparse_self, draft_verify+drafter, sparse_self+drafter, lossy+drafter, "
            "speculative_prefetch, speculative_prefetch+drafter, fetch_on_demand, quantised_only, full_offload, "
            "full_offload+drafter");
  EXPECT_EQ(complaint(small_file(), "xyz"),
            "--policies: unknown decode policy \"xyz\", expected one of full_kv, lossy, draft_verify, drafter, "
            "sparse_self, draft_verify+drafter, sparse_self+drafter, lossy+drafter, speculative_prefetch, "
            "speculative_prefetch+drafter, fetch_on_demand, quantised_only, full_offload, full_offload+drafter");
  EXPECT_EQ(complaint(small_file(), "draft_verify:stagered"),
            "--policies draft_verify:stagered: schedule.policy: unknown value \"stagered\"; did you mean "
            "\"staggered\"?");
  EXPECT_NE(complaint(small_file(), ""), "nothing");
  EXPECT_EQ(complaint(small_file(), "draft_verify:"), "--policies draft_verify:: schedule.policy: there is no value");
  EXPECT_EQ(complaint(small_file(), "draft_verify:fcfs:x"),
            "--policies draft_verify:fcfs:x: too many values: draft_verify takes schedule.policy");
}

TEST(WithPolicy, RefusesCombinationsWithoutMeaning) {
  EXPECT_EQ(complaint(small_file(), "full_kv:staggered"),
            "--policies full_kv:staggered: schedule staggered orders verifications and decode policy full_kv has none: "
            "use fcfs");
  EXPECT_EQ(complaint(small_file({"decode={policy: full_kv}", "schedule.policy=fcfs"}), "lossy"),
            "--policies lossy: decode policy lossy needs a compressor");
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
