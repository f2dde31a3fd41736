// The answers at the top of a report, each from the least that it can be told from.
#include <gtest/gtest.h>

#include <tuple>

#include "tests/report/documents.h"
#include "tools/report/answers.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

constexpr const char* kHowSure = "How sure is this?";

TEST(Decision, TheBestLosslessPolicyIsChosenAndTheBestOfAllNamedBeside) {
  const Fact f = only({compare_document({run_document("full_kv", 100), lossy_run("lossy", 500, 0.9),
                                         run_document("lock_step", 150), run_document("staggered", 240)})},
                      kWhichPolicy);
  EXPECT_EQ(f.answer, "staggered");
  EXPECT_TRUE(says(f, "Best with lossless output: output tokens/s 240.0 ± 10, 2.40x of full_kv")) << f.detail;
  EXPECT_TRUE(says(f, "Whatever the quality: lossy: output tokens/s 500.0 ± 10, 5.00x of full_kv; its output differs"))
      << f.detail;
  EXPECT_TRUE(says(f, "4 policies compared.")) << f.detail;
}

TEST(Decision, WhereNothingLosslessBeatsTheBaselineAFasterLossyOneIsNamedAndNotChosen) {
  const Fact f = only(
      {compare_document({run_document("full_kv", 100), lossy_run("lossy", 120, 0.9), run_document("staggered", 90)})},
      kWhichPolicy);
  EXPECT_EQ(f.answer, "full_kv");
  EXPECT_TRUE(says(f, "Best with lossless output: output tokens/s 100.0")) << f.detail;
  EXPECT_TRUE(says(f, "Whatever the quality: lossy: output tokens/s 120.0 ± 10, 1.20x of full_kv; its output differs"))
      << f.detail;
}

TEST(Decision, TheBaselineAloneIsTheAnswer) {
  const Fact f = only({compare_document({run_document("full_kv", 100)})}, kWhichPolicy);
  EXPECT_EQ(f.answer, "full_kv");
  EXPECT_FALSE(says(f, "x of full_kv") || says(f, "compared")) << f.detail;
}

TEST(Decision, WherePromptsAreStoredTheShortestMeanTtftWins) {
  Json slow = run_document("lru", 300), fast = run_document("sieve", 100);
  fast["latency_s"]["ttft"]["mean"] = 0.25;
  Json d = compare_document({slow, fast});
  d["ttft_speedup"] = {{"lru", 1.0}, {"sieve", 2.0}};
  const Fact f = only({d}, kWhichPolicy);
  EXPECT_EQ(f.answer, "sieve");
  EXPECT_TRUE(says(f, "mean TTFT 250 ms, 2.00x of lru")) << f.detail;
}

TEST(Decision, WhereAnswersHaveScoresGoodputPerGpuWins) {
  Json base = run_document("full_recompute", 300), better = run_document("selective", 100);
  for (Json* run : {&base, &better}) (*run)["answers"] = {{"mean_score", 1}};
  better["slo"]["goodput_requests_per_s"] = 3.0;
  const Fact f = only({compare_document({base, better})}, kWhichPolicy);
  EXPECT_EQ(f.answer, "selective");
  // 3 requests/s on two GPUs.
  EXPECT_TRUE(says(f, "goodput in requests/s per GPU 1.500, 2.00x of full_recompute")) << f.detail;
}

TEST(Decision, ASingleRunSaysThatNothingWasComparedWithIt) {
  const Fact f = only({run_document("staggered", 240)}, kWhichPolicy);
  EXPECT_EQ(f.answer, "staggered, the only one simulated");
  EXPECT_TRUE(says(f, "240.0 ± 10 tokens/s") && says(f, "kvsim compare")) << f.detail;
}

TEST(Decision, AnUnansweredQuestionNamesTheCommandThatAnswersIt) {
  const Json run = run_document(), fleet = fleet_document();
  for (const auto& [document, question, command] : {std::tuple{&fleet, kWhichPolicy, "kvsim compare"},
                                                    std::tuple{&run, kWhichPlan, "kvsim plan SCENARIO --simulate"},
                                                    std::tuple{&run, kHowManyGpus, "kvsim capacity SCENARIO --rate"},
                                                    std::tuple{&run, kWhatToBuy, "kvsim plan SCENARIO --explain"}}) {
    const Fact f = only({*document}, question);
    EXPECT_EQ(f.answer, "") << question;
    EXPECT_TRUE(says(f, command)) << f.detail;
  }
}

