// Where results go: stdout, --out and --trace-out, whole or not at all.
#include <algorithm>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"
#include "tools/output/results_folder.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

class OutputTest : public Workspace {
 protected:
  OutputTest() { write("s.yaml", tiny_scenario()); }
};

TEST_F(OutputTest, OutHoldsTheResultTheTablesTheScenarioAndTheTiming) {
  const CommandResult r = run({"run", "s.yaml", "--json", "--out", "a/b"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(names(),
            (Words{"a", "a/b", "a/b/resolved.yaml", "a/b/result.json", "a/b/result.md", "a/b/timing.json", "s.yaml"}));
  EXPECT_EQ(read("a/b/result.json"), r.out);
  EXPECT_GT(Json::parse(read("a/b/timing.json"))["timing"][0]["wall_s"], 0);
}

TEST_F(OutputTest, TheResolvedScenarioGivesTheSameResult) {
  const CommandResult first = run({"run", "s.yaml", "--json", "--out", "results"});
  const CommandResult again = run({"run", "results/resolved.yaml", "--json"});
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_EQ(first.out, again.out);
}

TEST_F(OutputTest, ARunThatRefusesEverythingSaysSo) {
  const CommandResult r =
      run({"run", "s.yaml", "--set", "workload={arrivals: {rate: 5/s}, context: 200k tokens, output: 64 tokens}"});
  EXPECT_EQ(r.status, 0);
  EXPECT_NE(r.err.find("kvsim: warning: s.yaml: every request was refused, so every figure is empty; request 0"),
            std::string::npos)
      << r.err;
}

/// A command that writes a set into the folder "o", with the name of one of its files.
struct SetWriter {
  Words words;
  std::string file;
};

std::vector<SetWriter> set_writers() {
  return {{{"run", "s.yaml", "--out", "o"}, "result.md"},
          {{"compare", "s.yaml", "--policies", "draft_verify,lossy", "--out", "o"}, "resolved.lossy.yaml"},
          {{"plan", "s.yaml", "--out", "o"}, "plan.json"},
          {{"capacity", "s.yaml", "--slo", "e2e_p99=10s", "--attainment", "0.5", "--replications", "2", "--machines",
            "l40s", "--set", "workload={arrivals: {rate: 1/s}, context: 8k tokens, output: 64 tokens}", "--set",
            "decode={policy: full_kv}", "--set", "schedule={max_requests: 1}", "--out", "o"},
           "result.md"},
          {{"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--out", "o"}, "sweep.csv"},
          {{"backtest", "points.csv", "--out", "o"}, "points.csv"},
          {{"reproduce", "bench.yaml", "--out", "o"}, "reproduce.json"},
          {{"workload", "fit", "made.csv", "--format", "csv", "--out", "o"}, "fit.json"},
          {{"report", "r", "--format", "csv", "--out", "o"}, "memory-of-run.csv"}};
}

class SetsTest : public OutputTest {
 protected:
  SetsTest() {
    write("points.csv",
          "id,backend,model_path,system,isl,osl,concurrency,ttft_ms,tpot_ms\na,vllm,llama-3.1-8b,h200,100,"
          "20,3,40,5\n");
    write("bench.yaml",
          "place: here\ntitle: T\nscenario: s.yaml\nruns: [{name: run(x), settings: "
          "[\"decode.draft_length={x}\"]}]\npanels:\n  - x: {title: x, over: {columns: x, rows: [4, 8]}}\n"
          "    y: {title: y}\n    tolerance: 0.9\n    series: [{name: s, simulated: "
          "\"run({x}).throughput.output_tokens_per_s\", points: [{at: 4, is: 100}]}]\n");
    EXPECT_EQ(run({"workload", "generate", "s.yaml", "--set",
                   "workload={arrivals: {rate: 5/s}, context: 1k tokens, output: 8 tokens}", "--requests", "200",
                   "--out", "made.csv"})
                  .status,
              0);
    EXPECT_EQ(run({"run", "s.yaml", "--out", "r"}).status, 0);
  }
};

// The lock is held by this process.
TEST_F(SetsTest, EveryCommandRefusesTheFolderThatAnotherProcessWritesInto) {
  std::filesystem::create_directory(folder() + "/o");
  const output::LockedFolder lock(folder() + "/o", "a");
  const Words before = names();
  for (const SetWriter& writer : set_writers()) {
    const CommandResult r = run(writer.words);
    EXPECT_EQ(r.status, 1) << writer.words.front();
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, "kvsim: another kvsim is at work in o\n") << writer.words.front();
    EXPECT_EQ(names(), before);
  }
}

TEST_F(SetsTest, EveryCommandListsItsFilesAndAnyOfAnotherSetIsFound) {
  for (const SetWriter& writer : set_writers()) {
    std::filesystem::remove_all(folder() + "/o");
    const CommandResult r = run(writer.words);
    ASSERT_EQ(r.status, 0) << r.err;
    const CommandResult whole = run({"check", "o"});
    EXPECT_TRUE(whole.out.starts_with("complete: o: ")) << whole.out << whole.err;
    for (const auto& entry : std::filesystem::directory_iterator(folder() + "/o")) {
      const std::string name = entry.path().filename().string();
      if (!entry.is_regular_file() || name == "points.jsonl") continue;
      EXPECT_NE(whole.out.find(name), std::string::npos) << writer.words.front();
    }
    write("o/" + writer.file, "of another set");
    const CommandResult mixed = run({"check", "o"});
    EXPECT_EQ(mixed.status, 2) << writer.words.front();
    EXPECT_TRUE(mixed.err.starts_with("kvsim: o: incomplete: " + writer.file + " is not as it was written, of "))
        << mixed.err;
  }
}

TEST_F(SetsTest, ReadersSayWhatIsWrongWithAFolder) {
  write("r/resolved.yaml", "of another run");
  const std::string said =
      "kvsim: r: incomplete: resolved.yaml is not as it was written, of resolved.yaml, result.json, "
      "result.md, timing.json, which belong together; write them again, or remove r/.kvsim to take "
      "the files as they are\n";
  for (const Words& words : {Words{"report", "r"}, {"report", "r/result.json"}, {"report", "."}, {"backtest", "r"}}) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << words.back();
    EXPECT_EQ(std::regex_replace(r.err, std::regex(R"(\./r)"), "r"), said);
  }
  std::filesystem::remove_all(folder() + "/r/.kvsim");
  EXPECT_EQ(run({"report", "r"}).status, 0) << "as the results of an earlier version";
  EXPECT_EQ(run({"check", "r"}).err,
            "kvsim: r: there is no list of what belongs to it, which kvsim writes beside results of option --out\n");
  ASSERT_EQ(run({"sweep", "s.yaml", "--vary", "decode.draft_length=4,8", "--out", "o"}).status, 0);
  EXPECT_EQ(run({"sweep", "--merge", "o"}).status, 0);
  write("o/sweep.csv", "");
  EXPECT_TRUE(run({"sweep", "--merge", "o"}).err.starts_with("kvsim: o: incomplete: sweep.csv is not as it was"));
}

