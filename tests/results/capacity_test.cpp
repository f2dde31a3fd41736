// What documents of capacity searches say of their figures.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/planner/capacity_scenario.h"
#include "tools/results/capacity.h"
#include "tools/results/provenance.h"
#include "tools/results/result_document.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

TEST(CapacityDefinitions, SayWhenPercentilesOfAProbeAreOfMoreValuesThanAreKept) {
  results::CapacityOutcome outcome;
  outcome.plan.request.probe = quick_probe();
  for (int i = 0; i < 2; ++i) {
    planner::capacity::Configuration c;
    c.scenario = quick_chat();
    c.probes.resize(2);
    outcome.plan.configurations.push_back(std::move(c));
  }
  const auto definitions = [&outcome] {
    const auto list = results::capacity_definitions(outcome);
    return std::map<std::string, std::string>(list.begin(), list.end());
  };
  EXPECT_FALSE(definitions().contains("percentiles"));
  outcome.plan.configurations.back().probes.front().sketched = true;
  EXPECT_EQ(definitions().at("percentiles"), results::kSketched);
}

TEST(CapacityDecision, SaysHowManyConfigurationsWereNotDone) {
  planner::capacity::CapacityPlan plan;
  plan.request.rate = 10;
  plan.configurations.resize(5);
  for (planner::capacity::Configuration& c : plan.configurations) c.scenario = quick_chat();
  plan.configurations.front().fleet.emplace();
  plan.stopped = 3;
  const std::string said = "Interrupted: 3 of 5 configurations were not done, and any of them may be cheaper.";
  EXPECT_EQ(results::capacity_decision(plan).at(1), said);
  plan.stopped = 1;
  EXPECT_EQ(results::capacity_decision(plan).at(1),
            "Interrupted: 1 of 5 configurations was not done, and may be cheaper.");
  plan.stopped = 0;
  EXPECT_NE(results::capacity_decision(plan).at(1), said);
}

// 2 sessions/s of 3 turns; 730 h of 3 H100 at 2.5 USD/h and 1 USD/h of host memory are 6,205 USD, 12 % of it for
// memory.
TEST(CapacityDecision, OfSessionsSaysRequestsRouterAndWhatAMonthCosts) {
  planner::capacity::CapacityPlan plan;
  plan.request.rate = 2;
  plan.configurations.resize(1);
  planner::capacity::Configuration& c = plan.configurations.front();
  c.scenario = quick_chat(
      {"workload={arrivals: {rate: 1/s}, context: 500 tokens, output: 10 tokens, sessions: {turns: 3, growth: 20 "
       "tokens, think_time: 3 s}}",
       "slo={ttft_p99: 1 s, tpot_p95: 40 ms}"});
  c.machine = "h100-sxm";
  c.policy = "full_kv";
  c.fleet.emplace();
  c.fleet->needed = c.fleet->replicas = c.fleet->gpus = 30;
  c.fleet->simulated = 16;
  c.fleet->cost.gpus = 7.5;
  c.fleet->cost.host_memory = 1;
  const std::string said = results::capacity_decision(plan).front();
  for (const char* words :
       {"Buy 30 x h100-sxm under full_kv behind router session for 2.000 sessions/s (6.000 requests/s) within TTFT p99 "
        "1 s, TPOT p95 40 ms (confidence 95 % each)",
        "$8.50/h ($6,205 a month of 730 h; host memory is 12 % of it)",
        "16 of the 30 replicas were simulated, at the same load per replica"}) {
    EXPECT_NE(said.find(words), std::string::npos) << words << "\n" << said;
  }
}

// The part that was done is the best so far, with a fleet or without one.
TEST(CapacityDecision, OfAnInterruptedSearchIsTheBestSoFar) {
  planner::capacity::CapacityPlan plan = quick_plan();
  EXPECT_TRUE(results::capacity_decision(plan).front().starts_with("One replica of"));
  plan.stopped = 1;
  EXPECT_TRUE(results::capacity_decision(plan).front().starts_with("Best so far: one replica of"));
  plan.request.rate = 100;
  plan.configurations.front().no_fleet = "interrupted before its fleet was sized";
  EXPECT_EQ(results::capacity_decision(plan).at(1),
            "No fleet for 100.0 requests/s: interrupted before its fleet was sized");
  plan.configurations.front().fleet.emplace();
  EXPECT_TRUE(results::capacity_decision(plan).front().starts_with("Best so far: 0 x"));
}

