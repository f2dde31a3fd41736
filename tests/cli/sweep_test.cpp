// kvsim sweep end to end: the same figures as run, the same bytes whatever happened on the way.
#include <algorithm>
#include <csignal>
#include <thread>

#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

class SweepTest : public Workspace {
 protected:
  SweepTest() { write("s.yaml", tiny_scenario()); }

  /// The sweep that most tests make, with more options.
  CommandResult sweep(const Words& more) {
    Words words{"sweep", "s.yaml", "--vary", "decode.draft_length=4:8:4", "--vary", "decode.keep_ratio=0.1,0.2,0.4"};
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  }

  void expect_same_files(const std::string& a, const std::string& b) {
    for (const char* name : {"/sweep.csv", "/sweep.json", "/resolved.yaml"}) {
      EXPECT_FALSE(read(a + name).empty()) << a << name;
      EXPECT_EQ(read(a + name), read(b + name)) << name;
    }
  }

  std::string refusal(const Words& words) {
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 2) << r.err;
    EXPECT_EQ(r.out, "");
    return r.err;
  }
};

TEST_F(SweepTest, EveryPointIsTheRunOfTheSameValues) {
  const CommandResult r = sweep({"--json", "--replications", "2"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  const Json doc = Json::parse(r.out);
  ASSERT_EQ(doc["points"].size(), 6);
  double best = 0;
  for (const Json& point : doc["points"]) {
    const Json& set = point["set"];
    const CommandResult one = run({"run", "s.yaml", "--json", "--replications", "2", "--set",
                                   "decode.draft_length=" + set["decode.draft_length"].dump(), "--set",
                                   "decode.keep_ratio=" + set["decode.keep_ratio"].dump()});
    Json expected = Json::parse(one.out);
    expected.erase("details");
    EXPECT_EQ(point["result"].dump(), expected.dump());
    best = std::max(best, expected["throughput"]["output_tokens_per_s"].get<double>());
  }
  EXPECT_EQ(doc["best"]["value"], best);
  EXPECT_EQ(doc["points"][doc["best"]["index"].get<std::size_t>()]["result"]["throughput"]["output_tokens_per_s"],
            best);
}

TEST_F(SweepTest, JobsChangeNoByte) {
  for (const char* jobs : {"1", "2", "3"}) {
    EXPECT_EQ(sweep({"--jobs", jobs, "--replications", "2", "--out", std::string("o") + jobs}).status, 0);
  }
  expect_same_files("o1", "o2");
  expect_same_files("o1", "o3");
  EXPECT_EQ(sweep({"--jobs", "1", "--replications", "2", "--json"}).out, read("o2/sweep.json"));
  EXPECT_EQ(sweep({"--jobs", "2", "--replications", "2", "--csv"}).out, read("o1/sweep.csv"));
}

TEST_F(SweepTest, OutHoldsTheFilesAndNoOthers) {
  EXPECT_EQ(sweep({"--out", "o"}).status, 0);
  EXPECT_EQ(names(), (Words{"o", "o/points.jsonl", "o/resolved.yaml", "o/sweep.csv", "o/sweep.json", "s.yaml"}));
}

TEST_F(SweepTest, AJournalThatWasCutResumesToTheSameFiles) {
  ASSERT_EQ(sweep({"--jobs", "1", "--out", "whole"}).status, 0);
  const std::string journal = read("whole/points.jsonl");
  const std::size_t last = journal.rfind('\n', journal.size() - 2);
  const std::size_t before = journal.rfind('\n', last - 1);
  // Around the ends of the last two lines, and within them; every byte is the runner's test.
  for (const std::size_t size : {before + 1, before + 2, (before + last) / 2, last, last + 1, journal.size() - 1}) {
    write("cut/points.jsonl", journal.substr(0, size));
    const CommandResult r = sweep({"--out", "cut", "--resume"});
    ASSERT_EQ(r.status, 0) << size << r.err;
    expect_same_files("whole", "cut");
  }
}

TEST_F(SweepTest, AJournalWithoutAWholeFirstLineBeginsAnew) {
  ASSERT_EQ(sweep({"--out", "whole"}).status, 0);
  write("cut/points.jsonl", read("whole/points.jsonl").substr(0, 100));
  EXPECT_EQ(sweep({"--out", "cut", "--resume"}).status, 0);
  expect_same_files("whole", "cut");
  EXPECT_EQ(sweep({"--out", "none", "--resume"}).status, 0);  // nothing there: nothing to go on with
  expect_same_files("whole", "none");
}

TEST_F(SweepTest, AnotherSweepIsNotResumed) {
  ASSERT_EQ(sweep({"--out", "o"}).status, 0);
  const std::string journal = read("o/points.jsonl");
  EXPECT_EQ(sweep({"--out", "o"}).err,
            "kvsim: o/points.jsonl exists: the folder holds a sweep already; --resume goes on with it, or name another "
            "folder\n");
  const std::string other = "kvsim: o/points.jsonl is the journal of another sweep: ";
  const auto resumed = [&](const Words& more) {
    Words words{"--out", "o", "--resume"};
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult r = sweep(words);
    EXPECT_EQ(r.status, 2);
    return r.err;
  };
  EXPECT_EQ(resumed({"--seed", "7"}), other + "the seed (1, now 7) differs\n");
  EXPECT_EQ(resumed({"--replications", "2"}), other + "the replications (1, now 2) differs\n");
  EXPECT_EQ(resumed({"--set", "cluster.gpu.memory_fraction=0.8"}), other + "the scenario differs\n");
  EXPECT_EQ(resumed({"--vary", "decode.resident=0,1"}), other + "the axes differs\n");
  EXPECT_EQ(resumed({"--shard", "1/2"}), other + "the shard (1/1, now 1/2) differs\n");
  EXPECT_EQ(read("o/points.jsonl"), journal);
}

TEST_F(SweepTest, SigintKeepsWhatIsFinishedAndResumeGoesOn) {
  write("s.yaml", edited(tiny_scenario(), "duration: 4 s", "duration: 120 s"));
  const Words words{"sweep", "s.yaml", "--vary", "decode.draft_length=1:60:1", "--jobs", "2"};
  Words first{KVSIM_BINARY};
  first.insert(first.end(), words.begin(), words.end());
  first.insert(first.end(), {"--out", "o"});
  for (const int signal : {SIGINT, SIGKILL}) {
    Child child(first, {"", folder()});
    const auto lines = [this] {
      const std::string text = read("o/points.jsonl");
      return std::count(text.begin(), text.end(), '\n');
    };
    const auto before = lines();
    while (lines() < before + 4) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ::kill(child.id(), signal);
    const CommandResult r = child.wait();
    EXPECT_GE(lines(), before + 4);
    EXPECT_EQ(r.out, "");
    if (signal == SIGINT) {
      EXPECT_EQ(r.status, 130);
      EXPECT_EQ(r.err, "kvsim: interrupted, " + std::to_string(lines() - 1) +
                           " of 60 points saved in o; --resume continues\n");
      EXPECT_EQ(names(), (Words{"o", "o/points.jsonl", "s.yaml"}));
      first.push_back("--resume");
    } else {
      EXPECT_EQ(r.status, 128 + SIGKILL);
    }
  }
  Words last = words;
  last.insert(last.end(), {"--out", "o", "--resume"});
  EXPECT_EQ(run(last).status, 0);
  Words whole = words;
  whole.insert(whole.end(), {"--out", "whole"});
  EXPECT_EQ(run(whole).status, 0);
  expect_same_files("whole", "o");
}

TEST_F(SweepTest, ShardsMergeToTheWhole) {
  ASSERT_EQ(sweep({"--out", "whole"}).status, 0);
  for (const char* k : {"1", "2", "3", "4"}) {
    EXPECT_EQ(sweep({"--shard", std::string(k) + "/4", "--out", std::string("part") + k}).status, 0);
  }
  EXPECT_EQ(Json::parse(read("part2/sweep.json"))["points"].size(), 2);
  const CommandResult r = run({"sweep", "--merge", "part3", "part1", "part4", "part2", "--out", "merged"});
  EXPECT_EQ(r.status, 0) << r.err;
  expect_same_files("whole", "merged");
  EXPECT_EQ(refusal({"sweep", "--merge", "part1", "part2", "part3"}),
            "kvsim: --merge: 1 of 6 points are missing from 3 journals, the first is point 3 (decode.draft_length=8, "
            "decode.keep_ratio=0.1)\n");
  EXPECT_EQ(refusal({"sweep", "--merge", "part1", "part1"}), "kvsim: --merge: part1/points.jsonl is named twice\n");
  EXPECT_EQ(refusal({"sweep", "--merge", "nowhere"}),
            "kvsim: nowhere/points.jsonl: there is no such file, expected the journal of a sweep\n");
}

TEST_F(SweepTest, PointsThatCannotBeSimulatedAreRows) {
  const CommandResult r =
      run({"sweep", "s.yaml", "--vary", "model=llama-3.1-8b,llama-3.1-70b", "--out", "o", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  const Json points = Json::parse(r.out)["points"];
  EXPECT_EQ(points[0]["status"], "done");
  EXPECT_EQ(points[1]["status"], "infeasible");
  EXPECT_TRUE(points[1]["reason"].get<std::string>().starts_with("cluster.gpu: llama-3.1-70b does not fit"));
  EXPECT_FALSE(points[1].contains("result"));
  EXPECT_NE(read("o/sweep.csv").find("\n1,llama-3.1-70b,infeasible,"), std::string::npos);
}

TEST_F(SweepTest, ASweepWithoutAnyPointThatFitsIsInfeasible) {
  const CommandResult r = run({"sweep", "s.yaml", "--vary", "model=llama-3.1-70b,deepseek-v3", "--out", "o"});
  EXPECT_EQ(r.status, 4);
  EXPECT_TRUE(
      r.err.starts_with("kvsim: no point of the sweep can be simulated; cluster.gpu: llama-3.1-70b does not fit"))
      << r.err;
  EXPECT_NE(r.out.find("infeasible"), std::string::npos);
  EXPECT_TRUE(Json::parse(read("o/sweep.json"))["best"].is_null());
}

TEST_F(SweepTest, PointsComeFromAFileToo) {
  write("p.csv",
        "decode.compressor,decode.keep_ratio,workload.context\nkvzip,0.2,8k tokens\n"
        "fast-kvzip,0.4,\"{distribution: lognormal, mean: 4k tokens, cv: 0.3}\"\n");
  const CommandResult r = run({"sweep", "s.yaml", "--points", "p.csv", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  EXPECT_EQ(doc["design"], "list");
  EXPECT_EQ(doc["points"][1]["set"]["workload.context"]["cv"], 0.3);
  write("p.csv", "decode.keep_ratio\n0.2\n2\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--points", "p.csv"}),
            "kvsim: p.csv:3:1: decode.keep_ratio: must be > 0 and <= 1, found 2\n");
}

TEST_F(SweepTest, AHypercubeSamplesAndResumes) {
  const Words words{"sweep",    "s.yaml", "--vary",   "decode.draft_length=2:20", "--vary", "decode.keep_ratio=0.1:0.9",
                    "--sample", "lhs:7",  "--metric", "latency_s.tpot.p99",       "--out",  "o"};
  ASSERT_EQ(run(words).status, 0);
  const std::string json = read("o/sweep.json");
  EXPECT_EQ(Json::parse(json)["best"]["order"], "lowest");
  const std::string journal = read("o/points.jsonl");
  write("o/points.jsonl", journal.substr(0, journal.size() / 2 * 2 - 3000));
  Words again = words;
  again.emplace_back("--resume");
  EXPECT_EQ(run(again).status, 0);
  EXPECT_EQ(read("o/sweep.json"), json);
}

TEST_F(SweepTest, MistakesAreRefusedBeforeAnythingRuns) {
  EXPECT_EQ(refusal({"sweep", "s.yaml"}),
            "kvsim: expected what to sweep: --vary PATH=VALUES, or --points FILE.csv, one of the two\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "decode.draft_lenght=1,2", "--out", "o"}),
            "kvsim: --vary decode.draft_lenght: decode: unknown key \"draft_lenght\" of decode; did you mean "
            "\"draft_length\"?\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "decode.draft_length=60:5:5"}),
            "kvsim: --vary decode.draft_length: the range is empty: a step of 5 never gets from 60 to 5\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--seed", "3"}),
            "kvsim: --vary run.seed: is also set for all points (--set, --seed, --replications), expected one of the "
            "two\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--metric", "slo.atainment"}),
            "kvsim: --metric: no result has a figure \"slo.atainment\"; did you mean \"slo.attainment\"?\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--sample", "sobol:3"}),
            "kvsim: --sample: expected lhs:N such as lhs:100, found \"sobol:3\"\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--shard", "3/2"}),
            "kvsim: --shard: expected k/n with 1 <= k <= n such as 2/3, found \"3/2\"\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--resume"}),
            "kvsim: --resume goes on with the sweep in a folder: name it with --out\n");
  EXPECT_EQ(names(), Words{"s.yaml"});
}