TEST_F(OutputTest, AManifestDoesNotDependOnThreadsNorOnTheClock) {
  for (const std::string jobs : {"1", "2"}) {
    for (const char* command : {"run", "plan"}) {
      Words words{command, "s.yaml", "--out", command + jobs};
      if (words.front() == "run") words.insert(words.end(), {"--jobs", jobs, "--replications", "3"});
      ASSERT_EQ(run(words).status, 0);
    }
  }
  EXPECT_NE(read("run1/.kvsim/manifest.json").find("\"crc32\""), std::string::npos);
  EXPECT_EQ(read("run1/.kvsim/manifest.json"), read("run2/.kvsim/manifest.json"));
  EXPECT_EQ(read("plan1/.kvsim/manifest.json"), read("plan2/.kvsim/manifest.json"));
}

TEST_F(OutputTest, AScenarioThatIsReadFromResultsStaysWhereTheyAreReplaced) {
  ASSERT_EQ(run({"compare", "s.yaml", "--policies", "full_kv,lossy", "--out", "o"}).status, 0);
  ASSERT_EQ(run({"run", "o/resolved.lossy.yaml", "--out", "o"}).status, 0);
  EXPECT_EQ(names(), (Words{"o", "o/resolved.lossy.yaml", "o/resolved.yaml", "o/result.json", "o/result.md",
                            "o/timing.json", "s.yaml"}));
}

