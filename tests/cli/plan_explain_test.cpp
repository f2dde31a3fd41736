// kvsim plan --explain and --export as a user has them.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::json;

class PlanExplainTest : public Workspace {
 protected:
  PlanExplainTest() { write("s.yaml", tiny_scenario()); }

  CommandResult plan(std::vector<std::string> more) {
    std::vector<std::string> arguments{"plan", "s.yaml", "--draft-length", "1:12", "--keep-ratio", "0.2,0.3"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run(arguments);
  }

  void expect_refused(const std::vector<std::string>& more, const std::string& because) {
    const CommandResult r = plan(more);
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.out, "");
    EXPECT_NE(r.err.find(because), std::string::npos) << r.err;
  }
};

TEST_F(PlanExplainTest, ThePageFollowsThePlan) {
  const CommandResult r = plan({"--explain", "--replications", "2"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  const std::size_t plan_at = r.out.find("Plan: tiny"), why_at = r.out.find("Why this plan");
  ASSERT_NE(why_at, std::string::npos) << r.out;
  EXPECT_LT(plan_at, why_at);
  EXPECT_NE(r.out.find("simulated over 2 replications"), std::string::npos);
}

TEST_F(PlanExplainTest, TheDocumentDoesNotDependOnJobs) {
  const CommandResult one = plan({"--explain", "--replications", "2", "--json", "--jobs", "1"});
  const CommandResult two = plan({"--explain", "--replications", "2", "--json", "--jobs", "2"});
  EXPECT_EQ(one.status, 0) << one.err;
  EXPECT_EQ(one.out, two.out);
  const Json document = Json::parse(one.out);
  EXPECT_EQ(document["explanation"]["plan"]["x"], document["optimum"]["x"]);
  EXPECT_EQ(document["explanation"]["elasticities"].size(), 5u);
  EXPECT_EQ(document["explanation"]["margins"].size(), 7u);  // six factors, and what was searched
}

TEST_F(PlanExplainTest, AFolderGetsTheConfigurations) {
  const CommandResult r = plan({"--export", "vllm", "--export", "lmcache", "--export", "vllm", "--out", "o"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("Plan: tiny"), std::string::npos);
  for (const char* file : {"o/plan.json", "o/plan.md", "o/vllm.sh", "o/lmcache.yaml"})
    EXPECT_NE(read(file), "") << file;
}

TEST_F(PlanExplainTest, OneConfigurationIsPrintedAlone) {
  const CommandResult r = plan({"--export", "vllm"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("#!/usr/bin/env bash\n")) << r.out;
  EXPECT_TRUE(r.out.ends_with("exec vllm serve \"$MODEL\" \"${args[@]}\" \"$@\"\n")) << r.out;
}

TEST_F(PlanExplainTest, WhatWouldHaveNoEffectIsRefused) {
  expect_refused({"--export", "vllm", "--export", "lmcache"}, "--out DIR");
  expect_refused({"--export", "vllm", "--json"}, "--out DIR");
  expect_refused({"--export", "sglang"}, "sglang");
  const CommandResult symbols = run({"plan", "--symbols", "s.yaml", "--explain"});
  EXPECT_EQ(symbols.status, 2);
  EXPECT_NE(symbols.err.find("--explain: raw symbols"), std::string::npos) << symbols.err;
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
