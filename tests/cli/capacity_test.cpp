// kvsim capacity as a user meets it.
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/documents.h"
#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

/// Long prompts, of which one GPU takes few a second: there are as few requests to simulate.
constexpr const char* kChat = R"(name: quick chat
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm}
workload:
  arrivals: {rate: 10/s}
  context: {distribution: lognormal, mean: 4k tokens, cv: 0.5, max: 16k tokens}
  output: {distribution: lognormal, mean: 10 tokens, cv: 0.5, max: 100 tokens}
prefill: recompute
decode: {policy: full_kv}
slo: {ttft_p99: 1 s, tpot_p99: 50 ms}
run: {duration: 10 s, warmup: 2 s, seed: 1}
)";

/// Documents of 0.52 GB each, kept in host memory and on an SSD.
constexpr const char* kDocuments = R"(name: documents
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm}
  host: {memory: 3 GB}
  storage:
    - {name: ssd, capacity: 730 GB, read: 7 GB/s}
    - {name: remote, read: 1 GB/s}
workload:
  arrivals: {rate: 10/s}
  prefixes: {count: 20, popularity: 0.5, tokens: 4k tokens}
  context: 64 tokens
  output: 8 tokens
  requests: 1000
prefill: prefix_cache
placement: {policy: lru}
decode: {policy: full_kv}
slo: {ttft_p99: 500 ms}
run: {seed: 1}
)";

/// Six requests of two conversations, in blocks of 512 tokens.
constexpr const char* kTrace =
    "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [1, 2, 3]}\n"
    "{\"timestamp\": 1000, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 8]}\n"
    "{\"timestamp\": 2000, \"input_length\": 1200, \"output_length\": 5, \"hash_ids\": [1, 2, 4]}\n"
    "{\"timestamp\": 3000, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 8]}\n";

class CapacityTest : public Workspace {
 protected:
  CapacityTest() { write("s.yaml", kChat); }