TEST_F(OutputTest, TimelinesAndRequestsInTheFolderBelongToTheSet) {
  ASSERT_EQ(run({"run", "s.yaml", "--out", "o", "--trace-out", "o/t.json.gz", "--requests", "r.csv"}).status, 0);
  EXPECT_EQ(run({"check", "o"}).out, "complete: o: resolved.yaml, result.json, result.md, t.json.gz, timing.json\n");
  EXPECT_EQ(shell("gzip -dc o/t.json.gz | head -c 1", {"", folder()}).out, "{");
  EXPECT_FALSE(read("r.csv").empty());
  EXPECT_EQ(run({"run", "s.yaml", "--out", "o"}).status, 0);
  EXPECT_EQ(names(),
            (Words{"o", "o/resolved.yaml", "o/result.json", "o/result.md", "o/timing.json", "r.csv", "s.yaml"}))
      << "a timeline is not left beside the results of another run";
}

TEST_F(OutputTest, ASecondRunReplacesTheFirst) {
  EXPECT_EQ(run({"run", "s.yaml", "--out", "results"}).status, 0);
  const std::string first = read("results/result.json");
  EXPECT_EQ(run({"run", "s.yaml", "--seed", "2", "--out", "results/"}).status, 0);
  EXPECT_NE(read("results/result.json"), first);
  EXPECT_EQ(names().size(), 6);  // no temporary file is left
}

TEST_F(OutputTest, AComparisonKeepsEveryPolicysScenario) {
  EXPECT_EQ(run({"compare", "s.yaml", "--policies", "full_kv,draft_verify:lock_step", "--out", "r"}).status, 0);
  EXPECT_EQ(names(), (Words{"r", "r/resolved.draft_verify-lock_step.yaml", "r/resolved.full_kv.yaml", "r/result.json",
                            "r/result.md", "r/timing.json", "s.yaml"}));
}

TEST_F(OutputTest, AFileInPlaceOfTheFolderIsRefusedBeforeTheRun) {
  const CommandResult r = run({"run", "s.yaml", "--set", "run.duration=1000 h", "--out", "s.yaml/results"});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: cannot make folder s.yaml/results: Not a directory\n");
}

TEST_F(OutputTest, AFolderThatCannotBeWrittenIsRefusedBeforeTheRun) {
  const CommandResult r = run({"run", "s.yaml", "--set", "run.duration=1000 h", "--out", "/proc"});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_TRUE(r.err.starts_with("kvsim: cannot write /proc/result.json: ")) << r.err;
}

TEST_F(OutputTest, AnEmptyNameIsNoFolderAndNoFile) {
  const std::vector<std::pair<Words, std::string>> refused{
      {{"run", "s.yaml", "--out", ""}, "--out: expected the name of a folder, found \"\" (kvsim run --help says more)"},
      {{"compare", "s.yaml", "--out", ""}, "--out: expected the name of a folder"},
      {{"sweep", "s.yaml", "--vary", "run.seed=1,2", "--out", ""}, "--out: expected the name of a folder"},
      {{"plan", "s.yaml", "--out", ""}, "--out: expected the name of a folder"},
      {{"capacity", "s.yaml", "--out", ""}, "--out: expected the name of a folder"},
      {{"report", "s.json", "--out", ""}, "--out: expected the name of a file"},
      {{"calibrate", "fit", "s.csv", "--out", ""}, "--out: expected the name of a file"},
      {{"run", "s.yaml", "--trace-out", ""}, "--trace-out: expected the name of a file"},
      {{"compare", "s.yaml", "--prices", ""}, "--prices: expected the name of a file"},
      {{"run", ""}, "SCENARIO: expected the name of a file"},
      {{"plan", ""}, "SCENARIO: expected the name of a file"},
      {{"workload", "info", "", "--format", "mooncake"}, "TRACE: expected the name of a file"}};
  for (const auto& [words, message] : refused) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << words.front();
    EXPECT_EQ(r.out, "");
    EXPECT_TRUE(r.err.starts_with("kvsim: " + message)) << r.err;
  }
}

