// Remarks of a capacity plan.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "planner/capacity/capacity_plan.h"
#include "tests/planner/capacity_scenario.h"
#include "tools/results/capacity.h"

namespace kvsim::planner::capacity::KVSIM_FILE {
namespace {

using testing::quick_chat;

TEST(CapacityRemarks, WhatTheQueueOfFewRequestsDoesNotTellIsARemark) {
  const auto remarks = [](double unseen) {
    CapacityPlan plan;
    Configuration c;
    c.scenario = quick_chat({"slo={tpot_p99: 50 ms}"});
    c.machine = "h100-sxm";
    c.policy = "full_kv";
    c.search.rate = 3;
    Probe probe;
    probe.rate = 3;
    probe.passes = probe.meets = true;
    probe.attainment.requests = 600;
    probe.unseen = unseen;
    c.probes.push_back(probe);
    plan.configurations.push_back(c);
    return results::capacity_remarks(plan).items;
  };
  EXPECT_EQ(remarks(0.02), std::vector<std::string>{});
  EXPECT_EQ(
      remarks(0.05),
      std::vector<std::string>{
          "h100-sxm, full_kv: no objective has the wait in it, and the queue of 600 judged requests does not tell "
          "a rate 5.0 % above what is served from one that is served: more requests do (a longer run.duration), "
          "or an objective of TTFT or E2E (--slo ttft_p99=2s)"});
}

TEST(CapacityRemarks, ThatPromptsAreStoredIsARemark) {
  const auto remarks = [](const char* prefill) {
    CapacityPlan plan;
    Configuration c;
    c.scenario = quick_chat({"cluster.host={memory: 64 GiB}", std::string("prefill=") + prefill});
    c.search.rate = 3;
    plan.configurations.push_back(c);
    return results::capacity_remarks(plan).items;
  };
  EXPECT_EQ(remarks("recompute"), std::vector<std::string>{});
  EXPECT_EQ(
      remarks("stored"),
      std::vector<std::string>{
          "prefill: stored: the KV of every prompt is stored before its request comes, and none is computed; of a "
          "service that computes prompts, use prefill: recompute, or prefix_cache with placement"});
}

}  // namespace
}  // namespace kvsim::planner::capacity::KVSIM_FILE