TEST(Decision, DocumentsOfOtherKindsAloneAskNothing) {
  EXPECT_TRUE(decision(inputs_of({{{"schema_version", 1}}})).blocks.empty());
  for (const Section& s : report_of({one_of_each().back()}).sections) EXPECT_NE(s.id, "decision");
}

TEST(Decision, ASimulatedPlanGoesBeforeTheClosedForms) {
  const Fact f = only({simulated_plan()}, kWhichPlan);
  EXPECT_EQ(f.answer, "x = 27, c = 0.2, as many requests as fit");
  EXPECT_TRUE(says(f, "Simulated: 200.0 ± 4.0 tokens/s a replica, 2.00x ± 0.05x of full-KV decoding")) << f.detail;
  EXPECT_TRUE(says(f, "The closed forms alone would choose x = 32, c = 0.2, 11 offloaded")) << f.detail;
  EXPECT_TRUE(says(f, "they predict 4.0 % less")) << f.detail;
}

TEST(Decision, APlanByClosedFormsSaysThatItIsNotSimulated) {
  const Fact f = only({plan_document()}, kWhichPlan);
  EXPECT_TRUE(f.answer.starts_with("x = 32, c = 0.2")) << f.answer;
  EXPECT_TRUE(says(f, "not simulated: 250.0 tokens/s") && says(f, "--simulate")) << f.detail;
}

TEST(Decision, AFleetIsCountedInGpusWithWhatItCosts) {
  const Fact f = only({fleet_document()}, kHowManyGpus);
  EXPECT_EQ(f.answer, "4 x h100-sxm for 100 requests/s");
  EXPECT_TRUE(says(f,
                   "2 replicas of 2 GPUs under full_kv, 99.0 % of the requests within TTFT <= 500 ms, TPOT <= 50.0 ms "
                   "(confidence 95.0 %):"))
      << f.detail;
  EXPECT_TRUE(says(f, "$10.00 an hour, $0.35 per 1M output tokens; the fleet was simulated")) << f.detail;
}

TEST(Decision, AFleetIsForTheLoadOfTheSearch) {
  Json d = fleet_document();
  d["rate_required"] = 1000;
  d["load"] = "users";
  d["configurations"][0]["fleet"].update({{"nodes", 2}, {"gpus_per_node", 8}});
  EXPECT_EQ(only({d}, kHowManyGpus).answer, "4 x h100-sxm in 2 nodes of 8 for 1000 users");
  d["load"] = "sessions/s";
  d["rate_required"] = 20;
  d["configurations"][0]["fleet"]["nodes"] = 1;
  EXPECT_EQ(only({d}, kHowManyGpus).answer, "4 x h100-sxm in 1 node of 8 for 20 sessions/s");

  d = capacity_document();
  d["load"] = "users";
  const Fact one = only({d}, kHowManyGpus);
  EXPECT_EQ(one.answer, "one replica of 2 x h100-sxm sustains 80 users");
  EXPECT_TRUE(says(one, "kvsim capacity --users")) << one.detail;
}

TEST(Decision, WhatWasLeftOutOfASearchIsCounted) {
  for (Json d : {fleet_document(), capacity_document()}) {
    EXPECT_FALSE(says(only({d}, kHowManyGpus), "Left out"));
    const std::size_t searched = d["configurations"].size();
    d["configurations"].push_back({{"machine", "a100"}, {"cannot_run", "interrupted before it was done"}});
    const Fact f = only({d}, kHowManyGpus);
    EXPECT_TRUE(says(f, "\nLeft out of it: 1 of " + std::to_string(searched + 1) + " configurations;")) << f.detail;
    EXPECT_FALSE(says(f, "interrupted"));
    d["details"]["interrupted"] = "1 of 2 configurations was not done, and may be cheaper";
    EXPECT_TRUE(says(only({d}, kHowManyGpus),
                     "\nThe search was interrupted: 1 of 2 configurations was not done, and may be cheaper."));
  }
}

