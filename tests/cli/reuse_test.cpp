// Commands on scenarios whose prompts are made of chunks.
#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::json;
using Words = std::vector<std::string>;

constexpr const char* kShipped = KVSIM_SOURCE_DIR "/scenarios/selective_reuse/published.yaml";

/// Characters, not bytes: some are outside ASCII.
std::size_t width_of(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::size_t widest_row(const std::string& table) {
  std::size_t width = 0, begin = 0;
  for (std::size_t end = table.find('\n'); end != std::string::npos; end = table.find('\n', begin)) {
    width = std::max(width, width_of(table.substr(begin, end - begin)));
    begin = end + 1;
  }
  return width;
}

class ReuseTest : public Workspace {
 protected:
  ReuseTest() { write("c.yaml", chunk_scenario()); }

  CommandResult accepted(const Words& words) {
    CommandResult r = run(words);
    EXPECT_EQ(r.status, 0) << r.err;
    return r;
  }
};

TEST_F(ReuseTest, TheShippedScenarioIsValidAndWhatCheckPrintsIsOne) {
  const CommandResult r = accepted({"check", kShipped, "--full"});
  write("resolved.yaml", r.out);
  const auto below_the_name = [](const std::string& text) { return text.substr(text.find('\n')); };
  EXPECT_EQ(below_the_name(accepted({"check", "resolved.yaml", "--full"}).out), below_the_name(r.out));
}

TEST_F(ReuseTest, ComparesPrefillPoliciesByDefaultInAHundredColumns) {
  const CommandResult r = accepted({"compare", kShipped, "--set", "workload.requests=300", "--policies",
                                    "full_recompute,prefix_cache,full_reuse,epic,cacheblend,selective,selective:0.25,"
                                    "lru,epic:16"});
  const std::size_t begin = r.out.find("policy"), end = r.out.find("Columns");
  ASSERT_NE(begin, std::string::npos) << r.out;
  ASSERT_NE(end, std::string::npos) << r.out;
  const std::string table = r.out.substr(begin, end - begin);
  EXPECT_LE(widest_row(table), 100U) << table;
  for (const char* policy : {"full_recompute", "selective:0.25", "epic:16"}) {
    EXPECT_NE(table.find(std::string("\n  ") + policy), std::string::npos) << table;
  }
}

TEST_F(ReuseTest, WritesComparisonsAsMarkdownAndJson) {
  accepted({"compare", "c.yaml", "--out", "results"});
  const std::string markdown = read("results/result.md");
  for (const char* policy : {"full\\_recompute", "prefix\\_cache", "full\\_reuse", "epic", "cacheblend", "selective"}) {
    EXPECT_NE(markdown.find(std::string("| ") + policy), std::string::npos) << markdown;
  }
  const Json doc = Json::parse(accepted({"compare", "c.yaml", "--json"}).out);
  EXPECT_EQ(doc["baseline"], "full_recompute");
  EXPECT_EQ(doc["ttft_speedup"]["full_recompute"], 1);
  EXPECT_GT(doc["ttft_speedup"]["epic"], doc["ttft_speedup"]["selective"]);
  EXPECT_GT(doc["ttft_speedup"]["selective"], 1);
  for (const Json& result : doc["results"]) {
    EXPECT_EQ(result["answers"]["count"], result["requests"]["completed"].get<int>() - 21) << "those of the warm-up";
  }
}

TEST_F(ReuseTest, RefusesPoliciesThatItDoesNotKnow) {
  const CommandResult r = run({"compare", "c.yaml", "--policies", "full_recompute,selctive"});
  EXPECT_EQ(r.status, 2);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err,
            "kvsim: --policies: unknown prefill policy \"selctive\" of prompts made of chunks, expected selective or "
            "another of full_recompute, recompute, prefix_cache, full_reuse, selective, cacheblend, epic\n");
}

