// kvsim plan of scenarios whose prompts are made of chunks, as a user runs it.
#include <nlohmann/json.hpp>

#include <algorithm>

#include "tests/cli/workspace.h"
#include "tests/support/well_formed.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;

class PlanReuseTest : public Workspace {
 protected:
  PlanReuseTest() {
    write("s.yaml", R"(name: chunks
model: mistral-7b
cluster:
  gpu: {type: a100-40gb}
  host: {memory: 160 GB}
  storage:
    - {name: ssd, capacity: 1 TB, read: 7 GB/s}
workload:
  arrivals: {process: poisson, rate: 1/s}
  chunks: {count: 2000, popularity: 0.9, per_request: 10, tokens: 512 tokens}
  context: {mean: 64 tokens}
  output: {mean: 64 tokens}
  requests: 100
prefill: {policy: selective, rho: 0.15}
placement: {policy: lru, preload: true}
decode: {policy: full_kv}
slo: {quality_floor: 0.8}
)");
  }

  Json json(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", "s.yaml", "--json"});
    const CommandResult r = run(arguments);
    EXPECT_EQ(r.status, 0) << r.err;
    EXPECT_EQ(r.err, "");
    return Json::parse(r.out);
  }

  CommandResult plan(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"plan", "s.yaml", "--details"});
    return run(arguments);
  }
};

TEST_F(PlanReuseTest, SaysWhichIsFastestAndWhereThatChanges) {
  const Json doc = json({});
  EXPECT_EQ(doc["schema_version"], 1);
  EXPECT_EQ(doc["hit_rate"], 1);
  EXPECT_EQ(doc["quality_floor"], 0.8);
  EXPECT_EQ(doc["load"]["tier"], "host");
  EXPECT_EQ(doc["load"]["link"], "pcie4-x16");
  ASSERT_EQ(doc["contexts"].size(), 1U);
  const Json& c = doc["contexts"][0];
  EXPECT_EQ(c["context_tokens"], 5120);
  EXPECT_EQ(c["fastest"], "load");
  std::vector<std::string> names;
  for (const Json& m : c["methods"]) names.push_back(m["method"]);
  EXPECT_EQ(names, (std::vector<std::string>{"recompute", "load", "full_reuse", "epic", "cacheblend", "selective"}));
  EXPECT_EQ(c["methods"][5]["label"], "selective, rho 0.15");
  EXPECT_EQ(c["break_even"].size(), 9U);
  EXPECT_EQ(doc["context_break_even"].size(), 9U);
  EXPECT_GT(doc["curve"].size(), 8U);
}

TEST_F(PlanReuseTest, ThePageHasItsTables) {
  const CommandResult r = plan({"--context", "1k,8k", "--hit-rate", "0.9"});
  EXPECT_EQ(r.status, 0) << r.err;
  for (const char* title : {"Decision", "Time to first token: 1,024 tokens in 2 chunks", "Break-even, 8,192 tokens",
                            "Break-even of the context", "Break-even curve", "bound by"}) {
    EXPECT_NE(r.out.find(title), std::string::npos) << title << "\n" << r.out;
  }
}

TEST_F(PlanReuseTest, EveryOptionChangesThePlan) {
  const Json usual = json({});
  for (const std::vector<std::string>& option : {std::vector<std::string>{"--context", "8k"},
                                                 {"--hit-rate", "0.5"},
                                                 {"--link", "5 GB/s"},
                                                 {"--tier", "ssd"},
                                                 {"--set", "prefill.rho=0.3"},
                                                 {"--set", "slo.quality_floor=0.95"}}) {
    EXPECT_NE(json(option), usual) << option[0] << " " << option[1];
  }
}