// A policy that was not searched has no verdict.
TEST(Decision, OfPoliciesThatWereSearchedSaysWhyOneHasNoRate) {
  Json d = capacity_document();
  d["configurations"].push_back(
      {{"machine", "h100-sxm"}, {"policy", "lossy"}, {"cannot_run", "interrupted before it was done"}});
  d["configurations"].push_back({{"machine", "h100-sxm"}, {"policy", "other"}});
  const Fact f = only({d}, kWhichPolicy);
  EXPECT_TRUE(says(f, "\nlossy: interrupted before it was done.\nother: no rate meets the objectives.")) << f.detail;
}

TEST(Decision, AFleetThatWasNotSimulatedSaysSo) {
  Json d = fleet_document();
  d["configurations"][0]["fleet"]["simulated"] = false;
  EXPECT_TRUE(says(only({d}, kHowManyGpus), "estimated from one replica"));
}

TEST(Decision, OfAFleetSaysItsRouterItsMonthAndHowMuchOfItWasSimulated) {
  Json d = fleet_document();
  d["router"] = "session";
  d["configurations"][0]["fleet"]["usd_per_month"] = 101470.4;
  d["configurations"][0]["fleet"]["simulated"] = false;
  d["configurations"][0]["fleet"]["replicas_simulated"] = 16;
  d["attainment_target"] = nullptr;
  d["slo"] = {{"ttft_p99_s", 0.5}, {"tpot_p95_s", 0.05}};
  const Fact f = only({d}, kHowManyGpus);
  EXPECT_TRUE(says(f, "behind router session")) << f.detail;
  EXPECT_TRUE(says(f, "TTFT p99 500 ms, TPOT p95 50.0 ms (confidence 95.0 %)")) << f.detail;
  EXPECT_TRUE(says(f, "($101,470 a month of 730 h)")) << f.detail;
  EXPECT_TRUE(says(f, "16 of its replicas were simulated, at the same load per replica")) << f.detail;
  EXPECT_FALSE(says(f, "so far"));
  d["interrupted"] = 1;
  EXPECT_TRUE(only({d}, kHowManyGpus).answer.starts_with("best so far: "));
}

TEST(Decision, WithoutARateOneReplicaIsSized) {
  const Fact f = only({capacity_document()}, kHowManyGpus);
  EXPECT_EQ(f.answer, "one replica of 2 x h100-sxm sustains 80.00 requests/s");
  EXPECT_TRUE(says(f, "kvsim capacity --rate")) << f.detail;
}

TEST(Decision, WhereNoRateMeetsTheObjectivesThereIsNoFleet) {
  Json d = capacity_document();
  d["configurations"][0]["rate_per_replica"] = nullptr;
  const Fact f = only({d}, kHowManyGpus);
  EXPECT_EQ(f.answer, "no rate meets the objectives");
  EXPECT_TRUE(says(f, "on none of the machines looked at")) << f.detail;
}

TEST(Decision, WhatToBuyLeavesOutWhatCannotBeBought) {
  Json d = plan_document();
  d["explanation"] = explanation(
      {{"agreement", 0.5, 0.01}, {"context", 0.4, 0.01}, {"link_bandwidth", 0.02, 0.01}, {"hbm_capacity", 0.08, 0.01}});
  const Fact f = only({d}, kWhatToBuy);
  EXPECT_EQ(f.answer, "GPU memory (HBM capacity)");
  EXPECT_TRUE(says(f, "GPU memory (HBM capacity) +8.0 % ± 1.0 %, link bandwidth (host to GPU) +2.0 % ± 1.0 %."))
      << f.detail;
  EXPECT_FALSE(says(f, "agreement") || says(f, "context")) << f.detail;
  EXPECT_EQ(only({d}, kWhatBinds).answer, "GPU memory (HBM capacity)");
}

TEST(Decision, AGainWithinItsIntervalIsNoReasonToBuy) {
  Json d = plan_document();
  d["explanation"] = explanation({{"hbm_capacity", 0.01, 0.02}, {"compute", -0.05, 0.01}});
  EXPECT_EQ(only({d}, kWhatToBuy).answer, "nothing: no gain exceeds its interval");
}

