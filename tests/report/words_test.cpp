// What has to be said beside figures: how flat the best is, which plan is explained, why fleets serve more, what is at
// least so.
#include <gtest/gtest.h>

#include <limits>

#include "tests/report/documents.h"
#include "tools/report/words.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

constexpr const char* kWhichPlan = "Which draft length x and keep ratio c?";

std::string detail_of(const Json& document, const char* question) {
  const std::vector<Fact> facts = facts_of({document}, question);
  EXPECT_EQ(facts.size(), 1) << question;
  return facts.empty() ? "" : facts.front().detail;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Candidates with the keep ratio of the best: {x, tokens/s}.
Json simulated_with(const std::vector<std::pair<double, double>>& candidates) {
  Json d = simulated_plan();
  Json& list = d["simulated"]["candidates"];
  const Json first = list[0];
  list.clear();
  for (const auto& [x, tokens] : candidates) {
    list.push_back(first);
    list.back()["plan"]["x"] = x;
    list.back()["simulated_tokens_per_s"] = tokens;
  }
  return d;
}

TEST(PlanWords, DraftLengthsWithinOnePercentOfTheBestAreAsGood) {
  EXPECT_TRUE(has(detail_of(simulated_with({{27, 200}, {25, 199}, {30, 198.1}, {22, 197.9}}), kWhichPlan),
                  "\nDraft lengths from 25 to 30 came within 1 % of it: take any."));
  EXPECT_FALSE(has(detail_of(simulated_with({{27, 200}, {25, 197}}), kWhichPlan), "came within"));
}

TEST(PlanWords, APlanThatKeepsAnotherShareIsNoOtherDraftLength) {
  Json d = simulated_with({{27, 200}, {25, 199}, {60, 199.5}});
  d["simulated"]["candidates"][2]["plan"]["c"] = 0.5;
  EXPECT_TRUE(has(detail_of(d, kWhichPlan), "Draft lengths from 25 to 27 came within 1 %"));
}

TEST(PlanWords, APlanSaysThatObjectivesAreNoPartOfIt) {
  Json d = simulated_plan();
  EXPECT_FALSE(has(detail_of(d, kWhichPlan), "objectives"));
  d["resolved_scenario"] = "slo: {ttft_p99: 500 ms}\n";
  EXPECT_TRUE(has(detail_of(d, kWhichPlan),
                  "\nChosen by tokens/s alone: the objectives (TTFT p99 500 ms) are no part of a plan."));
}

TEST(PlanWords, ThePlanThatIsExplainedIsNamedWithWhatItReached) {
  Json d = simulated_plan();
  d["explanation"] = explanation({{"hbm_capacity", 0.08, 0.01}});
  for (const char* question : {"What binds?", "What to buy next?"}) {
    EXPECT_FALSE(has(detail_of(d, question), "the closed forms choose")) << question;
  }
  d["explanation"]["plan"] = d["optimum"];
  d["explanation"]["binding"]["output_tokens_per_s"] = 231.4;
  d["explanation"]["binding"]["half_width_95"] = 2.7;
  for (const char* question : {"What binds?", "What to buy next?"}) {
    EXPECT_TRUE(has(detail_of(d, question),
                    "\nThis is of the plan that the closed forms choose, x = 32, c = 0.2, 11 "
                    "offloaded and 0 resident requests, reloads spread over 3: 231.4 ± 2.7 "
                    "tokens/s simulated."))
        << detail_of(d, question);
  }
}

TEST(FleetWords, AFleetThatServesMoreThanItsReplicasOneByOneSaysWhy) {
  Json d = fleet_document();  // two replicas of 80 requests/s
  d["rate_required"] = 160;
  EXPECT_FALSE(has(detail_of(d, "How many GPUs?"), "replica alone"));
  d["rate_required"] = 161;
  EXPECT_TRUE(has(detail_of(d, "How many GPUs?"),
                  "\nThat is more than 2 times the 80.00 requests/s of a replica alone: "
                  "in a fleet each request goes to the least loaded replica"))
      << detail_of(d, "How many GPUs?");
  d["load"] = "users";
  EXPECT_TRUE(has(detail_of(d, "How many GPUs?"), "the 80 users of a replica alone")) << detail_of(d, "How many GPUs?");
  d["rate_required"] = nullptr;
  EXPECT_EQ(pooling(d, d["configurations"][0]), "");
}

TEST(FleetWords, ALowerBoundIsRoundedDown) {
  EXPECT_EQ(at_least(0.99979), "99.97 %");
  EXPECT_EQ(at_least(0.999999), "99.99 %");
  EXPECT_EQ(at_least(1), "100.00 %");
  EXPECT_EQ(at_least(0.9997), "99.97 %");  // whose ten thousand times are 9996.999... in binary
  EXPECT_EQ(at_least(std::numeric_limits<double>::quiet_NaN()), "-");
}

TEST(FleetWords, AFleetsAttainmentIsItsLowerBoundRoundedDown) {
  Json d = fleet_document();
  d["configurations"][0]["fleet"]["attainment_lower"] = 0.99979;
  EXPECT_EQ(all<Table>(costs(inputs_of({d}))).at(0).rows.at(0).back().text, "99.97 %");
  d["configurations"][0]["fleet"]["simulated"] = false;
  EXPECT_EQ(all<Table>(costs(inputs_of({d}))).at(0).rows.at(0).back().text, "estimated, not simulated");
}

TEST(PolicyWords, WhatACompressorDropsOfStoredPromptsIsNeitherLoadedNorAttendedTo) {
  Json run = run_document("lru:keydiff:0.5");
  run["details"]["policies"].update({{"decode", "full_kv"}, {"placement", "lru"}});
  EXPECT_TRUE(has(policy_words(run), "full_kv: every step reads the full KV")) << policy_words(run);
  run["quality"] = {{"mean_score", 0.78}, {"lossless", false}};
  run["details"]["resolved_scenario"] = "placement:\n  compressor: {name: keydiff}\n  keep_ratio: 0.5\n";
  const std::string said = policy_words(run);
  EXPECT_TRUE(has(said, "keydiff, keep ratio 0.5: what is dropped of a prompt is neither loaded nor attended to."))
      << said;
  EXPECT_TRUE(has(said, "full_kv: every step reads all that is kept of the KV")) << said;
  EXPECT_FALSE(has(said, "the full KV")) << said;
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