TEST_F(PlanReuseTest, OutHasDocumentPageTableAndPicture) {
  const CommandResult r = plan({"--out", "results"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(names(), (std::vector<std::string>{"results", "results/break_even.csv", "results/break_even.svg",
                                               "results/plan.json", "results/plan.md", "s.yaml"}));
  const Json doc = json({});
  EXPECT_EQ(Json::parse(read("results/plan.json")), doc);
  const std::string csv = read("results/break_even.csv");
  EXPECT_EQ(static_cast<std::size_t>(std::count(csv.begin(), csv.end(), '\n')), doc["curve"].size() + 1);
  EXPECT_TRUE(csv.starts_with("context_tokens,recompute_s,load_bytes_per_s,full_reuse_bytes_per_s,"));
  const std::string svg = read("results/break_even.svg");
  EXPECT_EQ(testing::xml_fault(svg), "");
  for (const char* words : {"selective is faster", "recomputing is faster", "cacheblend", "epic", "pcie5-x16"}) {
    EXPECT_NE(svg.find(words), std::string::npos) << words;
  }
}

TEST_F(PlanReuseTest, WithoutHitsThereIsNoCurveAndStillAPicture) {
  ASSERT_EQ(plan({"--hit-rate", "0", "--out", "results"}).status, 0);
  EXPECT_EQ(testing::xml_fault(read("results/break_even.svg")), "");
}

TEST_F(PlanReuseTest, BadOptionsAreExitTwoAndSayWhatWasExpected) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases{
      {{"--hit-rate", "1.2"}, "--hit-rate 1.2: expected the share of the chunks' tokens that is stored, from 0 to 1"},
      {{"--hit-rate", "most"}, "--hit-rate most: expected"},
      {{"--context", "1k,,2k"}, "--context : expected"},
      {{"--context", "0"}, "--context 0: expected"},
      {{"--context", "long"}, "--context long: expected"},
      {{"--context", "64k"}, "the window of mistral-7b, 32768 tokens: expected at most 32256"},
      {{"--tier", "tape"}, "--tier tape: there is no such tier: expected host, ssd"},
      {{"--link", "pcie9"}, "--link pcie9: neither a link of the catalogue"},
      {{"--link", "5 GB"}, "--link 5 GB: "},
      {{"--simulate"}, "--simulate: belongs to plans that draft and verify"},
      {{"--keep-ratio", "0.2"}, "--keep-ratio: belongs to plans that draft and verify"}};
  for (const auto& [option, message] : cases) {
    const CommandResult r = plan(option);
    EXPECT_EQ(r.status, 2) << message;
    EXPECT_EQ(r.out, "");
    EXPECT_NE(r.err.find(message), std::string::npos) << r.err;
  }
}

TEST_F(PlanReuseTest, OtherPlansKnowNoChunks) {
  write("tiny.yaml", tiny_scenario());
  for (const std::vector<std::string>& option :
       {std::vector<std::string>{"--context", "8k"}, {"--hit-rate", "1"}, {"--link", "5 GB/s"}, {"--tier", "host"}}) {
    for (const std::vector<std::string>& what : {std::vector<std::string>{"tiny.yaml"}, {"--symbols", "x.yaml"}}) {
      std::vector<std::string> arguments{"plan"};
      arguments.insert(arguments.end(), what.begin(), what.end());
      arguments.insert(arguments.end(), option.begin(), option.end());
      const CommandResult r = run(arguments);
      EXPECT_EQ(r.status, 2) << option[0];
      EXPECT_NE(r.err.find(option[0] + ": "), std::string::npos) << r.err;
    }
  }
}

TEST_F(PlanReuseTest, TooLittleMemoryIsExitFour) {
  const CommandResult r =
      plan({"--context", "30k", "--set", "cluster.gpu.memory_fraction=0.418", "--set", "cluster.gpu.activations=0 B"});
  EXPECT_EQ(r.status, 4) << r.err;
  EXPECT_NE(r.err.find("no plan for a context of"), std::string::npos) << r.err;
}

TEST_F(PlanReuseTest, AMethodThatCannotRunSaysWhy) {
  const CommandResult r = plan({"--set", "cluster.gpu.memory_fraction=0.418", "--set", "cluster.gpu.activations=0 B"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("selective, 5,120 tokens: needs "), std::string::npos) << r.out;
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