TEST(Decision, AGainBehindItsOwnIntervalDoesNotHideOneThatExceedsIts) {
  Json d = plan_document();
  d["explanation"] = explanation({{"link_bandwidth", 0.03, 0.04}, {"hbm_capacity", 0.02, 0.005}});
  EXPECT_EQ(only({d}, kWhatToBuy).answer, "GPU memory (HBM capacity)");
}

TEST(Decision, WithoutAnExplanationTheRunsSayWhereTheirTimeWent) {
  const Fact f = only({compare_document({run_document()})}, kWhatBinds);
  EXPECT_EQ(f.answer, "HBM bandwidth");
  EXPECT_TRUE(says(f,
                   "Under full_kv the GPUs' time went to HBM bandwidth (60.0 %, twice it +43 %), compute (10.0 %, "
                   "twice it +5 %), waiting for a link (20.0 %, twice it +11 %), idling (10.0 %)."))
      << f.detail;
}

TEST(Decision, MemoryThatWasShortIsSaidBesideWhatBinds) {
  Json run = run_document();
  run["details"]["short_of_gpu_memory"] = 0.4;
  EXPECT_TRUE(says(only({run}, kWhatBinds), "GPU memory was short in 40.0 % of the time"));
}

TEST(Decision, OfACapacitySaysWhatBindsAtTheRateAndWhatHappensAboveIt) {
  Json d = capacity_document();
  Json& c = d["configurations"][0];
  c["bound_by"] = {{"hbm_bandwidth", 0.8}, {"compute", 0.1}, {"link", 0.0}, {"idle", 0.1}};
  const auto with = [&](const char* limit) {
    c["limited_by"] = limit;
    return only({d}, kWhatBinds);
  };
  EXPECT_EQ(with("tpot").answer, "HBM bandwidth");
  EXPECT_TRUE(says(with("tpot"), "\nAbove that rate, requests miss their TPOT first."));
  EXPECT_TRUE(says(with("queue"), "\nAbove that rate more requests come than are served."));
  EXPECT_TRUE(says(with("memory"), "\nAbove that rate requests are refused for want of memory."));
  EXPECT_TRUE(says(with("unfinished"), "\nAbove that rate requests do not finish."));
  c["tokeniser_busy"] = 0.97;
  EXPECT_EQ(with("queue").answer, "the thread that turns prompts into tokens");
}

TEST(Decision, TheThreadThatTokenisesBindsWhereItNeverRests) {
  Json run = run_document();
  run["tokeniser"]["busy_fraction"] = 0.6;
  const Fact beside = only({run}, kWhatBinds);
  EXPECT_TRUE(says(beside, "(schedule.engine.tokenise) was at work in 60.0 % of the time.")) << beside.detail;
  EXPECT_NE(beside.answer, "the thread that turns prompts into tokens");
  run["tokeniser"]["busy_fraction"] = 0.97;
  EXPECT_EQ(only({run}, kWhatBinds).answer, "the thread that turns prompts into tokens");
}

TEST(Decision, HowSureSaysTheIntervalAndWhatTheFiguresRestOn) {
  Json run = run_document("full_kv", 200);
  run["details"]["replications"] = 5;
  run["details"]["sources"] =
      Json::array({{{"figure", "a"}, {"source", "assumption"}}, {{"figure", "b"}, {"source", "datasheet"}}});
  run["details"]["assumptions"] = {"one", "two", "two"};
  const Fact f = only({run}, kHowSure);
  EXPECT_EQ(f.answer, "by chance: tokens/s within ± 5.0 %; kvsim's own error comes on top");
  EXPECT_TRUE(says(f, "Under full_kv: tokens/s within ± 5.0 % (95 % interval over 5 seeds).")) << f.detail;
  EXPECT_TRUE(says(f, "\n2 figures of machines, models and compressors: 1 assumption, 1 datasheet.")) << f.detail;
  EXPECT_TRUE(says(f, "\n2 assumptions listed.")) << f.detail;  // the same one twice is one
}

TEST(Decision, ResultsWithoutIntervalsSayNothingOfChanceButOfTheSimulatorsOwnError) {
  const Fact f = only({plan_document()}, kHowSure);
  EXPECT_EQ(f.answer, "");
  EXPECT_TRUE(f.detail.starts_with("Where it can be checked: kernel times")) << f.detail;
  EXPECT_TRUE(says(f, "Plan: closed forms alone, not checked by simulation.")) << f.detail;
}

