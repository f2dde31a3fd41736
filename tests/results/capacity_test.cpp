// What documents of capacity searches say of their figures.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

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

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
