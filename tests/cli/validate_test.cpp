// kvsim validate, as a user runs it.
#include <nlohmann/json.hpp>

#include <cstdlib>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

class ValidateTest : public Workspace {
 protected:
  ValidateTest() { unsetenv("KVSIM_MEASURED"); }  // kvsim inherits the environment
};

TEST_F(ValidateTest, PublishedFiguresAreMet) {
  const CommandResult r = run({"validate", "--group", "draft-verify"});
  EXPECT_EQ(r.status, 0) << r.out;
  EXPECT_EQ(r.err, "");
  EXPECT_NE(r.out.find(" passed, 0 outside, "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("headline.full_kv"), std::string::npos);
}

TEST_F(ValidateTest, PredictionsAreShownAndNeverFail) {
  const CommandResult r = run({"validate", "--group", "speculative-prefetch"});
  EXPECT_EQ(r.status, 0) << r.out;
  EXPECT_NE(r.out.find("35 passed, 0 outside, 2 skipped; 6 predictions"), std::string::npos) << r.out;
}

TEST_F(ValidateTest, WithoutMeasuredDataFiguresAreSkippedAndNothingFails) {
  const CommandResult r = run({"validate", "--group", "serving", "--group", "transfers"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("0 passed, 0 outside, "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("no measured data: name its folder with --measured"), std::string::npos) << r.out;
}

/// A measured row that no link of the catalogue can meet.
constexpr const char* kWrong =
    "test,hardware,transfer_size,GBps,direction,source\n"
    "nvbandwidth_h2d_ce,\"H100, PCIe Gen5\",bulk,155.4,h2d,made up\n";

TEST_F(ValidateTest, AFigureOutsideItsToleranceIsExitOne) {
  write("kv_transfer.csv", kWrong);
  const CommandResult r = run({"validate", "--group", "transfers", "--measured", "."});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "kvsim: 1 figure is outside its tolerance\n");
  EXPECT_NE(r.out.find("0 passed, 1 outside, 0 skipped"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("OUTSIDE"), std::string::npos) << r.out;
}

TEST_F(ValidateTest, JsonIsOneDocumentWithEveryFigure) {
  write("kv_transfer.csv", kWrong);
  const CommandResult r =
      run({"validate", "--group", "transfers", "--group", "collectives", "--measured", ".", "--json"});
  EXPECT_EQ(r.status, 1);
  const Json doc = Json::parse(r.out);
  EXPECT_EQ(doc["schema_version"], 1);
  EXPECT_EQ(doc["measured"], ".");
  EXPECT_EQ(doc["summary"],
            (Json{{"passed", 9}, {"outside", 1}, {"skipped", 0}, {"predictions", 0}, {"aims", 0}, {"aims_met", 0}}));
  ASSERT_EQ(doc["figures"].size(), 10U);
  EXPECT_EQ(doc["figures"][9]["verdict"], "outside");
  for (const Json& f : doc["figures"]) {
    for (const char* key : {"id", "group", "what", "unit", "expected", "simulated", "error", "measure", "claim",
                            "tolerance", "verdict", "reason", "source", "assumptions"}) {
      EXPECT_TRUE(f.contains(key)) << key;
    }
  }
}

TEST_F(ValidateTest, MarkdownHasTheSameTables) {
  const CommandResult r = run({"validate", "--group", "collectives", "--markdown"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_TRUE(r.out.starts_with("# 9 passed, 0 outside, 0 skipped\n")) << r.out;
}

TEST_F(ValidateTest, WhatMakesNoSenseIsExitTwo) {
  const CommandResult group = run({"validate", "--group", "link"});
  EXPECT_EQ(group.status, 2);
  EXPECT_EQ(group.err, "kvsim: --group: unknown group \"link\"; did you mean \"links\"?\n");
  EXPECT_EQ(group.out, "");
  const CommandResult folder = run({"validate", "--measured", "nowhere"});
  EXPECT_EQ(folder.status, 2);
  EXPECT_EQ(folder.err, "kvsim: --measured: nowhere is no folder, expected one with measured data\n");
  EXPECT_EQ(run({"validate", "--json", "--markdown"}).status, 2);
}

TEST_F(ValidateTest, EqualRunsGiveEqualBytes) {
  const std::vector<std::string> simulated{"validate", "--group", "draft-verify", "--json"};
  EXPECT_EQ(run(simulated).out, run(simulated).out);  // each group's figures: EveryGroup.GivesTheSameFiguresAgain
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
