// kvsim plan of scenarios whose decode policy fetches KV, as a user runs it.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "tests/cli/workspace.h"
#include "tests/support/well_formed.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

class PlanPrefetchTest : public Workspace {
 protected:
  PlanPrefetchTest() {
    write("s.yaml",
          edited(edited(tiny_scenario(), "{policy: draft_verify, compressor: kvzip, keep_ratio: 0.2, draft_length: 8}",
                        "{policy: speculative_prefetch, compressor: specache-2bit}"),
                 "{policy: staggered}", "{policy: fcfs}"));
  }

  Json json(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", "s.yaml", "--json"});
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    return Json::parse(r.out);
  }
};

TEST_F(PlanPrefetchTest, SaysStepFetchCrossoverAndTwoTokens) {
  const Json doc = json({});
  EXPECT_EQ(doc["schema_version"], 1);
  EXPECT_EQ(doc["policy"], "speculative_prefetch");
  EXPECT_EQ(doc["batch"], 4);
  EXPECT_NEAR(doc["output_tokens_per_s"].get<double>() * doc["step_s"].get<double>(), 4, 1e-9);
  std::vector<std::string> names;
  for (const Json& policy : doc["policies"]) names.push_back(policy["policy"]);
  EXPECT_EQ(names, (std::vector<std::string>{"full_kv", "speculative_prefetch", "fetch_on_demand", "quantised_only",
                                             "full_offload"}));
  EXPECT_EQ(doc["fetch"]["row_bytes"], 256);
  EXPECT_EQ(doc["fetch"]["rows_per_request_layer_and_gpu"], 64 * 2 * 8);
  EXPECT_EQ(doc["crossover"]["points"][0]["k"], 8);
  EXPECT_GT(doc["crossover"]["links"].size(), 2U);
  EXPECT_GT(doc["two_tokens"].size(), 3U);
}

TEST_F(PlanPrefetchTest, ThePageHasItsTables) {
  const CommandResult r = run({"plan", "s.yaml", "--details"});
  EXPECT_EQ(r.status, 0) << r.err;
  for (const char* title : {"Step: ", "Fetch of a request", "Crossover: ", "Host links: ", "Two tokens: "}) {
    EXPECT_NE(r.out.find(title), std::string::npos) << title;
  }
}

TEST_F(PlanPrefetchTest, OutHasDocumentPageTableAndPicture) {
  const CommandResult r = run({"plan", "s.yaml", "--out", "results"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(names(), (std::vector<std::string>{"results", "results/crossover.csv", "results/crossover.svg",
                                               "results/plan.json", "results/plan.md", "s.yaml"}));
  const Json doc = json({});
  EXPECT_EQ(Json::parse(read("results/plan.json")), doc);
  const std::string csv = read("results/crossover.csv");
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), doc["crossover"]["points"].size() + 1);
  const std::string svg = read("results/crossover.svg");
  EXPECT_EQ(testing::xml_fault(svg), "");
  EXPECT_NE(svg.find("pcie5-x16"), std::string::npos);
}

TEST_F(PlanPrefetchTest, ALowBitCopyAloneIsPlannedLikewise) {
  const CommandResult r = run({"plan", "s.yaml", "--set", "decode.policy=quantised_only"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("quantised_only: 4 requests at once"), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find("the fetch is hidden"), std::string::npos);
}

TEST_F(PlanPrefetchTest, SizesBeyondTheProfileAreSaid) {
  const CommandResult r = run({"plan", "s.yaml", "--details", "--set", "cluster.gpu.profile=rtx-4090-vllm", "--set",
                               "workload.closed.concurrency=3000", "--set", "schedule.max_requests=3000", "--set",
                               "workload.context=300 tokens", "--set", "cluster.host.memory=9 TB"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("beyond what profile rtx-4090-vllm was measured at"), std::string::npos) << r.out;
}

TEST_F(PlanPrefetchTest, CompareTakesThePoliciesOfTheScenariosKind) {
  const CommandResult r = run({"compare", "s.yaml", "--details"});
  EXPECT_EQ(r.status, 0) << r.err;
  for (const char* policy : {"full_kv", "quantised_only", "fetch_on_demand", "speculative_prefetch", "full_offload"}) {
    EXPECT_NE(r.out.find(policy), std::string::npos) << policy;
  }
  EXPECT_EQ(r.out.find("lock_step"), std::string::npos);
}

TEST_F(PlanPrefetchTest, ANameWithMarkupIsStillAPicture) {
  ASSERT_EQ(run({"plan", "s.yaml", "--set", "name=a <b> & \"c\"", "--out", "results"}).status, 0);
  const std::string svg = read("results/crossover.svg");
  EXPECT_EQ(testing::xml_fault(svg), "");
  EXPECT_NE(svg.find("a &lt;b&gt; &amp; "), std::string::npos);
}

TEST_F(PlanPrefetchTest, WhatFailsLeavesNoFiles) {
  EXPECT_EQ(run({"plan", "s.yaml", "--out", "/proc/none"}).status, 1);
  const CommandResult r = run({"plan", "s.yaml", "--out", "results", "--set", "cluster.host.memory=1 MiB"});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_EQ(r.out, "");
  EXPECT_NE(r.err.find("host memory"), std::string::npos) << r.err;
  EXPECT_EQ(run({"plan", "s.yaml", "--out", "results", "--set", "cluster.gpu.memory_fraction=0.1"}).status, 4);
  EXPECT_EQ(names(), (std::vector<std::string>{"s.yaml"}));
}

TEST_F(PlanPrefetchTest, OptionsOfDraftingAreRefused) {
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--model", "rings"},
                                                 {"--draft-length", "1:4"},
                                                 {"--keep-ratio", "0.2"},
                                                 {"--without", "kernels"},
                                                 {"--simulate"},
                                                 {"--explain"},
                                                 {"--pareto"},
                                                 {"--timing"}}) {
    std::vector<std::string> arguments{"plan", "s.yaml"};
    arguments.insert(arguments.end(), option.begin(), option.end());
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 2) << option[0];
    EXPECT_EQ(r.out, "");
    EXPECT_NE(r.err.find(option[0] + ": belongs to plans that draft and verify"), std::string::npos) << r.err;
  }
}

TEST_F(PlanPrefetchTest, WhereTheOtherPoliciesCannotRunTheySayWhy) {
  write("s.yaml",
        edited(read("s.yaml"), "{policy: speculative_prefetch, compressor: specache-2bit}", "{policy: full_offload}"));
  const Json doc = json({});
  EXPECT_EQ(doc["policy"], "full_offload");
  EXPECT_TRUE(doc["crossover"].is_null());
  EXPECT_TRUE(doc["details"]["reasons"].contains("crossover"));
  const CommandResult r = run({"plan", "s.yaml", "--out", "results"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(names(), (std::vector<std::string>{"results", "results/plan.json", "results/plan.md", "s.yaml"}));
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
