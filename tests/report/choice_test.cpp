// Which policy a comparison speaks for: what objectives, quality and chance do to it.
#include "tools/report/best_policy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "tests/report/documents.h"
#include "tools/report/answers.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

Fact policy_of(const std::vector<Json>& runs) {
  return only({compare_document(runs)}, kWhichPolicy);
}

/// Of a scenario with an objective that so many of its requests met.
Json judged(Json run, double attainment) {
  run["details"]["resolved_scenario"] = "slo: {ttft_p99: 500 ms}\n";
  run["slo"]["attainment"] = attainment;
  return run;
}

/// Answers with scores; tokens/s are those of so many GPUs.
Json answering(const std::string& policy, double goodput, double gpus = 2) {
  Json run = run_document(policy, 100);
  run["answers"] = {{"mean_score", 1}};
  run["throughput"]["output_tokens_per_s_per_gpu"] = 100 / gpus;
  run["slo"]["goodput_requests_per_s"] = goodput;
  return run;
}

TEST(Choice, ObjectivesRuleOutAFasterPolicy) {
  const Fact f = policy_of({judged(run_document("full_kv", 100), 1), judged(run_document("steady", 150), 0.995),
                            judged(run_document("hasty", 300), 0.5)});
  EXPECT_EQ(f.answer, "steady");
  EXPECT_TRUE(says(f, "99.5 % of the requests under steady met the objectives (TTFT p99 500 ms).")) << f.detail;
  EXPECT_TRUE(says(f,
                   "\nBetter, but outside of the objectives: hasty, output tokens/s 300.0 (50.0 % of its requests met "
                   "them, 99.0 % have to)."))
      << f.detail;
}

TEST(Choice, NinetyNinePercentOfTheRequestsAreEnoughAndLessAreNot) {
  const auto chosen = [](double attainment) {
    return policy_of({judged(run_document("full_kv", 100), 1), judged(run_document("other", 150), attainment)}).answer;
  };
  EXPECT_EQ(chosen(0.99), "other");
  EXPECT_EQ(chosen(0.9899), "full_kv");
}

TEST(Choice, WhereNoPolicyMeetsTheObjectivesTheNearestIsChosenAndThatIsSaid) {
  const Fact f = policy_of({judged(run_document("staggered", 240), 0.4), judged(run_document("full_kv", 100), 0.98)});
  EXPECT_EQ(f.answer, "full_kv");
  EXPECT_TRUE(f.detail.starts_with("Nearest to what is asked for: output tokens/s 100")) << f.detail;
  EXPECT_TRUE(says(f, "98.0 % of the requests under full_kv met the objectives")) << f.detail;
  EXPECT_TRUE(says(f, "No policy meets them for 99.0 % of the requests.")) << f.detail;
  EXPECT_FALSE(says(f, "outside of the objectives")) << f.detail;
  Json nothing = judged(run_document("nothing_finished", 900), 0);
  nothing["slo"]["attainment"] = nothing["latency_s"]["e2e"]["mean"] = nullptr;
  EXPECT_EQ(policy_of({judged(run_document("full_kv", 100), 0.98), nothing}).answer, "full_kv");
  EXPECT_TRUE(says(policy_of({nothing}), "\nNone of the requests under nothing_finished met the objectives"));
}

TEST(Choice, ObjectivesOfClassesAreNamedAsTheirs) {
  const auto asked = [](const char* slo, const char* classes) {
    Json run = judged(run_document("full_kv", 100), 1);
    run["details"]["resolved_scenario"] = fmt::format("workload:\n  classes: [{}]\nslo: {}\n", classes, slo);
    return objectives_words(run);
  };
  const std::string own = "{name: a, slo: {tpot_p99: 32 ms}}", none = "{name: b}";
  EXPECT_EQ(asked("{}", (own + ", " + none).c_str()), "TPOT p99 32.0 ms of class a");
  EXPECT_EQ(asked("{ttft_p99: 2 s}", (own + ", " + none).c_str()), "TTFT p99 2.00 s, TPOT p99 32.0 ms of class a");
  EXPECT_EQ(asked("{ttft_p99: 2 s}", own.c_str()), "TPOT p99 32.0 ms of class a");
}