TEST_F(OutputTest, AFullDiskLeavesNothing) {
  // A limit on file sizes fails like a full disk, with another errno: result.json needs more than a block.
  const CommandResult r = shell("ulimit -f 1; \"$KVSIM\" run s.yaml --out results", {"", folder()});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: cannot write results/result.json: File too large\n");
  EXPECT_EQ(names(), Words{"s.yaml"});
}

TEST_F(OutputTest, AFullDiskKeepsEarlierResults) {
  EXPECT_EQ(run({"run", "s.yaml", "--out", "results"}).status, 0);
  const std::string first = read("results/result.json");
  EXPECT_EQ(shell("ulimit -f 1; \"$KVSIM\" run s.yaml --seed 2 --out results", {"", folder()}).status, 1);
  EXPECT_EQ(read("results/result.json"), first);
  EXPECT_EQ(names().size(), 6);
}

TEST_F(OutputTest, AFullDeviceOnStdoutIsAnError) {
  for (const Words& words :
       {Words{"run", "s.yaml"}, Words{"compare", "s.yaml", "--json"}, Words{"list"}, Words{"--help"}}) {
    const CommandResult r = kvsim(words, {"/dev/full", folder()});
    EXPECT_EQ(r.status, 1) << words.front();
    EXPECT_EQ(r.err, "kvsim: cannot write to standard output: No space left on device\n");
  }
}

TEST_F(OutputTest, AMissingStdoutIsAnErrorAndNoFileIsTakenForIt) {
  const CommandResult r = shell("\"$KVSIM\" run s.yaml --out results >&-", {"", folder()});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "kvsim: cannot write to standard output: Bad file descriptor\n");
  EXPECT_TRUE(Json::accept(read("results/result.json")));
}

TEST_F(OutputTest, ATimelineIsJsonAndCompressedWhereItsNameSaysSo) {
  EXPECT_EQ(run({"run", "s.yaml", "--trace-out", "t.json"}).status, 0);
  EXPECT_FALSE(Json::parse(read("t.json"))["traceEvents"].empty());
  EXPECT_EQ(run({"run", "s.yaml", "--trace-out", "t.json.gz"}).status, 0);
  EXPECT_EQ(shell("gzip -dc t.json.gz | cmp - t.json", {"", folder()}).status, 0);
  EXPECT_EQ(names(), (Words{"s.yaml", "t.json", "t.json.gz"}));
}

TEST_F(OutputTest, WhatACommandReadsIsNoOutputOfIt) {
  const std::string scenario = read("s.yaml");
  const auto refused = [&](const Words& words, const std::string& output) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2);
    EXPECT_EQ(r.err,
              "kvsim: " + output + " is an input of this command, which it would write over: expected another name\n");
  };
  refused({"run", "s.yaml", "--trace-out", "s.yaml"}, "--trace-out: s.yaml");
  refused({"run", "s.yaml", "--trace-out", "./s.yaml"}, "--trace-out: ./s.yaml");
  write("o/resolved.yaml", scenario);
  refused({"run", "o/resolved.yaml", "--out", "o"}, "--out: o/resolved.yaml");
  refused({"sweep", "o/resolved.yaml", "--vary", "run.seed=1,2", "--out", "o"}, "--out: o/resolved.yaml");
  EXPECT_EQ(read("o/resolved.yaml"), scenario);
  EXPECT_EQ(read("s.yaml"), scenario);
  ASSERT_EQ(run({"run", "s.yaml", "--out", "r"}).status, 0);
  const std::string result = read("r/result.json");
  write("o/result.md", scenario);
  refused({"compare", "o/result.md", "--out", "o"}, "--out: o/result.md");
  refused({"capacity", "o/result.md", "--slo", "ttft_p99=1s", "--out", "o"}, "--out: o/result.md");
  write("o/plan.md", scenario);
  refused({"plan", "o/plan.md", "--out", "o"}, "--out: o/plan.md");
  const std::string points =
      "id,backend,model_path,system,isl,osl,concurrency,tp_size,tpot_ms\n"
      "a,vllm,meta-llama/Llama-3.1-8B,h100_sxm,256,64,2,1,6\n";
  write("o/points.csv", points);
  refused({"backtest", "o/points.csv", "--out", "o"}, "--out: o/points.csv");
  write("o/kernels.csv", "");
  refused({"calibrate", "fit", "o", "--gpu", "h100-sxm", "--force", "--out", "o/kernels.csv"}, "--out: o/kernels.csv");
  refused({"calibrate", "fit", "o", "--gpu", "h100-sxm", "--force", "--report", "o/kernels.csv"},
          "--report: o/kernels.csv");
  write("o/more.yaml", "place: here\ntitle: nothing\ncannot: be simulated\n");
  std::filesystem::create_hard_link(folder() + "/o/more.yaml", folder() + "/o/reproduce.json");
  refused({"reproduce", "o/more.yaml", "--out", "o"}, "--out: o/reproduce.json");
  EXPECT_EQ(read("o/points.csv"), points);
  EXPECT_EQ(read("o/plan.md"), scenario);
  refused({"report", "r", "--out", "r/result.json"}, "--out: r/result.json");
  refused({"report", "r/result.json", "--out", "r/../r/result.json"}, "--out: r/../r/result.json");
  EXPECT_EQ(read("r/result.json"), result);
}

