// Every JSON document is as `kvsim schema --results` says, and every number that `kvsim list metrics` has is in one.
#include <nlohmann/json.hpp>

#include <set>

#include "tests/cli/documents.h"
#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

constexpr const char* kSymbols =
    "symbols: {M: 50 GB, KV: 4 GB, HBM: 96 GB, BW_hbm: 1.792 TB/s, BW_link: 64 GB/s}\n"
    "model: conserving\n"
    "draft_length: {min: 1, max: 60}\n"
    "keep_ratio: [0.2]\n"
    "acceptance: {model: constant, agreement: {0.2: 0.97}}\n";

constexpr const char* kLogColumns = "arrival=ts,prompt=in,output=out,session=conv,end=end,time=s";

const std::string kSource = KVSIM_SOURCE_DIR "/";

class DocumentsTest : public Workspace {
 protected:
  DocumentsTest() {
    write("s.yaml", tiny_scenario());
    write("placed.yaml", placement_scenario());
    write("chunks.yaml", chunk_scenario());
    write("symbols.yaml", kSymbols);
    write("drafter.yaml", std::string(kSymbols) +
                              "drafter: {weights: 2.8 GB, KV: 0.1 GB, depth: {min: 2, max: 8}, "
                              "acceptance: {model: constant, agreement: 0.7}}\n");
    write("fetches.yaml",
          edited(edited(tiny_scenario(), "{policy: draft_verify, compressor: kvzip, keep_ratio: 0.2, draft_length: 8}",
                        "{policy: speculative_prefetch, compressor: specache-2bit}"),
                 "{policy: staggered}", "{policy: fcfs}"));
  }

  /// Sessions of two turns, the second of which comes 5 s after the first was answered; prompts of 100 or 900 tokens.
  void write_log() {
    std::string log = "ts,in,out,conv,end\n";
    for (int i = 0; i < 300; ++i) {
      const std::string at = std::to_string(4 * i);
      log += at + "," + (i % 3 == 0 ? "900" : "100") + "," + (i % 2 == 0 ? "10" : "700") + "," +
             std::to_string(i - i / 2 % 2 * 2) + "," + std::to_string(4 * i + 3) + "\n";
    }
    write("log.csv", log);
  }

  /// The documents of these commands are of that kind; returns numbers of its schema that none of them has.
  std::set<std::string> expect_kind(const std::string& kind, const std::vector<Words>& commands) {
    std::vector<Json> documents;
    for (const Words& words : commands) {
      const CommandResult r = run(words);
      EXPECT_EQ(r.status, 0) << words.at(0) << " " << r.err;
      documents.push_back(Json::parse(r.out, nullptr, false));
    }
    return numbers_missing(kind, documents);
  }

  /// And every number is in one of them. `elsewhere`: but for these.
  void expect_whole_kind(const std::string& kind, const std::vector<Words>& commands,
                         const std::set<std::string>& elsewhere = {}) {
    for (const std::string& number : expect_kind(kind, commands)) {
      EXPECT_TRUE(elsewhere.contains(number)) << kind << ": " << number << " is in no document";
    }
  }
};

TEST_F(DocumentsTest, Runs) {
  expect_kind("run", {{"run", "s.yaml", "--json"}, {"run", "placed.yaml", "--json"}, {"run", "chunks.yaml", "--json"}});
}

TEST_F(DocumentsTest, SeveralRuns) {
  expect_kind("runs", {{"run", "s.yaml", "placed.yaml", "--json"}});
}

TEST_F(DocumentsTest, Comparisons) {
  expect_whole_kind("comparison", {{"compare", "s.yaml", "--json"}, {"compare", "placed.yaml", "--json"}});
}

TEST_F(DocumentsTest, Sweeps) {
  expect_whole_kind(
      "sweep",
      {{"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--json"},
       {"sweep", "s.yaml", "--vary", "run.seed=1,2", "--set", "slo={ttft_p99: 1 h}", "--json"},
       {"sweep", "s.yaml", "--vary", "decode.policy=lossy,draft_verify", "--set", "schedule.policy=fcfs", "--json"},
       {"sweep", "s.yaml", "--vary", "decode.policy=lossy,draft_verify", "--set", "schedule.policy=fcfs", "--set",
        "run.duration=30 s", "--metric", "latency_s.tpot.mean", "--json"},
       {"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--shard", "1/2", "--json"}});
}