  /// 90 % instead of 99 %: a tenth of the simulation.
  CommandResult capacity(Words more) {
    Words words{"capacity", "s.yaml", "--attainment", "0.9", "--replications", "4"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  /// The whole page, not its first screen.
  CommandResult whole_page(Words more) {
    more.insert(more.begin(), "--details");
    return capacity(more);
  }

  void expect_refused(const Words& more, int status, const std::string& message) {
    const CommandResult r = capacity(more);
    EXPECT_EQ(r.status, status);
    EXPECT_EQ(r.out, "");
    EXPECT_NE(r.err.find(message), std::string::npos) << r.err;
    EXPECT_EQ(std::count(r.err.begin(), r.err.end(), '\n'), 1) << r.err;
  }
};

TEST_F(CapacityTest, PageOfAFleet) {
  const CommandResult r = capacity({"--details", "--machines", "h100-sxm,h100-sxm:2", "--rate", "10/s", "--n-1"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  const std::string path = KVSIM_SOURCE_DIR "/tests/cli/golden/capacity.txt";
  const char* update = std::getenv("KVSIM_UPDATE_GOLDENS");
  if (update != nullptr && std::string(update) == "1") std::ofstream(path, std::ios::binary) << r.out;
  EXPECT_EQ(r.out, read_file(path)) << "KVSIM_UPDATE_GOLDENS=1 accepts this as the new capacity.txt";
  std::istringstream lines(r.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }), 100) << line;
  }
}

TEST_F(CapacityTest, MoreConfidenceInSpiteOfTheModelsErrorTakesMoreMachines) {
  const auto replicas = [this](const std::string& confidence) {
    const CommandResult r = capacity({"--rate", "20/s", "--json", "--model-confidence", confidence});
    EXPECT_EQ(r.status, 0) << r.err;
    return Json::parse(r.out)["configurations"][0]["fleet"];
  };
  const Json little = replicas("0.6"), much = replicas("0.99");
  EXPECT_EQ(little["replicas"], much["replicas"]);
  EXPECT_GE(little["replicas_with_model_error"], little["replicas_needed"]);
  EXPECT_GT(much["replicas_with_model_error"], little["replicas_with_model_error"]);
  const CommandResult r = capacity({"--rate", "2/s", "--model-confidence", "0.5"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("--model-confidence: 0.5 is no more than a coin tells"), std::string::npos) << r.err;
}

TEST_F(CapacityTest, TheDocumentHasTheAgreedKeys) {
  const CommandResult r = capacity({"--rate", "2/s", "--json", "--out", "results"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  numbers_missing("capacity", {doc});
  EXPECT_FALSE(doc.contains("hit_rate_curve")) << "not a trace";
  const Json& c = doc["configurations"][0];
  for (const char* key : {"machine", "tensor_parallel", "policy", "rate_per_replica", "rate_per_gpu", "attainment",
                          "attainment_lower", "tokens_per_s", "ttft_p99_s", "tpot_p99_s", "limited_by", "probes"}) {
    EXPECT_TRUE(c.contains(key)) << key;
  }
  for (const char* key : {"replicas", "gpus", "dram_gb", "ssd_gb", "usd_per_hour", "usd_per_1m_output_tokens",
                          "n_minus_1", "replicas_with_model_error"}) {
    EXPECT_TRUE(c["fleet"].contains(key)) << key;
  }
  for (const Json& p : c["probes"]) {
    EXPECT_EQ(p["passes"], p["lower"] >= 0.9 && !p.contains("unsteady_state"));
    EXPECT_LE(p["lower"], p["attainment"]);
    for (const char* figure : {"tokens_per_s", "ttft_p99_s", "tpot_p99_s"}) EXPECT_GT(p[figure], 0) << figure;
    if (p["rate"] != c["rate_per_replica"] || p["stage"] == "search") continue;
    for (const char* figure : {"tokens_per_s", "ttft_p99_s", "tpot_p99_s"}) EXPECT_EQ(p[figure], c[figure]) << figure;
  }
  EXPECT_EQ(doc["slo"]["ttft_p99_s"], 1.0);
  EXPECT_EQ(doc["prices"][0]["what"], "h100-sxm");
  EXPECT_NE(doc["prices"][0]["date"], "");
  EXPECT_TRUE(c["fleet"]["ssd_gb"].is_null());
  EXPECT_TRUE(doc["details"]["reasons"].contains("configurations.0.fleet.ssd_gb"));
  EXPECT_EQ(read("results/result.json"), r.out);
  EXPECT_EQ(names(), (Words{"results", "results/result.json", "results/result.md", "s.yaml"}));
}

TEST_F(CapacityTest, CsvHasALineAConfiguration) {
  const CommandResult r = capacity({"--machines", "h100-sxm,l40s", "--csv"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '\n'), 3) << r.out;
  EXPECT_NE(r.out.find("\nh100-sxm,"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("\nl40s,"), std::string::npos) << r.out;
}

TEST_F(CapacityTest, TheBytesDoNotDependOnTheNumberOfThreads) {
  const Words words{"--machines", "h100-sxm,a100", "--rate", "1/s", "--set", "slo.ttft_p99=300 ms", "--json"};
  Words one = words, two = words;
  one.insert(one.end(), {"--jobs", "1"});
  two.insert(two.end(), {"--jobs", "2"});
  EXPECT_EQ(capacity(one).out, capacity(two).out);
}

TEST_F(CapacityTest, WithoutAPriceTheReasonStandsWhereTheDollarsWould) {
  const CommandResult r = whole_page({"--set", "cluster.gpu.type.memory=70 GB", "--set", "cluster.replicas=2"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("h100-sxm (changed): no price in the table"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("the scenario has 2 replicas"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("Ordered by requests/s per GPU, because a price is missing."), std::string::npos) << r.out;
}

TEST_F(CapacityTest, OwnPricesCountAndAreShown) {
  write("prices.yaml",
        "gpus: {h100-sxm: {price: {value: 9 USD/h, source: assumption, reference: ours}, date: 2026-11}}\n");
  const CommandResult r = whole_page({"--prices", "prices.yaml"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("h100-sxm $9.00 per GPU and hour\n"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("2026-11, assumption: h100-sxm; mid 2025, assumption: host memory; give yours with --prices"),
            std::string::npos)
      << r.out;
  EXPECT_EQ(r.out.find("mid 2025"), r.out.rfind("mid 2025")) << "a date is said once";
}

TEST_F(CapacityTest, NodesAreBoughtAtTheirPriceAndSaySo) {
  const Words by_node{"--rate", "2/s", "--details", "--set", "cluster.node={gpus: 8, price: 18 USD/h}", "--out", "o"};
  const CommandResult r = capacity(by_node);
  ASSERT_EQ(r.status, 0) << r.err;
  const Json own = Json::parse(read("o/result.json"))["configurations"][0]["fleet"];
  const auto more = 8 - own["replicas"].get<int>();
  EXPECT_NE(r.out.find(fmt::format("in 1 node of 8 ({} more replicas fit) and", more)), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("node of 8 x h100-sxm $18.00 per node and hour"), std::string::npos) << r.out;
  EXPECT_EQ(r.out.find("per GPU and hour"), std::string::npos) << "no price that does not count\n" << r.out;
  const Json doc = Json::parse(read("o/result.json"));
  const Json& fleet = doc["configurations"][0]["fleet"];
  EXPECT_EQ(fleet["gpus_per_node"], 8);
  EXPECT_EQ(fleet["usd_per_hour"], 18.0);
  ASSERT_EQ(doc["prices"].size(), 1U);
  EXPECT_EQ(doc["prices"][0]["per"], "node and hour");
}

TEST_F(CapacityTest, ANodesPriceIsThatOfTheNodeAsItIs) {
  write("s.yaml", edited(kDocuments, "  host: {memory: 3 GB}", "  node: {gpus: 8, memory: 24 GB, price: 18 USD/h}"));
  expect_refused({"--memory", "2GB,12GB"}, 2,
                 "--memory: s.yaml has cluster.node.price, which is that of a node with the memory that it has");
  expect_refused({"--node-gpus", "4", "--rate", "20/s"}, 2,
                 "--node-gpus 4: s.yaml has cluster.node.price, which is that of a node of 8 GPUs");
}

TEST_F(CapacityTest, WhatMakesNoSenseIsRefused) {
  expect_refused({"--slo", "ttft_p98=2s"}, 2,
                 "unknown objective \"ttft_p98\"; expected ttft, tpot, itl or e2e with _p50, _p90, _p95 or _p99");
  expect_refused({"--slo", "ttft_p99=2"}, 2, "expected a time with its unit");
  expect_refused({"--slo", "ttft_p99"}, 2, "such as ttft_p99=2s");
  expect_refused({"--machines", "h100-sxmm"}, 2, "--machines: unknown gpu \"h100-sxmm\"; did you mean \"h100-sxm\"?");
  expect_refused({"--machines", "h100-sxm:0"}, 2, "expected GPUs per replica such as h100-nvl:2");
  expect_refused({"--rate", "100"}, 2, "expected a rate with its unit");
  expect_refused({"--rate", "1e30/s"}, 2, "--rate 1e30/s: rate is 1e+30/s, expected 1e-09/s to 1000000000/s");
  expect_refused({"--n-1"}, 2, "give --rate too");
  expect_refused({"--node-gpus", "8"}, 2,
                 "--node-gpus is what the fleet for a required rate is bought in: give --rate too");
  expect_refused({"--confidence", "95"}, 2, "expected a share above 0 and below 1");
  expect_refused({"--policies", "full_kv,full"}, 2, "unknown decode policy \"full\"");
  expect_refused({"--prices", "nowhere.yaml"}, 2, "nowhere.yaml");
  expect_refused({"--set", "slo={}"}, 2, "no objectives to size for");
}

TEST_F(CapacityTest, AMachineThatTheFileNamesIsNoReasonToRefuseOthers) {
  const Words others{"--machines", "h100-sxm:8,l4:1", "--set", "model=qwen3-30b-a3b"};
  const auto with = [&others](const std::string& gpu) {
    Words words = others;
    words.insert(words.end(), {"--set", "cluster.gpu=" + gpu, "--json", "--slo", "ttft_p99=200 ms"});
    return words;
  };
  // 61 GB of weights beside 24 GB of memory; experts in 8 parts on one GPU.
  for (const char* gpu : {"{type: l4}", "{type: h100-sxm, expert_parallel: 8}"}) {
    const CommandResult r = capacity(with(gpu));
    ASSERT_EQ(r.status, 0) << gpu << ": " << r.err;
    const Json configurations = Json::parse(r.out).at("configurations");
    EXPECT_EQ(configurations.at(0).at("machine"), "h100-sxm");
    EXPECT_TRUE(configurations.at(1).contains("cannot_run")) << "an L4 is judged where it is asked for";
  }
  expect_refused({"--machines", "h100-sxm:8", "--set", "decode={policy: lossy}"}, 2, "decode");
}

TEST_F(CapacityTest, SizesOfMemoryAndStorageAreCompared) {
  write("s.yaml", kDocuments);
  const CommandResult page =
      whole_page({"--memory", "2GB,12GB", "--storage", "ssd=4GB", "--rate", "20/s", "--out", "o"});
  ASSERT_EQ(page.status, 0) << page.err;
  EXPECT_EQ(page.err, "");
  for (const char* text :
       {"Fleets for 20.00 requests/s", "h100-sxm, 12.0 GB DRAM, ssd 4.00 GB", "cheapest", "sure",
        "Where prompts were found at that rate", "What an hour of one replica costs",
        "remote has no capacity in the scenario: what it costs is not in the price", "SSD $0.08 per GB and month"}) {
    EXPECT_NE(page.out.find(text), std::string::npos) << text << "\n" << page.out;
  }
  std::istringstream lines(page.out);
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }), 100) << line;
  }
  const Json doc = Json::parse(read("o/result.json"));
  numbers_missing("capacity", {doc});
  ASSERT_EQ(doc["configurations"].size(), 2U);
  EXPECT_TRUE(doc.contains("next_cheaper"));
  const Json& c = doc["configurations"][0];
  EXPECT_EQ(c["sizes_bytes"]["ssd"], 4'000'000'000);
  EXPECT_DOUBLE_EQ(c["ssd_gb"], 4.0) << "the remote tier has no size and no price";
  EXPECT_EQ(c["tiers"].size(), 3U);
  EXPECT_EQ(c["tiers"][1]["name"], "ssd");
  EXPECT_EQ(c["tiers"][1]["priced"], true);
  EXPECT_EQ(c["tiers"][2]["priced"], false);
  EXPECT_TRUE(c["tiers"][2]["capacity_bytes"].is_null());
  EXPECT_EQ(c["mean_quality"], 1.0) << "nothing is compressed";
  EXPECT_TRUE(c["fleet"]["ssd_gb"].is_number());
  EXPECT_EQ(c["sizes_bytes"]["host"], 12'000'000'000);
  EXPECT_EQ(doc["next_cheaper"]["configuration"], 1) << "2 GB, where loads from the remote tier take too long";
  EXPECT_TRUE(doc["configurations"][1]["tiers"].is_null());
}

TEST_F(CapacityTest, TheScenariosOwnTiersArePriced) {
  write("s.yaml", kDocuments);
  const CommandResult r = whole_page({});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("1  $2.50  3.00 GB  $0.01  730 GB  $0.08    $2.59"), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("--memory 40GB,80GB,160GB and --storage"), std::string::npos) << r.out;
}

TEST_F(CapacityTest, SizesThatMakeNoSenseAreRefused) {
  expect_refused({"--memory", "40GB"}, 2, "s.yaml stores none: give it prefill: prefix_cache and placement");
  expect_refused({"--storage", "ssd=40GB"}, 2, "s.yaml stores none");
  write("s.yaml", kDocuments);
  expect_refused({"--memory", "40"}, 2, "--memory 40: expected a size in bytes with its unit");
  expect_refused({"--memory", "40GB,40e9 B"}, 2, "is there twice");
  expect_refused({"--memory", "0 GB"}, 2, "a size must be above 0 B");
  expect_refused({"--storage", "40GB"}, 2, "such as ssd=400GB,800GB");
  expect_refused({"--storage", "sdd=40GB"}, 2, "s.yaml has no storage tier \"sdd\"; did you mean \"ssd\"?");
  expect_refused({"--storage", "ssd=40GB", "--storage", "ssd=50GB"}, 2, "--storage ssd is there twice");
  expect_refused({"--storage", "host=40GB"}, 2, "use --memory 40GB");
}

TEST_F(CapacityTest, APriceForAGpuThatDoesNotExistIsRefused) {
  write("prices.yaml", "gpus: {h100-smx: 2 USD/h}\n");
  expect_refused({"--prices", "prices.yaml"}, 2, "has the name \"h100-smx\"; did you mean \"h100-sxm\"?");
  write("prices.yaml", "gpus: {h100-sxm (changed): 2 USD/h}\n");
  const CommandResult own = whole_page({"--set", "cluster.gpu.type.memory=70 GB", "--prices", "prices.yaml"});
  EXPECT_EQ(own.status, 0) << own.err;
  EXPECT_NE(own.out.find("h100-sxm (changed) $2.00 per GPU and hour"), std::string::npos) << own.out;
}

TEST_F(CapacityTest, UsersAreAskedForByTheirNumber) {
  expect_refused({"--users", "100"}, 2,
                 "--users: the scenario's load arrives on its own: give --rate, or workload.closed");
  write("s.yaml", edited(kChat, "arrivals: {rate: 10/s}", "closed: {concurrency: 8}"));
  expect_refused({"--rate", "10/s"}, 2,
                 "--rate: the scenario's users wait for their answers: say how many there are with --users");
  expect_refused({"--n-1"}, 2, "--n-1 adds a replica to the fleet for so many users: give --users too");
  expect_refused({"--node-gpus", "8"}, 2,
                 "--node-gpus is what the fleet for so many users is bought in: give --users too");
  const CommandResult page = capacity({"--users", "30"});
  ASSERT_EQ(page.status, 0) << page.err;
  EXPECT_NE(page.out.find(" for 30 users within"), std::string::npos) << page.out;
  EXPECT_NE(page.out.find("Fleets for 30 users"), std::string::npos) << page.out;
}

TEST_F(CapacityTest, TheUsersOfObjectivesWithoutAWaitAreAtMostTheSlots) {
  write("s.yaml",
        edited(edited(kChat, "arrivals: {rate: 10/s}", "closed: {concurrency: 8}"),
               "slo: {ttft_p99: 1 s, tpot_p99: 50 ms}", "slo: {tpot_p99: 1 s}\nschedule: {max_requests: 16}"));
  const CommandResult r = capacity({"--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out)["configurations"][0]["rate_per_replica"], 16);
}

TEST_F(CapacityTest, TheRateOfSessionsMayBeGivenInRequests) {
  write("s.yaml", edited(kChat, "arrivals: {rate: 10/s}",
                         "arrivals: {rate: 10/s}\n  sessions: {turns: 2, growth: 10 tokens, think_time: 1 s}"));
  const auto replicas = [this](const char* rate) {
    const CommandResult r = capacity({"--rate", rate, "--json"});
    EXPECT_EQ(r.status, 0) << r.err;
    return Json::parse(r.out)["configurations"][0]["fleet"]["replicas"].get<int>();
  };
  const int of_requests = replicas("20 requests/s");
  EXPECT_EQ(of_requests, replicas("10/s"));
  EXPECT_LT(of_requests, replicas("20/s"));
}

TEST_F(CapacityTest, ARateOfSessionsNeedsSessions) {
  expect_refused({"--rate", "2 sessions/s"}, 2,
                 "--rate: \"2 sessions/s\" is of sessions, and this workload has none: give requests/s");
}

TEST_F(CapacityTest, WhatNothingMeetsIsInfeasible) {
  expect_refused({"--slo", "ttft_p99=1ms"}, 4, "> 1 ms, missed by 100.0 % of requests even when requests run alone");
}

TEST_F(CapacityTest, ATraceIsStretchedAndItsBlocksSizeAPrefixCache) {
  std::string trace;
  for (int i = 0; i < 100; ++i) {
    std::string four = kTrace;
    for (const auto& [from, to] :
         {std::pair{"\": 0,", 0}, {"\": 1000,", 1000}, {"\": 2000,", 2000}, {"\": 3000,", 3000}}) {
      four = edited(four, from, "\": " + std::to_string(4000 * i + to) + ",");
    }
    trace += four;
  }
  write("t.jsonl", trace);
  write("s.yaml",
        edited(edited(edited(kChat, "arrivals: {rate: 10/s}", "trace: {format: mooncake, path: t.jsonl}"),
                      "  context: {distribution: lognormal, mean: 4k tokens, cv: 0.5, max: 16k tokens}\n", ""),
               "  output: {distribution: lognormal, mean: 10 tokens, cv: 0.5, max: 100 tokens}\n", ""));
  const CommandResult r = run({"capacity", "s.yaml", "--attainment", "0.9", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  numbers_missing("capacity", {Json::parse(r.out)});
  const Json curve = Json::parse(r.out)["hit_rate_curve"];
  EXPECT_EQ(curve["blocks"], 1000);
  EXPECT_EQ(curve["distinct_blocks"], 6);
  EXPECT_EQ(curve["block_tokens"], 512);
  EXPECT_DOUBLE_EQ(curve["achievable_hit_rate"], 0.994);
  EXPECT_DOUBLE_EQ(curve["points"].back()["bytes"], 6.0 * 512 * 131072) << "all six blocks at 131,072 bytes a token";

  const CommandResult info = run({"workload", "info", "t.jsonl", "--format", "mooncake", "--curve", "--json"});
  ASSERT_EQ(info.status, 0) << info.err;
  EXPECT_EQ(Json::parse(info.out)["hit_rate_curve"]["achievable_hit_rate"], curve["achievable_hit_rate"]);
  EXPECT_TRUE(Json::parse(info.out)["hit_rate_curve"]["points"][0]["bytes"].is_null());
  EXPECT_EQ(run({"workload", "info", "t.jsonl", "--format", "mooncake", "--model", "llama-3.1-8b"}).status, 2);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