TEST_F(OutputTest, ALinkAmongTheFilesIsReplacedAndNotFollowed) {
  write("precious", "mine");
  write("o/other", "");
  std::filesystem::create_symlink("../precious", folder() + "/o/result.json");
  EXPECT_EQ(run({"run", "s.yaml", "--out", "o"}).status, 0);
  EXPECT_EQ(read("precious"), "mine");
  EXPECT_FALSE(std::filesystem::is_symlink(folder() + "/o/result.json"));
  EXPECT_TRUE(read("o/result.json").starts_with("{"));
}

TEST_F(OutputTest, AComparisonHasATimelinePerPolicy) {
  EXPECT_EQ(run({"compare", "s.yaml", "--policies", "full_kv,draft_verify:staggered", "--trace-out", "t.json"}).status,
            0);
  EXPECT_EQ(names(), (Words{"s.yaml", "t.draft_verify-staggered.json", "t.full_kv.json"}));
}

TEST_F(OutputTest, ATimelineThatDoesNotFitTheDiskIsAnErrorAndLeavesNothing) {
  for (const std::string file : {"t.json", "t.json.gz"}) {
    const CommandResult r =
        shell("ulimit -f 1; \"$KVSIM\" run s.yaml --out results --trace-out " + file, {"", folder()});
    EXPECT_EQ(r.status, 1);
    EXPECT_EQ(r.out, "");
    EXPECT_EQ(r.err, "kvsim: cannot write " + file + " (is the disk full?)\n");
    EXPECT_EQ(names(), Words{"s.yaml"});
  }
}

/// The lines of a CSV text, without its last line end.
std::vector<Words> table(const std::string& csv) {
  std::vector<Words> rows;
  std::istringstream lines(csv);
  for (std::string line; std::getline(lines, line);) {
    Words& row = rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) row.push_back(cell);
  }
  return rows;
}