TEST_F(ReuseTest, SweepsOverItsKeysAndRanksByItsFigures) {
  const std::vector<std::pair<std::string, std::string>> sweeps{
      {"prefill.rho=0.1,0.3", "reuse.mean_s.load"},
      {"prefill.policy=recompute,full_recompute,full_reuse,epic,selective,prefix_cache", "answers.mean_score"},
      {"prefill.spans.longest=4 tokens,32 tokens", "latency_s.ttft.mean"}};
  for (const auto& [vary, metric] : sweeps) {
    const CommandResult r = accepted({"sweep", "c.yaml", "--vary", vary, "--metric", metric, "--out", metric});
    EXPECT_NE(r.out.find(", by the "), std::string::npos) << r.out;
    const std::string csv = read(metric + "/sweep.csv");
    for (const char* column : {"answers.mean_score", "slo.goodput_requests_per_s", "reuse.mean_s.load"}) {
      EXPECT_NE(csv.find(column), std::string::npos) << column;
    }
  }
  EXPECT_NE(accepted({"sweep", "c.yaml", "--vary", "prefill.rho=0.1,0.3", "--metric", "reuse.mean_s.select"})
                .out.find("lowest reuse.mean_s.select"),
            std::string::npos);
}

TEST_F(ReuseTest, ScoresThatCannotBeReadAreFoundByCheck) {
  write("s.jsonl", "{\"importance\": [1, 2]}\n{\"importance\": [1, -2]}\n");
  for (const char* command : {"check", "run", "compare"}) {
    const CommandResult r = run({command, "c.yaml", "--set", "prefill.importance={source: file, path: s.jsonl}"});
    EXPECT_EQ(r.status, 2) << command;
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, "kvsim: s.jsonl:2:20: importance[1] is -2, expected a finite number, 0 or more\n") << command;
  }
}

TEST_F(ReuseTest, ShowsAndListsTasks) {
  const CommandResult list = accepted({"list", "rag_tasks"});
  for (const char* name : {"samsum", "musique", "hotpotqa"}) {
    EXPECT_NE(list.out.find(name), std::string::npos) << list.out;
    const CommandResult shown = accepted({"show", name});
    EXPECT_NE(shown.out.find("full_score"), std::string::npos) << shown.out;
    EXPECT_NE(shown.out.find("SpecCache"), std::string::npos) << shown.out;
  }
}

/// Names of slices by what a trace of the scenario shows.
std::multiset<std::string> slices(const std::string& trace) {
  const Json doc = Json::parse(trace);
  std::multiset<std::string> names;
  for (const Json& event : doc["traceEvents"]) {
    if (event["ph"] == "X") names.insert(event["name"].get<std::string>());
  }
  return names;
}

TEST_F(ReuseTest, ATimelineShowsScoringWhereItTakesTheGpusTime) {
  accepted({"run", "c.yaml", "--trace-out", "shared.json"});
  accepted({"run", "c.yaml", "--trace-out", "own.json", "--set", "prefill.speculative.gpus=1"});
  const auto shared = slices(read("shared.json")), own = slices(read("own.json"));
  EXPECT_GT(shared.count("score"), 0U);
  EXPECT_EQ(own.count("score"), 0U);
  EXPECT_EQ(shared.count(""), 0U);
  EXPECT_EQ(own.count(""), 0U);
}