TEST(Choice, WithoutObjectivesThereIsNothingToMeet) {
  Json slow = run_document("full_kv", 100), fast = run_document("staggered", 240);
  fast["slo"]["attainment"] = slow["slo"]["attainment"] = 1;  // as documents have it where none is set
  const Fact f = policy_of({slow, fast});
  EXPECT_EQ(f.answer, "staggered");
  EXPECT_FALSE(says(f, "objectives")) << f.detail;
  fast["slo"]["attainment"] = 0.1;  // classes of requests have objectives of their own
  EXPECT_EQ(policy_of({slow, fast}).answer, "full_kv");
}

TEST(Choice, WhereNothingLosslessBeatsTheBaselineTheBestNearlyLosslessIsChosen) {
  const Fact f = policy_of({run_document("full_kv", 100), lossy_run("lossy", 500, 0.9899),
                            lossy_run("nearly", 300, 0.99), run_document("staggered", 90)});
  EXPECT_EQ(f.answer, "nearly");
  EXPECT_TRUE(says(f, "Best at a task score of 0.99 or more: output tokens/s 300.0 ± 10, 3.00x of full_kv"))
      << f.detail;
  EXPECT_TRUE(says(f, "Whatever the quality: lossy: output tokens/s 500.0 ± 10, 5.00x of full_kv")) << f.detail;
}

TEST(Choice, WhereALosslessPolicyBeatsTheBaselineANearlyLosslessOneIsNamedAlone) {
  const Fact f =
      policy_of({run_document("full_kv", 100), lossy_run("nearly", 300, 0.995), run_document("staggered", 200)});
  EXPECT_EQ(f.answer, "staggered");
  EXPECT_TRUE(says(f, "At a task score of 0.99 or more: nearly: output tokens/s 300.0")) << f.detail;
  EXPECT_FALSE(says(f, "Whatever the quality")) << f.detail;  // it would be the same one
}

TEST(Choice, GoodputWithinThreePercentIsATieOfWhichTheFirstIsChosen) {
  const auto chosen = [](double goodput) {
    return policy_of({answering("full_recompute", 1.5), answering("selective", goodput)}).answer;
  };
  EXPECT_EQ(chosen(1.5 * 1.029), "full_recompute");
  EXPECT_EQ(chosen(1.5 * 1.031), "selective");
}

TEST(Choice, GoodputIsCountedPerGpu) {
  // 2 requests/s on four GPUs are less than 1.5 on two.
  const Fact f = policy_of({answering("full_recompute", 1.5), answering("selective", 2, 4)});
  EXPECT_EQ(f.answer, "full_recompute");
  EXPECT_TRUE(says(f, "goodput in requests/s per GPU 0.7500;")) << f.detail;
}

TEST(Choice, WhoPrintsTheSameFigureIsNamed) {
  const auto without_interval = [](const char* policy, double tokens_per_s) {
    Json run = run_document(policy, tokens_per_s);
    run["confidence"] = Json::object();
    return run;
  };
  Json fcfs = without_interval("fcfs", 240.01);
  fcfs["complexity"]["mechanisms"] = 1;
  const Fact f = policy_of(
      {without_interval("full_kv", 100), without_interval("staggered", 240), fcfs, without_interval("lock_step", 230)});
  EXPECT_EQ(f.answer, "staggered");
  EXPECT_TRUE(f.detail.starts_with("The simplest of 2 even ones with lossless output: output tokens/s ")) << f.detail;
  EXPECT_TRUE(says(f, "\nEven with it, as printed: fcfs; of these it is the simplest.")) << f.detail;
  EXPECT_FALSE(says(policy_of({run_document("full_kv", 100), run_document("staggered", 240)}), "Even with it"));
}

