// Commands on scenarios with two pools around a storage node.
#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

const std::string kPublished = KVSIM_SOURCE_DIR "/scenarios/remote_prefix/published.yaml";

class PoolsTest : public Workspace {};

TEST_F(PoolsTest, TheShippedScenariosAreValid) {
  const CommandResult published = run({"check", kPublished, "--full"});
  EXPECT_EQ(published.status, 0) << published.err;
  EXPECT_NE(published.out.find("storage-node-slow"), std::string::npos);
  EXPECT_NE(published.out.find("# KV capacity of a node: "), std::string::npos) << published.out;
  write("t.jsonl", R"({"timestamp": 0, "input_length": 600, "output_length": 40, "hash_ids": [1, 2]})"
                   "\n");
  const CommandResult mooncake =
      run({"check", KVSIM_SOURCE_DIR "/scenarios/remote_prefix/mooncake.yaml", "--set", "workload.trace.path=t.jsonl"});
  EXPECT_EQ(mooncake.status, 0) << mooncake.err;
}

TEST_F(PoolsTest, WhatCheckPrintsIsAScenario) {
  write("resolved.yaml", run({"check", kPublished, "--full"}).out);
  const CommandResult again = run({"check", "resolved.yaml"});
  EXPECT_EQ(again.status, 0) << again.err;
}

TEST_F(PoolsTest, DispatchersAreListed) {
  const CommandResult r = run({"list", "dispatchers"});
  EXPECT_EQ(r.status, 0) << r.err;
  for (const char* name : {"online", "weighted", "planned", "admit"}) {
    EXPECT_NE(r.out.find(name), std::string::npos) << name;
  }
}

TEST_F(PoolsTest, WhatIsAboutReplicasIsRefused) {
  const std::vector<std::vector<std::string>> commands{{"capacity", kPublished, "--slo", "ttft_p99=5s"},
                                                       {"plan", kPublished, "--export", "vllm"},
                                                       {"plan", kPublished, "--explain"},
                                                       {"plan", kPublished, "--pareto"}};
  for (const auto& command : commands) {
    const CommandResult r = run(command);
    EXPECT_EQ(r.status, 2) << command.back();
    EXPECT_EQ(r.out, "") << command.back();
    EXPECT_NE(r.err.find("this scenario has cluster.pools"), std::string::npos) << r.err;
  }
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
