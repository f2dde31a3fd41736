// kvsim plan, as a user runs it.
#include <nlohmann/json.hpp>

#include <cmath>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSymbols =
    "symbols: {M: 50 GB, KV: 4 GB, HBM: 96 GB, BW_hbm: 1.792 TB/s, BW_link: 64 GB/s}\n"
    "model: conserving\n"
    "draft_length: {min: 1, max: 60}\n"
    "keep_ratio: [0.1, 0.2, 0.25, 0.5]\n"
    "acceptance: {model: constant, agreement: {0.1: 0.95, 0.2: 0.97, 0.25: 0.98, 0.5: 0.995}}\n";

class PlanTest : public Workspace {
 protected:
  PlanTest() {
    write("s.yaml", tiny_scenario());
    write("symbols.yaml", kSymbols);
  }

  Json json(std::vector<std::string> arguments) {
    arguments.emplace_back("--json");
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    return Json::parse(r.out);
  }
};

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> names;
  for (const auto& item : object.items()) names.push_back(item.key());
  return names;
}

TEST_F(PlanTest, SymbolsGiveTheOptimumAndTheBaselineUnderFixedKeys) {
  const Json doc = json({"plan", "--symbols", "symbols.yaml"});
  EXPECT_EQ(keys(doc), (std::vector<std::string>{"schema_version", "kvsim_version", "model", "optimum", "full_kv",
                                                 "speedup", "candidates_evaluated", "wall_s", "details"}));
  EXPECT_EQ(keys(doc["optimum"]),
            (std::vector<std::string>{"x", "c", "B_c", "B_g", "l", "throughput_tokens_per_s", "t_gpu_s", "t_xfer_s"}));
  EXPECT_EQ(doc["optimum"]["x"], 36);
  EXPECT_EQ(doc["optimum"]["c"], 0.25);
  EXPECT_EQ(doc["optimum"]["B_c"], 42);
  // floor(46/4) = 11 full KVs: 11 / ((50 + 44) GB / 1.792 TB/s)
  EXPECT_EQ(doc["full_kv"]["B"], 11);
  EXPECT_NEAR(doc["full_kv"]["throughput_tokens_per_s"].get<double>(), 209.702, 1e-3);
  EXPECT_NEAR(doc["speedup"].get<double>(), 561.2297 / 209.7021, 1e-5);
  EXPECT_TRUE(doc["wall_s"].is_null());
  EXPECT_TRUE(json({"plan", "--symbols", "symbols.yaml", "--timing"})["wall_s"].is_number());
}

TEST_F(PlanTest, TheModelMayBeChosenOnTheCommandLine) {
  const Json doc = json({"plan", "--symbols", "symbols.yaml", "--model", "published"});
  EXPECT_EQ(doc["model"], "published");
  EXPECT_EQ(doc["optimum"]["x"], 42);
  EXPECT_EQ(doc["optimum"], doc["details"]["by_model"]["published"]);
}

TEST_F(PlanTest, AScenarioGetsItsPlanWithTheBreakdown) {
  const Json doc = json({"plan", "s.yaml"});
  EXPECT_GE(doc["speedup"].get<double>(), 1);
  EXPECT_EQ(doc["details"]["breakdown"].size(), 7U);
  EXPECT_EQ(doc["details"]["breakdown"][6]["optimum"], doc["optimum"]);
  EXPECT_EQ(doc["details"]["heat_map"]["throughput_tokens_per_s"].size(), 19U);
  EXPECT_EQ(doc["details"]["heat_map"]["throughput_tokens_per_s"][0].size(), 60U);
}

TEST_F(PlanTest, EqualInputsGiveEqualBytes) {
  EXPECT_EQ(run({"plan", "s.yaml", "--json"}).out, run({"plan", "s.yaml", "--json"}).out);
  const std::vector<std::string> simulate{"plan", "s.yaml", "--simulate", "--replications", "3", "--json"};
  std::vector<std::string> one = simulate, two = simulate;
  one.insert(one.end(), {"--jobs", "1"});
  two.insert(two.end(), {"--jobs", "2"});
  const CommandResult first = run(one);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, run(two).out);
}

TEST_F(PlanTest, TheSimulatorsVerdictStandsBesideTheForecast) {
  const Json doc =
      json({"plan", "s.yaml", "--simulate", "--replications", "3", "--set", "cluster.gpu.memory_fraction=0.23"});
  const Json& found = doc["simulated"];
  EXPECT_GT(found["throughput_tokens_per_s"]["mean"].get<double>(), 0);
  EXPECT_EQ(found["throughput_tokens_per_s"]["replications"], 3);
  EXPECT_GT(found["speedup"]["mean"].get<double>(), 1);
  EXPECT_FALSE(found["predicted_over_simulated"].is_null());
  EXPECT_GT(found["candidates"].size(), 5U);
}

