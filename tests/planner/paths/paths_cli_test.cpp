// kvsim plan --paths, as a user runs it.
#include <gtest/gtest.h>

#include <ClpSimplex.hpp>
#include <CoinLpIO.hpp>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

const char* const kFile =
    R"(symbols: {M: 141 GB, KV: 10 GB, HBM: 188 GB, BW_hbm: 7.8 TB/s, BW_h: 40 GB/s, BW_l: 1.2 GB/s}
pools: {local: 1, remote: 4}
request: {K: 512 tokens, c: 0.27, x: 40}
acceptance: {model: constant, agreement: 0.98}
)";

class PathsCliTest : public Workspace {
 protected:
  PathsCliTest() { write("p.yaml", kFile); }

  Json json(const std::string& text) {
    write("p.yaml", text);
    const CommandResult r = run({"plan", "--paths", "p.yaml", "--json"});
    EXPECT_EQ(r.status, 0) << r.err;
    return Json::parse(r.out);
  }

  /// stderr of a file that is refused, after "kvsim: ".
  std::string complaint(const std::string& text, int status = 2) {
    write("p.yaml", text);
    const CommandResult r = run({"plan", "--paths", "p.yaml", "--lp-out", "p.lp", "--out", "results"});
    EXPECT_EQ(r.status, status);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(names(), std::vector<std::string>{"p.yaml"});
    return r.err.substr(std::string("kvsim: ").size());
  }
};

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& [key, value] : object.items()) names.push_back(key);
  return names;
}