TEST(Decision, TheErrorOfTheModelStandsBesideThatOfChance) {
  Json run = run_document("full_kv", 200);
  const Json interval{{"low", 0.8}, {"high", 1.25}};
  run["details"]["model_error"] = {{"confidence", 0.9},  {"group", "vllm, dense models"},
                                   {"groups", 3},        {"points", 94},
                                   {"not_measured", ""}, {"tpot", interval},
                                   {"ttft", interval},   {"e2e", interval}};
  const Fact f = only({run}, kHowSure);
  EXPECT_EQ(f.answer,
            "by chance: tokens/s within ± 5.0 %; by the model: 0.8000 to 1.250 of the predicted time of a request");
  EXPECT_TRUE(says(f, "(vllm, dense models: 94 points in 3 groups)")) << f.detail;
  run["details"]["model_error"]["e2e"]["high"] = 100;
  EXPECT_TRUE(only({run}, kHowSure).answer.ends_with("by the model: anything of the predicted time of a request"));
  run["details"]["model_error"]["points"] = -1e300;  // of a document that somebody changed
  EXPECT_TRUE(says(only({run}, kHowSure), "0 points in 3 groups"));
  run["details"]["model_error"]["not_measured"] = "draft_verify";
  EXPECT_TRUE(says(only({run}, kHowSure), "No such point has draft_verify"));
}

TEST(Decision, OfSeveralScenariosEveryAnswerSaysWhoseItIs) {
  Json other = compare_document({run_document("full_kv", 100)});
  other["scenario"] = "another";
  const Json one = compare_document({run_document("full_kv", 100)});
  const std::vector<Fact> facts = facts_of({one, other}, kWhichPolicy);
  ASSERT_EQ(facts.size(), 2);
  EXPECT_EQ(facts[0].scenario, "by hand");
  EXPECT_EQ(facts[1].scenario, "another");
  EXPECT_EQ(only({one}, kWhichPolicy).scenario, "");
}

TEST(Decision, OfSeveralScenariosEachSaysHowSureItIs) {
  Json other = compare_document({run_document("full_kv", 200)});
  other["scenario"] = "another";
  const Json one = compare_document({run_document("full_kv", 100)});
  const Fact f = only({one, other}, kHowSure);
  EXPECT_EQ(f.answer, "a line below for each scenario");
  EXPECT_TRUE(says(f, "\nby hand: by chance: output tokens/s within ± 10.0 %; kvsim's own error comes on top.\n"))
      << f.detail;
  EXPECT_TRUE(says(f, "\nanother: by chance: output tokens/s within ± 5.0 %; ")) << f.detail;
  EXPECT_TRUE(says(f, "\nanother: Under full_kv: output tokens/s within ± 5.0 %")) << f.detail;
}

TEST(Decision, WhatIsLeftOutOfHowSureIsCountedAsWhatItIs) {
  std::vector<Json> runs;
  for (int i = 0; i < 9; ++i) runs.push_back(run_document("p" + std::to_string(i), 100 + i));
  EXPECT_TRUE(says(only(runs, kHowSure), "\nAnd the intervals of 3 results more, in the sections below.\n") ||
              only(runs, kHowSure).detail.ends_with("\nAnd the intervals of 3 results more, in the sections below."))
      << only(runs, kHowSure).detail;
}