TEST_F(PlanTest, WritesItsFilesWhole) {
  const CommandResult r = run({"plan", "s.yaml", "--out", "results"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(Json::parse(read("results/plan.json")), json({"plan", "s.yaml"}));
  EXPECT_NE(read("results/plan.md").find("# Plan: "), std::string::npos);
  EXPECT_EQ(run({"plan", "s.yaml", "--out", "/proc/none"}).status, 1);
}

TEST_F(PlanTest, TheParetoFrontHasCostAndEnergyWithTheirSources) {
  write("prices.yaml",
        "gpus: {h100-sxm: {price: {value: 7 USD/h, source: datasheet, reference: an offer}, date: \"2026\"}}\n");
  const Json doc = json({"plan", "s.yaml", "--pareto", "--prices", "prices.yaml"});
  const Json& front = doc["pareto"];
  EXPECT_NE(front["price"].get<std::string>().find("7 USD/h a GPU (2026, datasheet: an offer)"), std::string::npos);
  ASSERT_GT(front["points"].size(), 3U);
  for (const Json& point : front["points"]) {
    const double tokens = point["tokens_per_s_per_gpu"].get<double>();
    EXPECT_NEAR(point["usd_per_1m_output_tokens"].get<double>(), 7 / (tokens * 3600) * 1e6, 1e-6);
    EXPECT_NEAR(point["joules_per_output_token_at_most"].get<double>(), 700 / tokens, 1e-6);
  }
}

TEST_F(PlanTest, OptionsWithoutEffectAreRefused) {
  const auto refused = [this](const std::vector<std::string>& arguments, const std::string& part) {
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 2) << part;
    EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
  };
  refused({"plan", "s.yaml", "--seed", "3"}, "--seed: belongs to --simulate and --explain");
  refused({"plan", "s.yaml", "--replications", "3"}, "--replications: belongs to");
  refused({"plan", "s.yaml", "--prices", "x.yaml"}, "--prices: belongs to --pareto");
  refused({"plan", "s.yaml", "--lp-out", "x.lp"}, "--lp-out: belongs to --paths");
  for (const char* option : {"--draft-length", "--keep-ratio", "--set"}) {
    refused({"plan", "--symbols", "symbols.yaml", option, "decode.draft_length=4"}, "does not go with --symbols");
  }
  refused({"plan", "--symbols", "symbols.yaml", "--pareto"}, "--pareto: raw symbols");
}

TEST_F(PlanTest, InfeasibleIsExitFourWithTheNearestMiss) {
  write("big.yaml", edited(kSymbols, "HBM: 96 GB", "HBM: 50.1 GB"));
  const CommandResult r = run({"plan", "--symbols", "big.yaml"});
  EXPECT_EQ(r.status, 4);
  EXPECT_EQ(r.out, "");
  EXPECT_NE(r.err.find("nearest miss"), std::string::npos) << r.err;
  EXPECT_NE(r.err.find("more HBM"), std::string::npos) << r.err;
}

TEST_F(PlanTest, WhereOneModelFindsNoRoomTheOthersStillAnswer) {
  // rings needs 102 MB more than the 1.67 GB that are left; conserving does not.
  write("tight.yaml",
        "symbols: {M: 5 GB, KV: 2 GB, HBM: 6674172705 B, BW_hbm: 3350 GB/s, BW_link: 128 GB/s}\n"
        "draft_length: {max: 9}\nkeep_ratio: [0.1]\nacceptance: {model: constant, agreement: 0.9}\n");
  const Json doc = json({"plan", "--symbols", "tight.yaml", "--model", "conserving"});
  EXPECT_EQ(doc["optimum"]["x"], 9);
  EXPECT_TRUE(doc["speedup"].is_null());
  EXPECT_FALSE(doc["details"]["by_model"].contains("rings"));
  const CommandResult r = run({"plan", "--symbols", "tight.yaml", "--model", "rings"});
  EXPECT_EQ(r.status, 4);
  EXPECT_NE(r.err.find("needs 102 MB more HBM"), std::string::npos) << r.err;
}

TEST_F(PlanTest, AModelOrContextThatCannotBeIsInfeasibleToo) {
  const CommandResult weights = run({"plan", "s.yaml", "--set", "cluster.gpu.memory_fraction=0.1"});
  EXPECT_EQ(weights.status, 4) << weights.err;
  EXPECT_NE(weights.err.find("does not fit"), std::string::npos);
  const CommandResult context = run({"plan", "s.yaml", "--set", "workload.context=200k tokens"});
  EXPECT_EQ(context.status, 4) << context.err;
  EXPECT_NE(context.err.find("shorten them by"), std::string::npos) << context.err;
}

// What is no plan is known after a while; what cannot be read or written, at once.
TEST_F(PlanTest, FilesAreLookedAtBeforeAnythingIsPlanned) {
  const std::vector<std::string> never{"plan", "s.yaml", "--set", "workload.context=200k tokens"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), never.begin(), never.end());
    return run(more);
  };
  const CommandResult prices = with({"--pareto", "--prices", "nowhere.yaml"});
  EXPECT_EQ(prices.status, 2);
  EXPECT_NE(prices.err.find("nowhere.yaml"), std::string::npos) << prices.err;
  const CommandResult folder = with({"--out", "/proc/none"});
  EXPECT_EQ(folder.status, 1);
  EXPECT_NE(folder.err.find("/proc/none"), std::string::npos) << folder.err;
  EXPECT_EQ(with({"--out", "results"}).status, 4);
  const std::vector<std::string> left = names();
  EXPECT_EQ(std::count(left.begin(), left.end(), "results"), 0) << "an empty folder is left";
}