TEST_F(PathsCliTest, ThePageIsTheGoldenOne) {
  const CommandResult r = run({"plan", "--paths", "p.yaml", "--details"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  const std::string path = KVSIM_SOURCE_DIR "/tests/planner/paths/golden/plan_paths.txt";
  const char* update = std::getenv("KVSIM_UPDATE_GOLDENS");
  if (update != nullptr && std::string(update) == "1") std::ofstream(path, std::ios::binary) << r.out;
  EXPECT_EQ(r.out, read_file(path)) << "KVSIM_UPDATE_GOLDENS=1 accepts this as the new one";
}

TEST_F(PathsCliTest, JsonHasTheFixedKeys) {
  const Json doc = json(kFile);
  EXPECT_EQ(keys(doc),
            (std::vector<std::string>{"schema_version", "kvsim_version", "throughput_tokens_per_s", "requests_per_s",
                                      "paths", "occupancy", "shadow_prices", "converged", "residual", "details"}));
  EXPECT_EQ(keys(doc["paths"]),
            (std::vector<std::string>{"B1", "B2", "P1_cached", "P1_stateless", "P2_cached", "P2_stateless"}));
  EXPECT_EQ(keys(doc["occupancy"]), (std::vector<std::string>{"local", "remote"}));
  EXPECT_EQ(keys(doc["shadow_prices"]), (std::vector<std::string>{"local_net", "local_gpu", "local_mem", "remote_net",
                                                                  "remote_gpu", "remote_mem"}));
  EXPECT_EQ(doc["converged"], true);
  double served = 0;
  for (const auto& [path, n] : doc["paths"].items()) served += n.get<double>();
  EXPECT_NEAR(512 * served, doc["throughput_tokens_per_s"], 1e-9);
  EXPECT_EQ(doc["details"]["residence"], "published");
}

TEST_F(PathsCliTest, TheOtherReadingIsWhatAskingForItGives) {
  const Json published = json(kFile);
  const Json steps = json(std::string(kFile) + "residence: steps\n");
  EXPECT_EQ(published["details"]["other_reading"]["throughput_tokens_per_s"], steps["throughput_tokens_per_s"]);
  EXPECT_EQ(steps["details"]["other_reading"]["throughput_tokens_per_s"], published["throughput_tokens_per_s"]);
}

TEST_F(PathsCliTest, TheExampleOfTheDocsIsThePublishedSetUp) {
  const CommandResult example = run({"plan", "--paths", KVSIM_SOURCE_DIR "/docs/examples/two_pools.yaml", "--json"});
  EXPECT_EQ(example.status, 0) << example.err;
  EXPECT_EQ(Json::parse(example.out), json(kFile));
}

TEST_F(PathsCliTest, AnEmptyPoolHasNoShadowPriceAndTheReasonIsSaid) {
  const Json doc = json(edited(kFile, "remote: 4", "remote: 0"));
  EXPECT_TRUE(doc["shadow_prices"]["remote_gpu"].is_null());
  EXPECT_EQ(doc["details"]["reasons"]["shadow_prices.remote_gpu"], "the pool has no GPU");
  EXPECT_EQ(doc["occupancy"]["remote"], 0);
}

TEST_F(PathsCliTest, OnlyAllowedPathsAreTaken) {
  const Json doc = json(std::string(kFile) + "paths: [B1, P1_stateless]\n");
  EXPECT_EQ(doc["paths"]["B2"], 0);
  EXPECT_EQ(doc["paths"]["P1_cached"], 0);
  EXPECT_GT(doc["paths"]["B1"], 0);
}

TEST_F(PathsCliTest, TheLpThatIsWrittenHasTheSameOptimumForAnotherReader) {
  const CommandResult r = run({"plan", "--paths", "p.yaml", "--json", "--lp-out", "p.lp"});
  ASSERT_EQ(r.status, 0) << r.err;
  CoinLpIO reader;
  reader.messageHandler()->setLogLevel(0);
  reader.readLp((folder() + "/p.lp").c_str());
  ASSERT_EQ(reader.getNumCols(), 6);
  ASSERT_EQ(reader.getNumRows(), 6);
  EXPECT_STREQ(reader.rowName(0), "local_net");
  EXPECT_STREQ(reader.columnName(0), "B1");
  ClpSimplex model;
  model.setLogLevel(0);
  model.loadProblem(*reader.getMatrixByCol(), reader.getColLower(), reader.getColUpper(), reader.getObjCoefficients(),
                    reader.getRowLower(), reader.getRowUpper());
  model.setOptimizationDirection(-1);
  model.primal();
  // CoinLpIO keeps a maximisation as the minimum of its negative.
  const double tokens_per_s = Json::parse(r.out)["throughput_tokens_per_s"];
  double value = 0;
  for (int i = 0; i < 6; ++i) value += 512 * model.getColSolution()[i];
  if (reader.getObjCoefficients()[0] < 0) {
    model.setOptimizationDirection(1);
    model.primal();
    value = -model.getObjValue();
  }
  EXPECT_NEAR(value, tokens_per_s, 1e-6 * tokens_per_s);
}

TEST_F(PathsCliTest, TheFolderHoldsBothForms) {
  const CommandResult r = run({"plan", "--paths", "p.yaml", "--json", "--out", "results"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(read("results/plan.json"), r.out);
  EXPECT_TRUE(read("results/plan.md").starts_with("# Paths of p.yaml\n"));
}

TEST_F(PathsCliTest, AnLpThatCannotBeWrittenIsAnErrorAndNothingIsPrinted) {
  CommandResult r = run({"plan", "--paths", "p.yaml", "--lp-out", "/dev/full"});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: cannot write /dev/full: it exists and is no regular file\n");
  r = shell("ulimit -f 1; \"$KVSIM\" plan --paths p.yaml --lp-out p.lp", {"", folder()});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "kvsim: cannot write p.lp: File too large\n");
  EXPECT_EQ(names(), std::vector<std::string>{"p.yaml"});
}

TEST_F(PathsCliTest, BadFilesAreRefusedWhereTheyAreWrong) {
  EXPECT_EQ(complaint(edited(kFile, "BW_hbm: 7.8", "BW_hmb: 7.8")),
            "p.yaml:1:46: symbols: unknown key \"BW_hmb\" of symbols; did you mean \"BW_hbm\"?\n");
  EXPECT_TRUE(complaint(edited(kFile, "M: 141 GB", "M: 141"))
                  .starts_with("p.yaml:1:14: symbols.M: expected a size in bytes with its unit"));
  EXPECT_EQ(complaint(edited(kFile, "BW_l: 1.2 GB/s", "BW_l: 0 GB/s")),
            "p.yaml:1:85: symbols.BW_l: must be > 0 B/s, found 0 GB/s\n");
  EXPECT_EQ(complaint(edited(kFile, "c: 0.27", "c: 1.5")), "p.yaml:3:29: request.c: must be > 0 and <= 1, found 1.5\n");
  EXPECT_EQ(complaint(edited(kFile, "pools: {local: 1, remote: 4}\n", "")),
            "p.yaml:1:1: missing key \"pools\" of paths, expected a map\n");
}

TEST_F(PathsCliTest, AcceptanceThatPlainSymbolsCannotGiveIsRefused) {
  EXPECT_EQ(complaint(edited(kFile, "model: constant, agreement: 0.98", "model: compressor")),
            "p.yaml:4:21: acceptance.model: model: compressor takes the agreement from a compressor, and plain symbols "
            "name none; expected another model, such as {model: constant, agreement: 0.98}\n");
  EXPECT_EQ(complaint(edited(kFile, "model: constant, agreement: 0.98", "model: recorded, lengths: [0]")),
            "p.yaml:4:13: acceptance: of 40 drafted tokens 0 are accepted, which is next to none; expected a share of "
            "at least 1e-06\n");
}

TEST_F(PathsCliTest, PathsThatAreNoneAreRefused) {
  const std::string file(kFile);
  EXPECT_EQ(complaint(file + "paths: [B1, P1_cashed]\n"),
            "p.yaml:5:13: paths.1: unknown value \"P1_cashed\"; did you mean \"P1_cached\"?\n");
  EXPECT_EQ(complaint(file + "paths: [B1, B2, B1]\n"), "p.yaml:5:17: paths.2: B1 is there twice\n");
  EXPECT_EQ(complaint(file + "paths: []\n"), "p.yaml:5:8: paths: expected at least 1 item, found 0\n");
}

TEST_F(PathsCliTest, WhatNoPlanCanMeetHasItsOwnStatusAndTheNearestMiss) {
  EXPECT_EQ(complaint(edited(kFile, "HBM: 188 GB", "HBM: 140 GB"), 4),
            "no plan: weights and the KV of one request do not fit a GPU; it needs 11 GB more HBM per GPU (141 + 10 GB "
            "against 140)\n");
  EXPECT_EQ(complaint(edited(kFile, "local: 1, remote: 4", "local: 0, remote: 0"), 4),
            "no plan: neither pool has a GPU; one in either pool would do\n");
}

TEST_F(PathsCliTest, OptionsOfOtherModesAreRefused) {
  CommandResult r = run({"plan", "--paths", "p.yaml", "--model", "rings"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err, "kvsim: --model: does not go with --paths, whose file says it all\n");
  r = run({"plan", "--symbols", "p.yaml", "--lp-out", "p.lp"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err, "kvsim: --lp-out: belongs to --paths, and would have no effect here\n");
  r = run({"plan", "--paths", "p.yaml", "--seed", "7"});
  EXPECT_EQ(r.err, "kvsim: --seed: does not go with --paths, whose file says it all\n");
  r = run({"plan", "--paths", "p.yaml", "--pareto", "--prices", "p.yaml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.err, "kvsim: --pareto: does not go with --paths, whose file says it all\n");
  r = run({"plan", "--symbols", "p.yaml", "--paths", "p.yaml"});
  EXPECT_EQ(r.status, 2);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
