// kvsim plan and kvsim compare on a scenario with two pools, as a user runs them.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

const char* const kScenario = KVSIM_SOURCE_DIR "/scenarios/remote_prefix/published.yaml";
const char* const kShort = "run.duration=4 min";

class PoolsCliTest : public Workspace {
 protected:
  struct Planned {
    CommandResult page;
    std::string document, dispatch;
  };

  /// The scenario's plan, made once.
  const Planned& planned() {
    static const Planned once = [&] {
      CommandResult page = run({"plan", kScenario, "--out", "results"});
      return Planned{std::move(page), read("results/plan.json"), read("results/dispatch.yaml")};
    }();
    return once;
  }
};

TEST_F(PoolsCliTest, PlanOfAPolicyThatThePathLpDoesNotKnowIsRefused) {
  for (const std::string decode : {"{policy: lossy, compressor: kivi-4bit}", "{policy: full_offload}",
                                   "{policy: drafter, drafter: {type: eagle3-llama-3.1-8b}}"}) {
    const CommandResult r = run({"plan", kScenario, "--set", "model=llama-3.1-8b", "--set", "decode=" + decode, "--set",
                                 "dispatch={policy: online}"});
    EXPECT_EQ(r.status, 2);
    EXPECT_NE(r.err.find("plans by path are of full KV on nodes, or of drafts that are verified against it, without a "
                         "drafter, and "),
              std::string::npos)
        << r.err;
    EXPECT_NE(r.err.find("is neither: use full_kv or draft_verify here"), std::string::npos) << r.err;
  }
}

TEST_F(PoolsCliTest, PlanHasTheKeysOfPathsAndThoseOfAScenario) {
  ASSERT_EQ(planned().page.status, 0) << planned().page.err;
  const Json doc = Json::parse(planned().document);
  std::vector<std::string> keys;
  for (const auto& [key, value] : doc.items()) keys.push_back(key);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"schema_version", "kvsim_version", "throughput_tokens_per_s", "requests_per_s",
                                      "paths", "occupancy", "shadow_prices", "converged", "residual", "details"}));
  EXPECT_EQ(doc["converged"], true);
  EXPECT_EQ(doc["details"]["dispatch"]["policy"], "weighted");
  EXPECT_EQ(doc["details"]["dispatch"]["weights"]["B1"], doc["paths"]["B1"]);
  EXPECT_EQ(doc["details"]["derived"]["slots_per_node"], 5);
  EXPECT_TRUE(doc["details"]["simulated"].is_null());
  EXPECT_FALSE(doc["details"].contains("other_reading"));
  EXPECT_EQ(doc["details"]["purchases"].size(), 6U);
}

TEST_F(PoolsCliTest, ThePredictionIsNearTheSimulation) {
  const CommandResult r = run({"plan", kScenario, "--json", "--simulate", "--set", kShort});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json simulated = Json::parse(r.out)["details"]["simulated"];
  EXPECT_LT(std::abs(simulated["gap"].get<double>()), 0.15);
  EXPECT_GT(simulated["online_tokens_per_s"], 0);
}

TEST_F(PoolsCliTest, ItsWeightsCanBePasted) {
  const CommandResult& page = planned().page;
  ASSERT_EQ(page.status, 0) << page.err;
  const std::size_t block = page.out.find("\ndispatch:\n  policy: weighted\n  weights: {B1: ");
  ASSERT_NE(block, std::string::npos) << page.out;
  const std::string text = read_file(kScenario);
  const std::string own = "dispatch: {policy: planned}\n";
  const std::size_t at = text.find(own);
  ASSERT_NE(at, std::string::npos);
  write("s.yaml", std::string(text).replace(at, own.size(), page.out.substr(block + 1)));
  EXPECT_EQ(run({"check", "s.yaml"}).status, 0);
  EXPECT_EQ(planned().dispatch, page.out.substr(block + 1));
}

TEST_F(PoolsCliTest, OptionsWithoutAMeaningAreRefused) {
  for (const std::vector<std::string>& option : std::vector<std::vector<std::string>>{{"--model", "rings"},
                                                                                      {"--draft-length", "1:60"},
                                                                                      {"--keep-ratio", "0.2"},
                                                                                      {"--without", "compute"},
                                                                                      {"--explain"},
                                                                                      {"--pareto"},
                                                                                      {"--timing"}}) {
    std::vector<std::string> arguments{"plan", kScenario};
    arguments.insert(arguments.end(), option.begin(), option.end());
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 2) << option.front();
    EXPECT_NE(r.err.find("this scenario has cluster.pools"), std::string::npos) << r.err;
    EXPECT_NE(r.err.find(option.front() + ": "), std::string::npos) << r.err;
  }
}

TEST_F(PoolsCliTest, CompareHasPoliciesOfItsOwn) {
  const CommandResult r = run({"compare", kScenario, "--json", "--set", kShort});
  ASSERT_EQ(r.status, 0) << r.err;
  for (const char* policy : {"full_kv:mix", "full_kv:local", "full_kv:remote", "draft_verify:mix"}) {
    EXPECT_NE(r.out.find(std::string("\"") + policy + "\""), std::string::npos) << policy;
  }
}

TEST_F(PoolsCliTest, CompareRefusesUnknownPathsWithTheNearest) {
  const CommandResult r = run({"compare", kScenario, "--policies", "draft_verify:P1_cachd"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("expected draft_verify:P1_cached or another of"), std::string::npos) << r.err;
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