TEST(Choice, OfADifferenceThatMayBeChanceTheCheaperThenTheSimplerIsChosen) {
  // ± 10 each, so that 14.1 may be chance.
  const std::string said = "\nEven with it, within the 95 % intervals: staggered; of these it is the ";
  const Json full_kv = run_document("full_kv", 100);
  Json staggered = run_document("staggered", 114);
  staggered["complexity"]["mechanisms"] = 1;
  const Fact f = policy_of({full_kv, staggered});
  EXPECT_EQ(f.answer, "full_kv");
  EXPECT_TRUE(says(f, said + "simplest.")) << f.detail;
  EXPECT_EQ(policy_of({full_kv, run_document("staggered", 115)}).answer, "staggered");
  Json dear = full_kv;
  dear["cost"]["usd_per_hour"] = 5;
  staggered["cost"]["usd_per_hour"] = 4;
  EXPECT_EQ(policy_of({dear, staggered}).answer, "staggered");
  staggered["cost"]["usd_per_hour"] = 6;
  EXPECT_TRUE(says(policy_of({dear, staggered}), said + "cheapest."));
}

TEST(Choice, WhatWasMeasuredInNoSteadyStateIsSaidWithTheAnswerAndWithHowSureItIs) {
  const Json full_kv = run_document("full_kv", 100);
  Json run = run_document("staggered", 240);
  EXPECT_FALSE(says(policy_of({full_kv, run}), "steady"));
  run["requests"]["unsteady_state"] = "the queue grows";
  Json neither = full_kv;
  neither["requests"]["unsteady_state"] = "the queue grows";
  EXPECT_TRUE(says(policy_of({neither, run}), "\nNo steady state: the queue grows.\n"));
  const Fact sure = only({compare_document({full_kv, run})}, "How sure is this?");
  EXPECT_TRUE(sure.answer.starts_with("not at all, of a service: no steady state in staggered; by chance: "))
      << sure.answer;
  EXPECT_TRUE(says(only({run}, "Which policy?"), "\nNo steady state: the queue grows."));
  EXPECT_TRUE(only({run}, "How sure is this?").answer.starts_with("not at all, of a service: no steady state in stag"));
  Json sweep = sweep_document();
  for (Json& point : sweep["points"]) point["result"]["requests"]["unsteady_state"] = "the queue grows";
  EXPECT_TRUE(says(only({sweep}, "Which draft length x and keep ratio c?"), "\nNo steady state: the queue grows."));
  EXPECT_TRUE(
      only({sweep}, "How sure is this?")
          .answer.starts_with("not at all, of a service: no steady state in the best point swept; by chance: "));
}

TEST(Choice, APolicyInNoSteadyStateIsBehindThoseInOne) {
  const Json full_kv = run_document("full_kv", 100), slower = run_document("lock_step", 150);
  Json faster = run_document("staggered", 240);
  EXPECT_TRUE(only({compare_document({full_kv, slower, faster})}, "Which policy?").answer.starts_with("staggered"));
  faster["requests"]["unsteady_state"] = "the queue grows";
  EXPECT_TRUE(only({compare_document({full_kv, slower, faster})}, "Which policy?").answer.starts_with("lock_step"));
}

TEST(Choice, HowSureASweepIsIsJudgedByThePointThatItsAnswerRestsOn) {
  const auto sure = [](const std::function<bool(double tokens_per_s)>& unsteady) {
    Json sweep = sweep_document();
    for (Json& point : sweep["points"]) {
      if (!unsteady(point["result"]["throughput"]["output_tokens_per_s"])) continue;
      point["result"]["requests"]["unsteady_state"] = "the queue grows";
    }
    return only({sweep}, "How sure is this?");
  };
  double best = 0;
  const Json all = sweep_document();
  for (const Json& point : all["points"]) {
    best = std::max(best, point["result"]["throughput"]["output_tokens_per_s"].get<double>());
  }
  const std::string others = "No steady state in 5 of the 5 other points swept, on which no answer rests.";
  const Fact of_others = sure([best](double v) { return v < best; });
  EXPECT_TRUE(of_others.answer.starts_with("by chance: ")) << of_others.answer;
  EXPECT_TRUE(says(of_others, others)) << of_others.detail;
  const Fact of_best = sure([best](double v) { return v == best; });
  EXPECT_TRUE(of_best.answer.starts_with("not at all, of a service: no steady state in the best point swept; "))
      << of_best.answer;
  EXPECT_FALSE(says(of_best, "other points swept")) << of_best.detail;
}