TEST_F(PlanTest, TheSimulatedPlanIsAmongWhatWasAskedFor) {
  const Json doc =
      json({"plan", "s.yaml", "--simulate", "--replications", "3", "--keep-ratio", "0.5", "--draft-length", "2:4"});
  for (const Json& candidate : doc["simulated"]["candidates"]) {
    if (candidate["origin"] == "full_kv") continue;
    if (candidate["plan"]["x"] == 0) continue;
    EXPECT_EQ(candidate["plan"]["c"], 0.5);
    EXPECT_GE(candidate["plan"]["x"], 2);
    EXPECT_LE(candidate["plan"]["x"], 4);
  }
}

TEST_F(PlanTest, BadUsageIsExitTwo) {
  const auto refused = [this](const std::vector<std::string>& arguments, const std::string& part) {
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 2) << part;
    EXPECT_EQ(r.out, "");
    EXPECT_NE(r.err.find(part), std::string::npos) << r.err;
  };
  refused({"plan"}, "expected one of SCENARIO");
  refused({"plan", "s.yaml", "--symbols", "symbols.yaml"}, "expected one of SCENARIO");
  refused({"plan", "nowhere.yaml"}, "nowhere.yaml");
  refused({"plan", "s.yaml", "--model", "ring"}, "ring");
  refused({"plan", "s.yaml", "--without", "nothing"}, "nothing");
  refused({"plan", "s.yaml", "--draft-length", "9:3"}, "--draft-length 9:3: expected two whole numbers");
  refused({"plan", "s.yaml", "--draft-length", "9"}, "--draft-length 9: expected two whole numbers");
  refused({"plan", "s.yaml", "--keep-ratio", "0.1,2"}, "--keep-ratio 0.1,2: expected ratios between 0 and 1");
  refused({"plan", "s.yaml", "--keep-ratio", "0.5:0.1:0.1"}, "expected ratios");
  refused({"plan", "--symbols", "symbols.yaml", "--simulate"}, "--simulate");
  write("typo.yaml", edited(kSymbols, "keep_ratio", "keep_ratios"));
  refused({"plan", "--symbols", "typo.yaml"}, "typo.yaml:4:1");
}

TEST_F(PlanTest, RefinementsLeftOutAreLeftOut) {
  const Json doc = json({"plan", "s.yaml", "--without", "kernels", "--without", "outputs"});
  EXPECT_EQ(doc["details"]["refinements"]["kernels"], false);
  EXPECT_EQ(doc["details"]["refinements"]["compute"], true);
  EXPECT_EQ(doc["details"]["breakdown"].size(), 5U);
}

TEST_F(PlanTest, SearchesTheRatiosAndLengthsAskedFor) {
  const Json doc = json({"plan", "s.yaml", "--keep-ratio", "0.1:0.3:0.1", "--draft-length", "4:6"});
  EXPECT_EQ(doc["details"]["heat_map"]["keep_ratio"], (Json{0.1, 0.2, 0.3}));
  EXPECT_EQ(doc["details"]["heat_map"]["draft_length"], (Json{4, 5, 6}));
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
