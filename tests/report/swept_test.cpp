// What sweeps answer: by their axes, among the points that meet the objectives, and how sure the best one is.
#include <gtest/gtest.h>

#include "tests/report/documents.h"
#include "tools/report/answers.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

/// Three draft lengths: 100, 101 and 102 tokens/s with intervals of so many to both sides.
Json draft_lengths(double half_width) {
  Json d = sweep_document(3, 1);
  for (Json& point : d["points"]) {
    point["result"]["confidence"]["throughput.output_tokens_per_s"]["half_width_95"] = half_width;
  }
  return d;
}

/// Three policies at one rate, the third the best.
Json policies() {
  Json d = draft_lengths(0.1);
  d["axes"] = Json::array({{{"path", "decode.policy"}, {"values", {"full_kv", "lossy", "draft_verify"}}},
                           {{"path", "workload.arrivals.rate"}, {"values", Json::array({"1/s"})}}});
  for (std::size_t i = 0; i < 3; ++i) {
    d["points"][i]["set"] = {{"decode.policy", d["axes"][0]["values"][i]}, {"workload.arrivals.rate", "1/s"}};
  }
  d["best"]["set"] = d["points"][2]["set"];
  return d;
}

TEST(Swept, DraftLengthsAndKeepRatiosAnswerForAPlan) {
  const Fact f = only({sweep_document()}, kWhichPlan);
  EXPECT_EQ(f.answer, "draft_length = 3, keep_ratio = 0.2");
  EXPECT_TRUE(says(f, "The best of 6 points simulated: output tokens/s 105.0.")) << f.detail;
  EXPECT_EQ(only({sweep_document(), plan_document()}, kWhichPlan).answer.substr(0, 6), "x = 32");
}

TEST(Swept, OtherAxesAnswerNeitherQuestion) {
  Json d = sweep_document(3, 1);
  d["axes"] = Json::array({{{"path", "workload.arrivals.rate"}, {"values", {"1/s", "2/s", "4/s"}}}});
  EXPECT_EQ(only({d}, kWhichPlan).answer, "");
  EXPECT_EQ(only({d}, kWhichPolicy).answer, "");
}

TEST(Swept, PoliciesAnswerWhichOneWithoutTheOtherAxes) {
  EXPECT_EQ(only({policies()}, kWhichPolicy).answer, "policy = draft_verify");
  EXPECT_EQ(only({policies()}, kWhichPlan).answer, "");
}

TEST(Swept, TheBestPointIsOfThoseThatMeetTheObjectives) {
  Json d = draft_lengths(0.1);
  d["resolved_scenario"] = "slo: {tpot_p99: 50 ms}\n";
  d["points"][2]["result"]["slo"]["attainment"] = 0.9;  // the others: 0.99
  const Fact f = only({d}, kWhichPlan);
  EXPECT_EQ(f.answer, "draft_length = 2, keep_ratio = 0.1");
  EXPECT_TRUE(says(f, "The best of 3 points simulated that meets the objectives: output tokens/s 101.0.")) << f.detail;
  EXPECT_TRUE(says(f, "99.0 % of its requests met the objectives (TPOT p99 50.0 ms).")) << f.detail;
}

TEST(Swept, OfAServiceTheBestPointIsOfThoseInASteadyState) {
  Json d = draft_lengths(0.1);
  d["points"][2]["result"]["requests"]["unsteady_state"] = "the queue grows";
  const auto answer = [&d](const char* scenario) {
    d["resolved_scenario"] = scenario;
    return only({d}, kWhichPlan);
  };
  const Fact f = answer("workload:\n  arrivals: {rate: 1/s}\n");
  EXPECT_EQ(f.answer, "draft_length = 2, keep_ratio = 0.1");
  EXPECT_TRUE(says(f, "The best of 3 points simulated in a steady state: output tokens/s 101.0.")) << f.detail;
  EXPECT_EQ(answer("workload:\n  closed: {concurrency: 8}\n").answer, "draft_length = 3, keep_ratio = 0.1");
  d["points"][1]["result"]["slo"]["attainment"] = 0.9;  // the others: 0.99
  const Fact both = answer("slo: {tpot_p99: 50 ms}\nworkload:\n  arrivals: {rate: 1/s}\n");
  EXPECT_EQ(both.answer, "draft_length = 1, keep_ratio = 0.1");
  EXPECT_TRUE(says(both, "simulated that meets the objectives in a steady state: ")) << both.detail;
  d["points"][0]["result"]["slo"]["attainment"] = 0.8;
  EXPECT_EQ(answer("slo: {tpot_p99: 50 ms}\nworkload:\n  arrivals: {rate: 1/s}\n").answer,
            "draft_length = 2, keep_ratio = 0.1")
      << "none meets them: the best that keeps up";
}

TEST(Swept, WhereNoPointMeetsTheObjectivesTheBestOfAllIsNamedWithItsShare) {
  Json d = draft_lengths(0.1);
  d["resolved_scenario"] = "slo: {tpot_p99: 50 ms}\n";
  for (Json& point : d["points"]) point["result"]["slo"]["attainment"] = 0.9;
  const Fact f = only({d}, kWhichPlan);
  EXPECT_EQ(f.answer, "draft_length = 3, keep_ratio = 0.1");
  EXPECT_TRUE(says(f, "90.0 % of its requests met the objectives")) << f.detail;
  EXPECT_FALSE(says(f, "that meets")) << f.detail;
}

TEST(Swept, WhereLessIsBetterTheLowestIsTheAnswer) {
  Json d = draft_lengths(0.1);
  d["best"]["order"] = "lowest";
  EXPECT_EQ(only({d}, kWhichPlan).answer, "draft_length = 1, keep_ratio = 0.1");
}

TEST(Swept, PointsWithinTheIntervalOfTheBestAreCounted) {
  // 102 ± 1 holds 101, ± 2 holds 100 too.
  const auto said = [](double half_width) { return only({draft_lengths(half_width)}, kWhichPlan).detail; };
  EXPECT_NE(said(1.01).find("Its 95 % interval holds 1 other point: chance may have chosen"), std::string::npos);
  EXPECT_NE(said(2.01).find("Its 95 % interval holds 2 other points: chance may have chosen"), std::string::npos);
  EXPECT_EQ(said(0.99).find("interval"), std::string::npos);
}

TEST(Swept, PointsThatCannotBeSimulatedAreCounted) {
  Json d = draft_lengths(0.1);
  d["points"][0]["result"] = nullptr;
  Fact f = only({d}, kWhichPlan);
  EXPECT_TRUE(says(f, "The best of 2 points simulated") && says(f, "\n1 other cannot be simulated.")) << f.detail;
  d["points"][1]["result"] = nullptr;
  f = only({d}, kWhichPlan);
  EXPECT_TRUE(says(f, "\n2 others cannot be simulated.")) << f.detail;
  d["points"][2]["result"] = nullptr;
  EXPECT_EQ(only({d}, kWhichPlan).answer, "no point of the sweep can be simulated");
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