TEST(Choice, AFleetSaysHowManyReplicasTheErrorOfTheModelAsksFor) {
  Json d = fleet_document();
  EXPECT_FALSE(says(only({d}, "How many GPUs?"), "the error of the model"));
  d["configurations"][0]["fleet"]["replicas_with_model_error"] = 3;
  d["configurations"][0]["fleet"]["usd_per_hour_with_model_error"] = 7.5;
  d["configurations"][0]["model_error"] = "Against the error, 3 replicas: none of them has lossy";
  d["cheaper_with_model_error"] = "Bought against that error, 1 x h100-sxm is cheaper";
  const std::string error = "\nAgainst the error, 3 replicas: none of them has lossy.";
  EXPECT_TRUE(says(only({d}, "How many GPUs?"),
                   error + "\nThat costs $7.50 an hour.\nBought against that error, 1 x h100-sxm is cheaper."));
  EXPECT_TRUE(says(only({d}, "How sure is this?"), error));
  Json one = capacity_document();
  one["configurations"][0].update({{"model_error", "Against the error, 9 requests/s"}, {"rate_with_model_error", 9}});
  EXPECT_TRUE(says(only({one}, "How many GPUs?"), "\nAgainst the error, 9 requests/s."));
  EXPECT_TRUE(only({one}, "How sure is this?").answer.ends_with("; by the model: its error leaves 9.000 requests/s"));
  EXPECT_TRUE(only({d}, "How sure is this?").answer.ends_with("; by the model: its error asks for 3 replicas"));
}

TEST(Choice, AFleetSaysWhatItsPolicyDecodesWithAndThatItsOutputDiffers) {
  Json d = fleet_document();
  d["resolved_scenario"] = "decode: {draft_length: 25, keep_ratio: 0.2}\n";
  const auto said = [&d](const char* policy) {
    d["configurations"][0]["policy"] = policy;
    return only({d}, "How many GPUs?").detail;
  };
  EXPECT_EQ(said("full_kv").find("as in the scenario"), std::string::npos);
  EXPECT_NE(said("draft_verify:staggered").find("\nDrafts as in the scenario: x = 25, c = 0.2."), std::string::npos);
  EXPECT_EQ(said("lossy").find("Drafts"), std::string::npos);
  EXPECT_NE(said("lossy").find("\nThe share of the KV that is kept is that of the scenario: c = 0.2."),
            std::string::npos);
  d["configurations"][0]["output_differs"] = "its output differs from that of full-KV decoding";
  EXPECT_NE(said("lossy").find("\nIts output differs from that of full-KV decoding."), std::string::npos);
}

TEST(Choice, WhatASweepSaysOfTheModelsErrorIsSaid) {
  Json sweep = sweep_document();
  sweep["how_sure"] = Json::array({"a: within 10 %", "b: within 20 %", "c: within 30 %"});
  EXPECT_TRUE(says(only({sweep}, "How sure is this?"), "\na: within 10 %.\nb: within 20 %.\nc: within 30 %.\n"));
  sweep["how_sure"].push_back("d: within 40 %");
  const Fact more = only({sweep}, "How sure is this?");
  EXPECT_TRUE(says(more, "c: within 30 %.\nAnd one more for other points swept, in sweep.json.\n")) << more.detail;
}

TEST(Choice, ASingleRunOfWhichNoRequestFinishedSaysSo) {
  Json run = run_document("staggered", 240);
  run["requests"]["completed"] = 0;
  EXPECT_EQ(facts_of({run}, "Which policy?").at(0).answer, "staggered: no request finished");
}

TEST(Choice, EveryPolicyWhoseIntervalOverlapsThatOfTheChosenOneIsEvenWithIt) {
  const Fact f = policy_of({run_document("full_kv", 100), run_document("a", 225), run_document("b", 240),
                            run_document("c", 232), run_document("d", 227)});
  EXPECT_EQ(f.answer, "b");
  EXPECT_TRUE(says(f, "\nEven with it, within the 95 % intervals: c, d.\n")) << f.detail;
}