TEST_F(ReuseTest, CapacityBuysGpusThatScore) {
  const Words sizing{"capacity",     "c.yaml", "--slo",          "ttft_p99=1s", "--rate", "8/s",
                     "--attainment", "0.9",    "--replications", "2",           "--json"};
  const auto of = [&](const Words& policy) {
    Words words = sizing;
    words.insert(words.end(), policy.begin(), policy.end());
    return Json::parse(accepted(words).out)["configurations"][0];
  };
  const Json with = of({"--policies", "selective", "--set", "prefill.speculative.gpus=1"}),
             without = of({"--policies", "cacheblend"});
  EXPECT_EQ(with["scorer_gpus"], 1);
  EXPECT_FALSE(without.contains("scorer_gpus"));
  EXPECT_EQ(with["fleet"]["gpus"], 2 * with["fleet"]["replicas"].get<int>());
  EXPECT_EQ(without["fleet"]["gpus"], without["fleet"]["replicas"]);
  EXPECT_DOUBLE_EQ(with["rate_per_gpu"].get<double>(), with["rate_per_replica"].get<double>() / 2);
  // A second GPU of the same price.
  const double host = with["dram_gb"], hourly = with["usd_per_hour"];
  const double other_host = without["dram_gb"], other_hourly = without["usd_per_hour"];
  const double gpu = 2.5;
  EXPECT_NEAR((hourly - 2 * gpu) / host, (other_hourly - gpu) / other_host, 1e-6);
}

TEST_F(ReuseTest, CapacityLeavesOutWhatAnswersTooBadly) {
  const auto configurations =
      Json::parse(accepted({"capacity", "c.yaml", "--slo", "ttft_p99=1s", "--attainment", "0.9", "--replications", "2",
                            "--json", "--policies", "epic,cacheblend", "--set", "slo.quality_floor=0.8"})
                      .out)["configurations"];
  ASSERT_EQ(configurations.size(), 2U);
  EXPECT_EQ(configurations[0]["policy"], "cacheblend");
  EXPECT_EQ(configurations[1]["policy"], "epic");
  EXPECT_EQ(configurations[1]["cannot_run"],
            "its answers score 0.784 of those to prompts computed whole, in the mean; slo.quality_floor is 0.8");
}

TEST_F(ReuseTest, ThePlanSaysWhoseAnswersAreGoodAndWhatScoresRestOn) {
  const Json plan = Json::parse(accepted({"plan", "c.yaml", "--json", "--set", "slo.quality_floor=0.8"}).out);
  const Json& methods = plan["contexts"][0]["methods"];
  const auto good = [&](const std::string& name) {
    for (const Json& m : methods) {
      if (m["method"] == name) return m["good_share"].get<double>();
    }
    return -1.0;
  };
  EXPECT_GT(good("recompute"), good("selective"));
  EXPECT_GT(good("selective"), good("cacheblend"));
  EXPECT_GT(good("cacheblend"), good("epic"));
  const std::string text = accepted({"plan", "c.yaml", "--details", "--set", "slo.quality_floor=0.8"}).out;
  EXPECT_NE(text.find("rag_task.musique.cacheblend_below"), std::string::npos) << text;
  // One chunk is where it was when it was stored, and nothing is before it: reuse is exact.
  const Json one = Json::parse(accepted({"plan", "c.yaml", "--json", "--context", "512"}).out);
  for (const Json& m : one["contexts"][0]["methods"]) EXPECT_EQ(m["relative_score"], 1) << m["method"];
}

TEST_F(ReuseTest, ABudgetAboveRhoComputesMoreAndSaysWhoseScoresTheseAre) {
  const auto run_with = [&](const std::string& spans) {
    return Json::parse(accepted({"run", "c.yaml", "--json", "--set", "prefill.spans=" + spans}).out);
  };
  const Json within = run_with("{budget: 1}"), above = run_with("{budget: 1.5}");
  EXPECT_GT(above["reuse"]["recomputed_share"], within["reuse"]["recomputed_share"]);
  EXPECT_EQ(above["quality"]["mean_score"], within["quality"]["mean_score"]);
  const std::string text = accepted({"run", "c.yaml", "--details", "--set", "prefill.spans.budget=1.5"}).out;
  EXPECT_NE(text.find("Completed spans may take up to 1.5 times the tokens that rho selects"), std::string::npos)
      << text;
  EXPECT_EQ(accepted({"run", "c.yaml", "--details"}).out.find("Completed spans may"), std::string::npos);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