TEST_F(SweepTest, AFullDiskKeepsWhatIsFinishedAndResumeGoesOn) {
  ASSERT_EQ(sweep({"--jobs", "1", "--out", "whole"}).status, 0);
  // A limit on file sizes, in blocks of 512 bytes: the journal gets past its first line and not to its end.
  const std::string journal = read("whole/points.jsonl");
  const std::size_t limit = (journal.find('\n') + journal.size()) / 2 / 512;
  const CommandResult r = shell("ulimit -f " + std::to_string(limit) +
                                    "; \"$KVSIM\" sweep s.yaml --vary decode.draft_length=4:8:4 --vary "
                                    "decode.keep_ratio=0.1,0.2,0.4 --out o --jobs 1",
                                {"", folder()});
  const std::string saved = read("o/points.jsonl");
  const auto points = std::count(saved.begin(), saved.end(), '\n') - 1;
  EXPECT_GT(points, 0);
  EXPECT_TRUE(journal.starts_with(saved));
  EXPECT_TRUE(saved.ends_with('\n'));  // no line is half there
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.out, "");
  EXPECT_EQ(r.err, "kvsim: cannot write o/points.jsonl: File too large; " + std::to_string(points) +
                       " of 6 points saved in o; --resume continues\n");
  EXPECT_EQ(sweep({"--out", "o", "--resume"}).status, 0);
  expect_same_files("whole", "o");
}

TEST_F(SweepTest, AFullDeviceOnStdoutIsAnErrorAfterTheFilesAreThere) {
  const CommandResult r = kvsim({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--out", "o"}, {"/dev/full", folder()});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "kvsim: cannot write to standard output: No space left on device\n");
  EXPECT_TRUE(Json::accept(read("o/sweep.json")));
}

TEST_F(SweepTest, ThePageMarksTheBestAndDrawsTheGrid) {
  const CommandResult r = sweep({});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("\n  * "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("throughput.output_tokens_per_s: keep_ratio down, draft_length across"), std::string::npos)
      << r.out;
  EXPECT_EQ(std::count(r.out.begin(), r.out.end(), '*'), 2) << r.out;
}

}  // namespace
}  // namespace kvsim::test