TEST(CapacityDecision, NamesTheFleetThatIsCheaperOnceTheErrorOfTheModelIsBought) {
  planner::capacity::CapacityPlan plan;
  plan.request.probe = quick_probe();
  plan.request.rate = 10;
  plan.ranked_by_price = true;
  const auto add = [&plan](const char* machine, std::int64_t replicas, std::optional<double> usd_per_hour) {
    planner::capacity::Configuration c;
    c.scenario = quick_chat();
    c.machine = machine;
    c.policy = "full_kv";
    c.fleet.emplace();
    c.margin.replicas = replicas;
    c.margin.usd_per_hour = usd_per_hour;
    plan.configurations.push_back(std::move(c));
  };
  const auto said = [&plan] {
    std::string all;
    for (const std::string& line : results::capacity_decision(plan)) all += line + "\n";
    return all;
  };
  add("a100", 2, 3.6);
  add("h100-sxm", 1, 2.5);
  EXPECT_NE(
      said().find("Bought against that error, 1 x h100-sxm under full_kv is cheaper: $2.50/h, and 2 x a100 $3.60/h\n"),
      std::string::npos)
      << said();
  plan.configurations.back().margin.usd_per_hour = 3.6;
  EXPECT_EQ(said().find("Bought against"), std::string::npos) << "as cheap is not cheaper";
  plan.configurations.front().margin.usd_per_hour = std::nullopt;
  EXPECT_EQ(said().find("Bought against"), std::string::npos) << "a cost that is not known is not dearer";
}

TEST(CapacityDecision, SaysAsWhatPromptsAreStored) {
  planner::capacity::CapacityPlan plan;
  plan.request.probe = quick_probe();
  const auto said = [&plan](const std::string& placement) {
    planner::capacity::Configuration c;
    c.scenario = quick_chat({"workload.prefixes={count: 20, tokens: 4k tokens}", "prefill=prefix_cache",
                             "cluster.host.memory=8 GB", "placement={policy: " + placement + "}"});
    c.policy = "full_kv";
    c.search.rate = 1;
    c.probes.resize(1);
    c.probes.front().rate = 1;
    c.probes.front().passes = true;
    plan.configurations = {c};
    return results::capacity_decision(plan).front();
  };
  EXPECT_EQ(said("lru").find("differs"), std::string::npos);
  EXPECT_NE(said("lru, compressor: keydiff, keep_ratio: 0.3")
                .find("(its output differs from that of full-KV decoding: prompts are stored as keydiff 0.3)"),
            std::string::npos)
      << said("lru, compressor: keydiff, keep_ratio: 0.3");
  EXPECT_NE(said("utility").find("prompts are stored whole or by knorm, kvzip, snapkv)"), std::string::npos)
      << said("utility");
}

/// A configuration that sustains one request a second.
planner::capacity::Configuration sustaining(const std::string& machine, const std::string& policy) {
  planner::capacity::Configuration c;
  c.scenario = quick_chat({"decode={policy: " + policy + ", compressor: fast-kvzip, keep_ratio: 0.2}"});
  c.machine = machine;
  c.policy = policy;
  c.search.rate = 1;
  c.probes.resize(1);
  c.probes.front().rate = 1;
  c.probes.front().passes = true;
  c.probes.front().score = 0.985;
  return c;
}