TEST(Decision, NoCommandIsProposedThatRefusesTheScenario) {
  const auto with = [](Json document, const char* scenario) {
    document["details"]["resolved_scenario"] = scenario;
    return document;
  };
  const auto asked = [](const Json& document, const char* question) { return !facts_of({document}, question).empty(); };
  const Json plain = with(run_document(), "decode:\n  compressor: {name: kvzip}\nworkload:\n  arrivals: {rate: 1/s}\n");
  EXPECT_TRUE(asked(plain, kWhichPlan) && asked(plain, kWhatToBuy) && asked(plain, kHowManyGpus));
  const Json pools = with(run_document(), "cluster:\n  pools: {local: 1}\n");
  EXPECT_FALSE(asked(pools, kWhichPlan) || asked(pools, kWhatToBuy) || asked(pools, kHowManyGpus));
  for (const char* scenario : {"placement:\n  policy: lru\n", "decode:\n  policy: full_kv\n",
                               "decode:\n  policy: speculative_prefetch\n  compressor: {name: specache-2bit}\n",
                               "workload:\n  sessions: {turns: 3}\n"}) {
    const Json other = with(run_document(), scenario);
    EXPECT_FALSE(asked(other, kWhichPlan) || asked(other, kWhatToBuy)) << scenario;
    EXPECT_TRUE(asked(other, kHowManyGpus)) << scenario;
  }
  Json capacity = capacity_document();
  capacity["resolved_scenario"] = "placement:\n  policy: lru\n";
  EXPECT_FALSE(asked(capacity, kWhichPlan) || asked(capacity, kWhatToBuy));
  Json sweep = sweep_document(3, 1);
  sweep["axes"] = Json::array({{{"path", "cluster.host.memory"}, {"values", {1, 2, 3}}}});
  EXPECT_TRUE(asked(sweep, kHowManyGpus));
  sweep["points"][0]["result"]["pools"] = {{"local", 1}};
  EXPECT_FALSE(asked(sweep, kHowManyGpus) || asked(sweep, kWhichPlan) || asked(sweep, kWhatToBuy));
  const Json users = with(run_document(), "workload:\n  closed: {concurrency: 8}\n");
  EXPECT_TRUE(says(only({users}, kHowManyGpus), "kvsim capacity SCENARIO --users N"));
}

TEST(Decision, AFleetWhoseMemoryWasChosenNamesTheSizesAndWhatTheyCost) {
  Json d = fleet_document();
  Json& c = d["configurations"][0];
  c.update({{"lossless", false}, {"output_differs", "its output differs: task score 0.980"}, {"ssd_gb", 400}});
  c["sizes_bytes"] = {{"host", 40e9}, {"ssd", 400e9}};
  c["fleet"].update({{"dram_gb", 80},
                     {"ssd_gb", 800},
                     {"usd_per_hour_gpus", 9.0},
                     {"usd_per_hour_dram", 0.75},
                     {"usd_per_hour_ssd", 0.25}});
  const Fact f = only({d}, kHowManyGpus);
  EXPECT_EQ(f.answer, "4 x h100-sxm, a replica with 40.0 GB DRAM, ssd 400 GB, for 100 requests/s");
  EXPECT_TRUE(says(f, "\nOf it GPUs $9.00, 80.0 GB of host memory $0.75, 800 GB of storage $0.25.")) << f.detail;
  EXPECT_TRUE(says(f, "\nIts output differs: task score 0.980.")) << f.detail;
  d.erase("rate_required");
  c.erase("fleet");
  EXPECT_EQ(only({d}, kHowManyGpus).answer,
            "one replica of 2 x h100-sxm, 40.0 GB DRAM, ssd 400 GB, sustains 80.00 requests/s");
}

TEST(Decision, ASearchOverPoliciesAnswersWhichPolicy) {
  Json d = fleet_document();
  d["cheapest"] = {{"by_price", true}};
  EXPECT_EQ(only({d}, kWhichPolicy).answer, "") << "one policy is no choice";
  Json lossy = d["configurations"][0];
  lossy.update({{"policy", "lossy"}, {"lossless", false}, {"output_differs", "its output differs: task score 0.980"}});
  lossy["fleet"]["usd_per_hour"] = 7.5;
  d["configurations"].insert(d["configurations"].begin(), lossy);
  const Fact f = only({d}, kWhichPolicy);
  EXPECT_EQ(f.answer, "lossy");
  EXPECT_TRUE(says(f,
                   "Of 2 policies searched, the cheapest first.\nlossy: 4 x h100-sxm, $7.50 an hour; its output "
                   "differs: task score 0.980.\nfull_kv: 4 x h100-sxm, $10.00 an hour."))
      << f.detail;
  for (Json& c : d["configurations"]) {
    c.erase("fleet");
    c["rate_per_replica"] = nullptr;
  }
  EXPECT_EQ(only({d}, kWhichPolicy).answer, "none of those searched meets the objectives");
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