TEST_F(OutputTest, RequestsAreALineEachInTheOrderInWhichTheyArrive) {
  const CommandResult r = run({"run", "s.yaml", "--requests", "requests.csv", "--json", "--replications", "2"});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::vector<Words> rows = table(read("requests.csv"));
  EXPECT_EQ(rows.front(),
            (Words{"request", "arrival_s", "prompt_tokens", "output_tokens", "first_token_s", "last_token_s",
                   "largest_gap_s", "path", "found_tokens", "stored_tokens", "rounds", "drafted_tokens",
                   "accepted_tokens", "verifier_tokens", "direct_tokens", "class", "session", "turn", "replica"}));
  const Json first = Json::parse(run({"run", "s.yaml", "--json"}).out);
  ASSERT_EQ(rows.size() - 1, first["requests"]["completed"].get<std::size_t>()) << "of the first replication";
  double last = 0, ttft = 0, measured = 0;
  const std::set<std::string> ways{"resident", "offloaded"};
  for (std::size_t i = 1; i < rows.size(); ++i) {
    const auto at = [&](std::size_t column) { return std::stod(rows[i].at(column)); };
    EXPECT_EQ(at(2), 8000);
    EXPECT_EQ(at(3), 64);
    EXPECT_TRUE(ways.contains(rows[i].at(7))) << rows[i].at(7);
    EXPECT_EQ(at(8), 0);
    EXPECT_GE(at(10), at(13)) << "a round gives one token of the verifier's, the last one perhaps none";
    EXPECT_LE(at(10), at(13) + 1);
    EXPECT_EQ(at(12) + at(13) + at(14), at(3)) << "every token is drafted and accepted, a verifier's, or decoded";
    EXPECT_LT(at(1), at(4));
    EXPECT_LE(at(4), at(5));
    EXPECT_GE(at(1), last);
    last = at(1);
    if (at(5) < 1) continue;  // within the warm-up
    ttft += at(4) - at(1);
    ++measured;
  }
  EXPECT_NEAR(ttft / measured, first["latency_s"]["ttft"]["mean"].get<double>(), 1e-9);
}

// Requests overtake each other, some are refused, and some are under way when the run ends.
TEST_F(OutputTest, RequestsAreATraceThatIsReadBack) {
  const std::string lengths =
      "context: {distribution: uniform, min: 1k tokens, max: 180k tokens}, output: {distribution: uniform, min: 1 "
      "token, "
      "max: 2k tokens}";
  for (const char* load : {"arrivals: {rate: 1/s}", "closed: {concurrency: 8}"}) {
    const CommandResult r = run({"run", "s.yaml", "--requests", "requests.csv", "--json", "--set",
                                 std::string("workload={") + load + ", " + lengths + "}", "--set", "run.duration=60 s",
                                 "--set", "decode={policy: full_kv}", "--set", "schedule.policy=fcfs"});
    ASSERT_EQ(r.status, 0) << r.err;
    const Json result = Json::parse(r.out);
    EXPECT_GT(result["requests"]["refused"], 0);
    EXPECT_GT(result["requests"]["running"], 0);
    const std::vector<Words> rows = table(read("requests.csv"));
    EXPECT_EQ(rows.size() - 1, result["requests"]["completed"].get<std::size_t>());
    bool overtaken = false;
    for (std::size_t i = 2; i < rows.size(); ++i) overtaken |= std::stod(rows[i][5]) < std::stod(rows[i - 1][5]);
    EXPECT_TRUE(overtaken);
    const CommandResult info = run({"workload", "info", "requests.csv", "--format", "csv", "--json"});
    ASSERT_EQ(info.status, 0) << info.err;
    EXPECT_EQ(Json::parse(info.out)["requests"].get<std::size_t>(), rows.size() - 1);
  }
}

TEST_F(OutputTest, RequestsSayWhatWasFoundOfTheirPrompts) {
  const CommandResult r = run({"run", KVSIM_SOURCE_DIR "/scenarios/chat_sessions/in_gpu_memory.yaml", "--set",
                               "run={duration: 2 min, warmup: 0 s}", "--set", "workload.closed.concurrency=20",
                               "--requests", "r.csv.gz", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::vector<Words> rows = table(shell("gzip -dc r.csv.gz", {"", folder()}).out);
  ASSERT_GT(rows.size(), 20);
  double found = 0, prompts = 0;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at(7), "") << "nothing is verified";
    EXPECT_LT(std::stod(rows[i].at(8)), std::stod(rows[i].at(2)));
    found += std::stod(rows[i].at(8));
    prompts += std::stod(rows[i].at(2));
  }
  // Of all that were admitted, some of which have not finished.
  EXPECT_NEAR(found / prompts, Json::parse(r.out)["prefix"]["hit_rate"].get<double>(), 0.02);
}

