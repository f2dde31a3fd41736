// The real Mooncake conversation trace through scenarios/long_context/mooncake.yaml.
#include <gtest/gtest.h>

#include <filesystem>

#include "planner/policy_words.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

TEST(Mooncake, EveryRequestOfTheTraceFinishesUnderBothPolicies) {
  const std::string path = source_path("../shared/traces/mooncake_conversation.jsonl");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the Mooncake conversation trace is not at " << path;
  const scenario::ScenarioFile file(source_path("scenarios/long_context/mooncake.yaml"),
                                    {"workload.trace.path=" + path});
  for (const char* policy : {"full_kv", "draft_verify:staggered"}) {
    const serving::Measurements m = measure(planner::with_policy(file, policy));
    EXPECT_EQ(m.arrived, 12031U) << policy;
    EXPECT_EQ(m.completed, 12031U) << policy;
    EXPECT_EQ(m.output_tokens, 4'122'048) << policy;  // the trace's own sum
  }
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