TEST_F(DocumentsTest, Plans) {
  expect_whole_kind("plan", {{"plan", "s.yaml", "--json"},
                             {"plan", "s.yaml", "--simulate", "--explain", "--pareto", "--replications", "2",
                              "--draft-length", "1:12", "--keep-ratio", "0.2,0.3", "--json"},
                             {"plan", kSource + "scenarios/long_context/headline_rate.yaml", "--json"}});
}

TEST_F(DocumentsTest, PlansInTheirModes) {
  expect_whole_kind("plan_symbols",
                    {{"plan", "--symbols", "symbols.yaml", "--json"}, {"plan", "--symbols", "drafter.yaml", "--json"}});
  expect_whole_kind("plan_draft_table", {{"plan", "s.yaml", "--draft-table", "--json"}});
  expect_whole_kind("plan_prefetch", {{"plan", "fetches.yaml", "--json"}});
  expect_whole_kind("plan_reuse",
                    {{"plan", kSource + "scenarios/selective_reuse/published.yaml", "--json"},
                     {"plan", kSource + "scenarios/selective_reuse/ssd.yaml", "--json"}},
                    // Here no method changes places with another over the length of the context.
                    {"context_break_even[].context_tokens.changes_at[]"});
  expect_whole_kind("plan_pools",
                    {{"plan", kSource + "scenarios/remote_prefix/published.yaml", "--simulate", "--json", "--set",
                      "run.duration=10s", "--set", "run.warmup=2s", "--set", "cluster.pools.storage.read=30GB/s"}});
  expect_whole_kind(
      "plan_paths", {{"plan", "--paths", kSource + "docs/examples/two_pools.yaml", "--json"}},
      // Limits of scenarios with pools.
      {"shadow_prices.storage", "shadow_prices.local_held", "details.used.storage", "details.used.local_held"});
}

TEST_F(DocumentsTest, Traces) {
  write_log();
  write("t.jsonl",
        "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [1, 2, 3]}\n"
        "{\"timestamp\": 1000, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 8]}\n"
        "{\"timestamp\": 2000, \"input_length\": 1200, \"output_length\": 5, \"hash_ids\": [1, 2, 4]}\n");
  const Words info{"workload", "info", "t.jsonl", "--format", "mooncake", "--json"};
  Words curves = info;
  curves.insert(curves.end(), {"--curve", "--model", "llama-3.1-8b", "--policies", "lru,sieve,belady", "--read",
                               "5GB/s", "--prefill", "10000/s"});
  expect_whole_kind("trace", {info, curves, {"workload", "info", "log.csv", "--columns", kLogColumns, "--json"}});
  expect_whole_kind("trace_comparison",
                    {{"workload", "compare", "t.jsonl", "t.jsonl", "--format", "mooncake", "--json"}});
}

TEST_F(DocumentsTest, FitsOfTraces) {
  std::string shared;
  for (int i = 0; i < 300; ++i) {
    shared += "{\"timestamp\": " + std::to_string(i * 100) +
              ", \"input_length\": 1024, \"output_length\": " + std::to_string(i % 7 + 1) + ", \"hash_ids\": [" +
              std::to_string(i % 20) + ", " + std::to_string(1000 + i) + "]}\n";
  }
  write("shared.jsonl", shared);
  write_log();
  expect_whole_kind("trace_fit", {{"workload", "fit", "shared.jsonl", "--format", "mooncake", "--json"},
                                  {"workload", "fit", "log.csv", "--columns", kLogColumns, "--json"}});
}

TEST_F(DocumentsTest, Steps) {
  expect_whole_kind("show_step", {{"show", "step", "s.yaml", "--json"},
                                  {"show", "step", "s.yaml", "--verify", "1", "--chunk", "512", "--json"}});
}

TEST_F(DocumentsTest, Validation) {
  expect_whole_kind("validation", {{"validate", "--group", "links", "--json"}});
}

TEST_F(DocumentsTest, Reproductions) {
  expect_whole_kind("reproduction", {{"reproduce", "vericache/fig9", "--sensitivity", "--json"}});
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