/// Mean times to the first token of requests that finished after the warm-up, by the text of a column.
std::map<std::string, double> ttft_by(const std::vector<Words>& rows, std::size_t column, double warmup_s) {
  std::map<std::string, std::pair<double, double>> sums;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (std::stod(rows[i].at(5)) < warmup_s) continue;
    auto& [sum, count] = sums[rows[i].at(column)];
    sum += std::stod(rows[i].at(4)) - std::stod(rows[i].at(1));
    ++count;
  }
  std::map<std::string, double> means;
  for (const auto& [key, sum] : sums) means[key] = sum.first / sum.second;
  return means;
}

TEST_F(OutputTest, RequestsGiveTheFiguresOfClassesAndReplicas) {
  const auto classes = [this](const std::string& one) {
    return run({"run", "s.yaml", "--requests", "r.csv", "--json", "--set", "decode={policy: full_kv}", "--set",
                "schedule={policy: fcfs}", "--set", "run={duration: 60 s, warmup: 10 s}", "--set", "cluster.replicas=2",
                "--set", "prefill=recompute", "--set",
                "workload={arrivals: {rate: 8/s}, classes: [{name: \"" + one +
                    "\", share: 0.5, context: 500 tokens, output: 20 tokens}, {name: batch, share: 0.5, context: 4k "
                    "tokens, output: 40 tokens}]}"});
  };
  const CommandResult r = classes("chat");
  ASSERT_EQ(r.status, 0) << r.err;
  const Json result = Json::parse(r.out);
  const std::vector<Words> rows = table(read("r.csv"));
  const auto means = ttft_by(rows, 15, 10);
  ASSERT_EQ(means.size(), 2U);
  for (const auto& [name, mean] : means) {
    EXPECT_NEAR(mean, result["classes"][name]["ttft_s"]["mean"].get<double>(), 1e-6) << name;
  }
  std::map<std::string, int> replicas;
  for (std::size_t i = 1; i < rows.size(); ++i) ++replicas[rows[i].at(18)];
  EXPECT_EQ(replicas.size(), 2U) << "0 and 1";
  EXPECT_EQ(rows[1].at(16), "") << "of no session";
  ASSERT_EQ(classes("chat, short").status, 0);
  EXPECT_EQ(run({"workload", "info", "r.csv", "--format", "csv"}).status, 0) << "a comma in a name is no column";
}

