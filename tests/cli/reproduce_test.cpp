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
  EXPECT_NE(page.find("\">mine</a></li>"), std::string::npos);  // in the contents, by its name
  // Again from what was saved, on any number of threads: the same bytes.
  EXPECT_EQ(run({"reproduce", "mine.yaml", "--out", "out", "--jobs", "1", "--json"}).out, r.out);
  EXPECT_EQ(read("out/reproduce.html"), page);
}

TEST_F(ReproduceTest, AScenarioWhoseNameNoFileCanHaveIsMissing) {
  const std::string name = "tiny." + std::string(300, '9') + ".yaml";
  write("long.yaml", edited(kMine, "scenario: tiny.yaml", "scenario: " + name));
  const CommandResult r = run({"reproduce", "long.yaml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("tiny.999"), std::string::npos) << r.err;
  EXPECT_EQ(r.err.find("filesystem"), std::string::npos) << r.err;
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

TEST_F(ReproduceTest, SettingsAndRunsAreRefusedAtTheirPlaceInTheFile) {
  const auto complaint = [this](const std::string& more) {
    write("wrong.yaml", edited(kMine, "policy: \"{policy}\"}", "policy: \"{policy}\"" + more + "}"));
    const CommandResult r = run({"reproduce", "wrong.yaml"});
    EXPECT_EQ(r.status, 2);
    return r.err;
  };
  EXPECT_EQ(
      complaint(", settings: [run.seed=2, \"run.sed=1; decode.draft_length=3\"]"),
      "kvsim: wrong.yaml:4:71: runs.0.settings.1: run.sed: run: unknown key \"sed\" of run; did you mean \"seed\"?\n");
  EXPECT_EQ(
      complaint(", settings: [run.seed=x]"),
      "kvsim: wrong.yaml:4:59: runs.0.settings.0: run.seed: expected a whole number such as \"25\", found \"x\"\n");
  write("bad.yaml", edited(tiny_scenario(), "run:", "rum:"));
  EXPECT_EQ(complaint(", scenario: bad.yaml").substr(0, 42), "kvsim: wrong.yaml:4:8: runs.0: ./bad.yaml:");
}

TEST_F(ReproduceTest, AnExperimentIsNamedOnce) {
  const CommandResult carried = run({"reproduce", "evicpress/fig2", "evicpress/fig3", "evicpress/fig2"});
  EXPECT_EQ(carried.status, 2);
  EXPECT_EQ(carried.err, "kvsim: \"evicpress/fig2\" is named twice\n");
  const CommandResult own = run({"reproduce", "mine.yaml", "mine.yaml", "--out", "out"});
  EXPECT_EQ(own.status, 2);
  EXPECT_EQ(own.err, "kvsim: \"mine\" is named twice\n");
  EXPECT_EQ(names(), (std::vector<std::string>{"mine.yaml", "tiny.yaml"}));
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
