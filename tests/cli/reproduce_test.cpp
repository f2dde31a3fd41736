// kvsim reproduce, as a user runs it.
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

class ReproduceTest : public Workspace {
 protected:
  ReproduceTest() {
    write("tiny.yaml", tiny_scenario());
    write("mine.yaml", kMine);
  }

  static constexpr const char* kMine =
      "place: our bench\n"
      "title: Throughput\n"
      "scenario: tiny.yaml\n"
      "runs: [{name: run(policy), policy: \"{policy}\"}]\n"
      "panels:\n"
      "  - x: {title: policy, named: true, over: {columns: policy, rows: [full_kv, draft_verify]}}\n"
      "    y: {title: tokens/s}\n"
      "    tolerance: 0.2\n"
      "    series:\n"
      "      - name: ours\n"
      "        simulated: run({policy}).throughput.output_tokens_per_s\n"
      "        points: [{at: full_kv, is: 1}, {at: draft_verify, is: 1000000}]\n";
};

TEST_F(ReproduceTest, ListsExperimentsAndReasons) {
  const CommandResult r = run({"reproduce", "--list"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("vericache/fig11"), std::string::npos);
  EXPECT_NE(r.out.find("an illustration of the method"), std::string::npos);
}

TEST_F(ReproduceTest, OwnMeasurementsBesideWhatIsSimulated) {
  const CommandResult r = run({"reproduce", "mine.yaml", "--out", "out", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  ASSERT_EQ(doc["experiments"].size(), 1U);
  EXPECT_EQ(doc["experiments"][0]["name"], "mine");
  EXPECT_EQ(doc["experiments"][0]["points"].size(), 2U);
  EXPECT_EQ(doc["experiments"][0]["points"][0]["within"], false);
  EXPECT_EQ(read("out/reproduce.json"), r.out);
  const std::string page = read("out/reproduce.html");
  EXPECT_NE(page.find("<svg"), std::string::npos);
  EXPECT_NE(page.find("our bench"), std::string::npos);
  // Again from what was saved, on any number of threads: the same bytes.
  EXPECT_EQ(run({"reproduce", "mine.yaml", "--out", "out", "--jobs", "1", "--json"}).out, r.out);
  EXPECT_EQ(read("out/reproduce.html"), page);
}

// The smallest experiment of EvicPress: three schemes for two contexts, in simulated time.
TEST_F(ReproduceTest, TheWorkedExampleOfEvicPress) {
  const CommandResult r = run({"reproduce", "evicpress/fig2", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  const Json example = Json::parse(r.out)["experiments"][0];
  EXPECT_EQ(example["verdict"], "reproduced") << r.out;
  EXPECT_EQ(example["points"].size(), 6U);
}

TEST_F(ReproduceTest, WhatMakesNoSenseIsExitTwoAndNothingIsWritten) {
  EXPECT_EQ(run({"reproduce"}).err,
            "kvsim: expected one of NAME, --paper and --all, or --list (kvsim reproduce --help says more)\n");
  const CommandResult name = run({"reproduce", "vericache/fig111"});
  EXPECT_EQ(name.status, 2);
  EXPECT_EQ(
      name.err,
      "kvsim: unknown experiment \"vericache/fig111\"; did you mean \"vericache/fig11\"? (a file of your own ends "
      "in .yaml)\n");
  EXPECT_EQ(run({"reproduce", "--paper", "vericach"}).err,
            "kvsim: --paper: unknown paper \"vericach\"; did you mean \"vericache\"?\n");
  write("wrong.yaml", edited(kMine, "output_tokens_per_s", "output_token_per_s"));
  const CommandResult wrong = run({"reproduce", "wrong.yaml", "--out", "out"});
  EXPECT_EQ(wrong.status, 2);
  EXPECT_EQ(
      wrong.err,
      "kvsim: wrong.yaml:11:20: panels.0.series.0.simulated: unknown metric \"throughput.output_token_per_s\"; did "
      "you mean \"throughput.output_tokens_per_s\"?\n");
  EXPECT_EQ(names(), (std::vector<std::string>{"mine.yaml", "tiny.yaml", "wrong.yaml"}));
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