// Documents have the sentences that terminals print of a choice; reports take them from there.
TEST(CapacityDocument, SaysWhatThePageSaysOfTheChoice) {
  results::CapacityOutcome outcome;
  planner::capacity::CapacityPlan& plan = outcome.plan;
  plan.request.probe = quick_probe();
  plan.configurations = {sustaining("a100", "lossy"), sustaining("h100-sxm", "full_kv")};
  plan.configurations.front().margin.slower = 2;
  const auto document = [&outcome] { return results::capacity_document(outcome); };
  const results::Json d = document();
  const results::Json& lossy = d["configurations"][0];
  EXPECT_EQ(
      lossy["output_differs"],
      "its output differs from that of full-KV decoding: task score 0.985 of the full KV's; functional correctness "
      "not known: see findings");
  EXPECT_FALSE(lossy.contains("least_functional"));
  EXPECT_FALSE(d["configurations"][1].contains("output_differs"));
  EXPECT_EQ(lossy["rate_with_model_error"], 0.5);
  const std::string error = lossy["model_error"];
  EXPECT_TRUE(error.starts_with("Against the error of the model itself, 0.5000 requests/s: ")) << error;
  EXPECT_TRUE(error.ends_with("; none of them has lossy, whose error is not known")) << error;
  EXPECT_FALSE(d.contains("cheaper_with_model_error"));
  plan.request.rate = 1;
  for (planner::capacity::Configuration& c : plan.configurations) {
    c.fleet.emplace();
    c.fleet->found = true;
    c.margin.replicas = 1;
    c.margin.usd_per_hour = c.policy == "lossy" ? 3 : 2;
  }
  const results::Json fleets = document();
  const std::string cheaper = fleets["cheaper_with_model_error"];
  EXPECT_TRUE(cheaper.starts_with("Bought against that error, 1 x h100-sxm under full_kv is cheaper: $2.00/h"))
      << cheaper;
  std::string decision;
  for (const std::string& line : results::capacity_decision(plan)) decision += line + "\n";
  for (const std::string& said : {cheaper, fleets["configurations"][0]["model_error"].get<std::string>(),
                                  fleets["configurations"][0]["output_differs"].get<std::string>()}) {
    EXPECT_NE(decision.find(said), std::string::npos) << said << "\n" << decision;
  }
}

TEST(CapacityRemarks, SayHowTheGpusWereChosen) {
  planner::capacity::CapacityPlan plan;
  plan.request.probe = quick_probe();
  plan.configurations = {sustaining("l4", "full_kv")};
  planner::capacity::Configuration& c = plan.configurations.front();
  c.placement = planner::capacity::Placement::smallest;
  c.tensor_parallel = 2;
  const auto said = [&plan] { return results::capacity_remarks(plan).items.back(); };
  EXPECT_EQ(said(), "l4: 2 GPUs per replica, the smallest power of two with room for the model and a mean request");
  c.failed_sizes = {1};  // has room, and meets the objectives at no rate
  EXPECT_EQ(said(), "l4: 2 GPUs per replica, the smallest power of two that meets the objectives");
}

TEST(CapacityRemarks, SayWhereIterationsAreLaunchedKernelByKernel) {
  planner::capacity::CapacityPlan plan;
  plan.request.probe = quick_probe();
  plan.configurations = {sustaining("l4", "full_kv"), sustaining("l4", "lossy")};
  plan.configurations[0].probes.front().launched = 0.44;
  EXPECT_EQ(results::capacity_remarks(plan).items.back(),
            "iterations launched kernel by kernel, as they have more tokens than captured ones: 44 % of l4, full_kv");
}

TEST(CapacityRemarks, TellARateThatOneReplicaSustainsFromOneThatNoneDoes) {
  planner::capacity::CapacityPlan plan;
  plan.request.probe = quick_probe();
  plan.configurations = {sustaining("l4", "full_kv"), sustaining("l4", "lossy")};
  plan.configurations[1].search = {};
  EXPECT_EQ(results::capacity_remarks(plan).items.back(),
            "l4, lossy: no rate meets the objectives, not even when requests run alone");
  plan.configurations[1].too_much = {64, 300, 4.1};
  EXPECT_EQ(
      results::capacity_remarks(plan).items.back(),
      "l4, lossy: no fleet of up to 64 replicas meets the objectives at 300/s, though one replica sustains 4.1/s");
}

TEST(CapacityFallbacks, SayOfWhichConfigurationTheyAre) {
  planner::capacity::CapacityPlan plan;
  plan.configurations = {sustaining("a100", "full_kv"), sustaining("a100", "lossy")};
  for (planner::capacity::Configuration& c : plan.configurations) {
    c.scenario.serving.cluster.groups.front().profile.measured_on = c.scenario.serving.cluster.groups.front().gpu.name;
    c.probes.front().fallbacks = {c.policy == "lossy" ? "7 of 9 iterations" : "1 of 9 iterations", "both"};
  }
  EXPECT_EQ(
      results::capacity_fallbacks(plan).items,
      (std::vector<std::string>{"a100, full_kv: 1 of 9 iterations", "a100: both", "a100, lossy: 7 of 9 iterations"}));
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
