// kvsim sweep end to end: the same figures as run, the same bytes at any number of threads, mistakes refused.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "tests/cli/sweep_workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

TEST_F(SweepTest, EveryPointIsTheRunOfTheSameValues) {
  const CommandResult r = sweep({"--json", "--replications", "2"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.err, "");
  const Json doc = Json::parse(r.out);
  ASSERT_EQ(doc["points"].size(), 6);
  double best = 0;
  std::size_t highest = 0;
  for (const Json& point : doc["points"]) {
    const Json& set = point["set"];
    const CommandResult one = run({"run", "s.yaml", "--json", "--replications", "2", "--set",
                                   "decode.draft_length=" + set["decode.draft_length"].dump(), "--set",
                                   "decode.keep_ratio=" + set["decode.keep_ratio"].dump()});
    Json expected = Json::parse(one.out);
    for (const char* of_a_run_alone : {"timeline", "details"}) expected.erase(of_a_run_alone);
    EXPECT_EQ(point["result"].dump(), expected.dump());
    const double tokens = expected["throughput"]["output_tokens_per_s"];
    if (tokens > best) highest = point["index"];
    best = std::max(best, tokens);
  }
  const std::size_t chosen = doc["best"]["index"];
  const Json& even = doc["best"]["even"];
  EXPECT_TRUE(chosen == highest || std::find(even.begin(), even.end(), highest) != even.end());
  EXPECT_EQ(doc["points"][chosen]["result"]["throughput"]["output_tokens_per_s"], doc["best"]["value"]);
}

TEST_F(SweepTest, PointsThatCostDifferentlyHaveTheirCostBesideThem) {
  const Words machines{"sweep",  "s.yaml",
                       "--vary", "cluster.gpu.type=h100-sxm,a100",
                       "--set",  "decode.policy=full_kv",
                       "--set",  "schedule.policy=fcfs"};
  const auto with = [&](const Words& more) {
    Words words = machines;
    words.insert(words.end(), more.begin(), more.end());
    const CommandResult r = run(words);
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out;
  };
  EXPECT_NE(with({}).find("$ per 1M"), std::string::npos);
  EXPECT_NE(with({"--metric", "cost.usd_per_1m_output_tokens"}).find("by the lowest cost.usd_per_1m_output_tokens"),
            std::string::npos);
  EXPECT_NE(with({"--csv"}).find("cost.usd_per_hour"), std::string::npos);
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

TEST_F(SweepTest, TheBaseNeedNotBeWorkableItself) {
  // Its policies do not go together, its model does not fit, its trace is missing: what points put right.
  EXPECT_EQ(run({"sweep", "s.yaml", "--set", "decode.policy=full_kv", "--vary", "schedule.policy=fcfs"}).status, 0);
  CommandResult r = run({"sweep", "s.yaml", "--set", "model=llama-3.1-70b", "--vary", "cluster.gpu.tensor_parallel=1,4",
                         "--json", "--out", "o"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out)["points"][0]["status"], "infeasible");
  EXPECT_NE(read("o/resolved.yaml").find("tensor_parallel: 4"), std::string::npos);
  write("t.csv", "arrival_s,prompt_tokens,output_tokens\n0,1000,10\n1,1000,10\n");
  const std::string closed = "closed: {concurrency: 4}\n  context: {mean: 8k tokens}\n  output: {mean: 64 tokens}";
  write("t.yaml", edited(tiny_scenario(), closed, "trace: {format: csv, path: lacks.csv}"));
  r = run({"sweep", "t.yaml", "--vary", "workload.trace.path=t.csv", "--vary", "cluster.replicas=1,2"});
  EXPECT_EQ(r.status, 0) << r.err;
  // What is set for all points gives way to an axis.
  r = run({"sweep", "s.yaml", "--set", "decode.keep_ratio=0.3", "--vary", "decode.keep_ratio=0.1", "--json"});
  EXPECT_EQ(Json::parse(r.out)["points"][0]["set"]["decode.keep_ratio"], 0.1);
  EXPECT_NE(refusal({"sweep", "t.yaml", "--vary", "cluster.replicas=1,2"}).find("lacks.csv: cannot be opened"),
            std::string::npos);
  write("bad.yaml", edited(tiny_scenario(), "draft_length: 8", "draft_lenght: 8"));
  EXPECT_TRUE(refusal({"sweep", "bad.yaml", "--vary", "cluster.replicas=1,2"}).starts_with("kvsim: bad.yaml:11:"));
  EXPECT_EQ(run({"sweep", "s.yaml", "--set", "model=llama-3.1-70b", "--vary", "run.seed=1,2"}).status, 4);
}

TEST_F(SweepTest, CaveatsBelongToTheirValues) {
  write("s.yaml", "assumptions: [as an author has it]\n" + tiny_scenario());
  const CommandResult r = run({"sweep", "s.yaml", "--vary", "cluster.gpu.type=h100-sxm,l40s", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  EXPECT_EQ(doc["assumptions"][0], "as an author has it");
  bool marked = false;
  for (const char* list : {"assumptions", "fallbacks"}) {
    for (const Json& text : doc[list]) marked |= text.get<std::string>().starts_with("cluster.gpu.type=l40s: ");
  }
  EXPECT_TRUE(marked) << doc["assumptions"] << doc["fallbacks"];
  ASSERT_FALSE(doc["how_sure"].empty());
  EXPECT_NE(doc["how_sure"][0].get<std::string>().find("nine times in ten"), std::string::npos) << doc["how_sure"];
}

TEST_F(SweepTest, TheExamplesOfThePageRun) {
  EXPECT_EQ(run({"sweep", "s.yaml", "--vary", "cluster.gpu.type.memory=80 GB,96 GB"}).status, 0);
  write("policies.csv",
        "decode.policy,schedule.policy\nfull_kv,fcfs\ndraft_verify,staggered\ndraft_verify,lock_step\n");
  const CommandResult r = run({"sweep", "s.yaml", "--points", "policies.csv"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(r.out.find("infeasible"), std::string::npos) << r.out;
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
            "kvsim: --vary run.seed: is also set for all points (--seed, --replications), expected one of the two\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--metric", "slo.atainment"}),
            "kvsim: --metric: no point of a sweep has a figure \"slo.atainment\"; did you mean \"slo.attainment\"?\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--metric", "fetch.hidden", "--out", "none"}),
            "kvsim: --metric: no point has a figure \"fetch.hidden\": it is there where KV is fetched from host memory "
            "or a storage node\n");
  EXPECT_EQ(
      refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--metric", "speculation.rounds"}),
      "kvsim: --metric: \"speculation.rounds\" cannot rank points: neither more nor less of it is better (rounds of "
      "drafting that were verified); kvsim list metrics tells which have a direction\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--sample", "sobol:3"}),
            "kvsim: --sample: expected lhs:N such as lhs:100, found \"sobol:3\"\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--shard", "3/2"}),
            "kvsim: --shard: expected k/n with 1 <= k <= n such as 2/3, found \"3/2\"\n");
  EXPECT_EQ(refusal({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--resume"}),
            "kvsim: --resume goes on with the sweep in a folder: name it with --out\n");
  EXPECT_EQ(names(), Words{"s.yaml"});
}

TEST_F(SweepTest, AFullDeviceOnStdoutIsAnErrorAfterTheFilesAreThere) {
  const CommandResult r = kvsim({"sweep", "s.yaml", "--vary", "run.seed=1,2", "--out", "o"}, {"/dev/full", folder()});
  EXPECT_EQ(r.status, 1);
  EXPECT_EQ(r.err, "kvsim: cannot write to standard output: No space left on device\n");
  EXPECT_TRUE(Json::accept(read("o/sweep.json")));
}

TEST_F(SweepTest, ThePageMarksTheBestAndDrawsTheGrid) {
  const CommandResult r = sweep({"--details"});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_NE(r.out.find("\n  * "), std::string::npos) << r.out;
  EXPECT_NE(r.out.find("throughput.output_tokens_per_s: keep_ratio down, draft_length across"), std::string::npos)
      << r.out;
  const auto even = Json::parse(sweep({"--json"}).out)["best"]["even"].size();
  const auto stars = static_cast<std::size_t>(std::count(r.out.begin(), r.out.end(), '*'));
  EXPECT_EQ(stars, 2 * (1 + even)) << r.out;  // in the table and on the map
  EXPECT_NE(r.out.find("even with it, within the 95 % intervals: point"), std::string::npos) << r.out;
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