TEST(Choice, WhatIsOutsideOfTheObjectivesIsNamedOnlyWhereItIsBetter) {
  const Fact slower = policy_of({judged(run_document("full_kv", 100), 1), judged(lossy_run("nearly", 300, 0.995), 1),
                                 judged(run_document("hasty", 250), 0.5)});
  EXPECT_EQ(slower.answer, "nearly");
  EXPECT_FALSE(says(slower, "outside of the objectives")) << slower.detail;
}

TEST(Choice, SharesHaveTheDigitsThatShowWhetherTheyAreEnough) {
  const Fact f = policy_of({judged(run_document("full_kv", 100), 1), judged(run_document("steady", 150), 0.99004),
                            judged(run_document("hasty", 300), 0.98997)});
  EXPECT_TRUE(says(f, "\n99.0 % of the requests under steady met the objectives")) << f.detail;
  EXPECT_TRUE(says(f, "hasty, output tokens/s 300.0 (98.997 % of its requests met them")) << f.detail;
}

/// A lossy placement with its mean time to the first token.
Json placed(const std::string& policy, double ttft_s, double score) {
  Json run = lossy_run(policy, 100, score);
  run["latency_s"]["ttft"]["mean"] = ttft_s;
  return run;
}

TEST(Choice, APolicyThatAnotherBeatsInSpeedAndScoreIsNeverChosen) {
  Json d = compare_document({placed("importance_chunks", 0.146, 0.655), placed("lru:keydiff:0.5", 0.113, 0.776),
                             placed("lru:knorm:0.25", 0.0747, 0.622)});
  d["ttft_speedup"] = {{"importance_chunks", 1.0}};
  const Fact f = only({d}, kWhichPolicy);
  EXPECT_EQ(f.answer, "lru:keydiff:0.5");
  EXPECT_TRUE(says(f, "Best with the highest task score: mean TTFT 113 ms")) << f.detail;
  EXPECT_TRUE(says(f, "\nWhatever the quality: lru:knorm:0.25: mean TTFT 74.7 ms")) << f.detail;
}

TEST(Choice, WhereTheBaselineMissesTheObjectivesAndTheRestIsLossyTheBaselineIsNotChosen) {
  const Fact f = policy_of({judged(run_document("full_kv", 100), 0.5), judged(lossy_run("lossy", 300, 0.9), 1)});
  EXPECT_EQ(f.answer, "lossy");
}

TEST(Choice, WhatIsBelowTheFloorOfQualityIsBehindTheOthersAndSaysSo) {
  const auto asked = [](Json run, double below) {
    run["slo"]["below_quality_floor"] = below;
    return run;
  };
  const Json low = asked(lossy_run("low", 300, 0.9), 0.05), high = asked(lossy_run("high", 200, 0.96), 0);
  const Fact f = policy_of({low, high});
  EXPECT_EQ(f.answer, "high");
  EXPECT_FALSE(says(f, "quality_floor")) << f.detail;
  EXPECT_TRUE(says(policy_of({low}),
                   "task score 0.900 of the full KV's, 0.05 below slo.quality_floor; functional correctness not known: "
                   "see findings."));
  Json calls = low;
  calls["quality"]["functional"] = {{"calls", 0.1}, {"code_format", 0.0}, {"completion", nullptr}};
  calls["slo"]["below_functional_floor"] = 0.9;
  EXPECT_TRUE(says(policy_of({calls}),
                   "0.05 below slo.quality_floor, 0.9 below slo.functional_floor; functional "
                   "correctness: calls 0.100, code format 0.000."));
  calls["slo"].erase("below_quality_floor");
  EXPECT_EQ(policy_of({calls, lossy_run("slow", 200, 0.8)}).answer, "slow");
  EXPECT_EQ(policy_of({judged(low, 1), judged(high, 0.5)}).answer, "high");  // quality first, as in sweeps
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