TEST_F(OutputTest, RequestsGiveTheFiguresOfFirstAndLaterTurns) {
  const CommandResult r = run({"run", KVSIM_SOURCE_DIR "/scenarios/chat_sessions/in_gpu_memory.yaml", "--set",
                               "run={duration: 4 min, warmup: 30 s}", "--set", "workload.closed.concurrency=10",
                               "--requests", "r.csv", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  std::vector<Words> rows = table(read("r.csv"));
  std::map<std::string, int> turns;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(std::stoi(rows[i].at(17)), ++turns[rows[i].at(16)]) << "turns of a session follow each other";
    rows[i].at(17) = rows[i].at(17) == "1" ? "first" : "later";
  }
  const auto means = ttft_by(rows, 17, 30);
  const Json sessions = Json::parse(r.out)["sessions"];
  EXPECT_NEAR(means.at("first"), sessions["ttft_first_s"]["mean"].get<double>(), 1e-6);
  EXPECT_NEAR(means.at("later"), sessions["ttft_later_s"]["mean"].get<double>(), 1e-6);
}

TEST_F(OutputTest, RequestsBetweenPoolsSayWhichWayTheyWent) {
  const CommandResult r = run({"run", KVSIM_SOURCE_DIR "/scenarios/remote_prefix/published.yaml", "--set",
                               "run={duration: 1 min, warmup: 0 s}", "--requests", "r.csv", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  std::map<std::string, std::int64_t> ways;
  const std::vector<Words> rows = table(read("r.csv"));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    ways[rows[i].at(7)] += 1;
    EXPECT_EQ(rows[i].at(9), rows[i].at(2)) << "all of every prompt is stored";
  }
  const Json result = Json::parse(r.out);
  EXPECT_GT(ways.size(), 1);
  for (const auto& [path, figures] : result["paths"].items()) EXPECT_EQ(ways[path], figures["completed"]) << path;
}

TEST_F(OutputTest, AComparisonHasRequestsPerPolicy) {
  const Words two{"compare", "s.yaml", "--policies", "full_kv,draft_verify:lock_step", "--requests", "r.csv"};
  ASSERT_EQ(run(two).status, 0);
  EXPECT_EQ(names(), (Words{"r.draft_verify-lock_step.csv", "r.full_kv.csv", "s.yaml"}));
}

TEST_F(OutputTest, RequestsThatDoNotFitTheDiskAreAnErrorAndLeaveNothing) {
  const CommandResult r = shell("ulimit -f 1; \"$KVSIM\" run s.yaml --requests r.csv", {"", folder()});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "kvsim: cannot write r.csv (is the disk full?)\n");
  EXPECT_EQ(names(), (Words{"s.yaml"}));
}

#if !KVSIM_SANITIZED  // whose shadows are terabytes
// Threads that there is no room for are done without, or the run ends with a message: it never waits for them.
TEST_F(OutputTest, AMemoryLimitThatLeavesNoRoomForThreadsEndsACommandOneWayOrTheOther) {
  const std::string command = "\"$KVSIM\" run s.yaml --json --replications 32 --jobs ";
  const CommandResult all = shell(command + "2", {"", folder()});
  ASSERT_EQ(all.status, 0) << all.err;
  for (const char* kilobytes : {"60000", "100000", "300000", "4000000"}) {
    const CommandResult r = shell(std::string("ulimit -v ") + kilobytes + "; " + command + "32", {"", folder()});
    if (r.status == 0) {
      EXPECT_EQ(r.out, all.out) << kilobytes;
    } else {
      EXPECT_EQ(r.status, 1) << kilobytes;
      EXPECT_EQ(r.err, "kvsim: out of memory\n") << kilobytes;
    }
  }
}
#endif

TEST_F(OutputTest, TwoOutputsInOneFileAreRefused) {
  for (const Words& more :
       {Words{"--out", "o", "--trace-out", "o/result.json"}, Words{"--out", "o", "--requests", "o/../o/resolved.yaml"},
        Words{"--trace-out", "t.csv", "--requests", "t.csv"}}) {
    Words words{"run", "s.yaml"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(names(), (Words{"s.yaml"}));
  }
}

TEST_F(OutputTest, CsvHasALineARun) {
  const Json document = Json::parse(run({"run", "s.yaml", "--json"}).out);
  const CommandResult one = run({"run", "s.yaml", "--csv"});
  ASSERT_EQ(one.status, 0) << one.err;
  const std::vector<Words> rows = table(one.out);
  ASSERT_EQ(rows.size(), 2);
  EXPECT_EQ(rows[0][0], "scenario");
  EXPECT_EQ(rows[1][0], "tiny");
  const auto place = std::find(rows[0].begin(), rows[0].end(), "latency_s.ttft.mean") - rows[0].begin();
  ASSERT_LT(place, std::ssize(rows[0]));
  EXPECT_EQ(rows[1][static_cast<std::size_t>(place)], document["latency_s"]["ttft"]["mean"].dump());
  const std::vector<Words> compared = table(run({"compare", "s.yaml", "--policies", "full_kv,lossy", "--csv"}).out);
  ASSERT_EQ(compared.size(), 3);
  EXPECT_EQ(compared[0][1], "policy");
  EXPECT_EQ(compared[1][1], "full_kv");
  EXPECT_EQ(compared[2][1], "lossy");
  EXPECT_EQ(run({"run", "s.yaml", "--csv", "--json"}).status, 2);
}

TEST_F(OutputTest, ATimelineReplacesNoDevice) {
  const CommandResult r = run({"run", "s.yaml", "--trace-out", "/dev/null"});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "kvsim: cannot write /dev/null: it exists and is no regular file\n");
  const CommandResult nowhere = run({"run", "s.yaml", "--trace-out", "absent/t.json"});
  EXPECT_EQ(nowhere.status, 1);
  EXPECT_EQ(nowhere.err, "kvsim: cannot write absent/t.json: No such file or directory\n");
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
