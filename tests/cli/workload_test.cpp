// kvsim workload info --curve: other policies, and times.
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tests/cli/workspace.h"

namespace kvsim::test::KVSIM_FILE {
namespace {

using Json = nlohmann::ordered_json;
using Words = std::vector<std::string>;

/// Four requests of two conversations, in blocks of 512 tokens.
constexpr const char* kTalks =
    "{\"timestamp\": 0, \"input_length\": 1100, \"output_length\": 5, \"hash_ids\": [1, 2, 3]}\n"
    "{\"timestamp\": 1000, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 8]}\n"
    "{\"timestamp\": 2000, \"input_length\": 1200, \"output_length\": 5, \"hash_ids\": [1, 2, 4]}\n"
    "{\"timestamp\": 3000, \"input_length\": 600, \"output_length\": 5, \"hash_ids\": [9, 8]}\n";

class WorkloadTest : public Workspace {
 protected:
  WorkloadTest() {
    write("talks.jsonl", kTalks);
    std::string round;
    for (const char block : std::string("12312311")) {
      round += std::string("{\"timestamp\": 0, \"input_length\": 512, \"output_length\": 5, \"hash_ids\": [") + block +
               "]}\n";
    }
    write("round.jsonl", round);
  }

  CommandResult info(const std::string& trace, const Words& words) {
    Words all{"workload", "info", trace, "--format", "mooncake"};
    all.insert(all.end(), words.begin(), words.end());
    return run(all);
  }

  void expect_refused(const Words& words, const std::string& message) {
    const CommandResult r = info("talks.jsonl", words);
    EXPECT_EQ(r.status, 2);
    EXPECT_NE(r.err.find(message), std::string::npos) << r.err;
  }
};

// Blocks 1 2 3 1 2 3 1 1, one a request: stack distances 3 3 3 3 1, so the points are 1, 2 and 3 blocks; both knees are
// at 3, which is there once. With two, LRU finds the last 1 alone; Belady leaves 3 outside and finds 1, 2, 1 and 1.
TEST_F(WorkloadTest, ACurveForEachPolicyAtTheSameCapacities) {
  const CommandResult r = info("round.jsonl", {"--curve", "--policies", "belady,lru", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out)["hit_rate_curve"]["points"].size(), 3U);
  const Json curves = Json::parse(r.out)["policy_curves"];
  ASSERT_EQ(curves.size(), 2U);
  EXPECT_EQ(curves[0]["policy"], "belady");
  EXPECT_EQ(curves[1]["policy"], "lru");
  ASSERT_EQ(curves[0]["points"].size(), 3U);
  EXPECT_EQ(curves[0]["points"][1]["blocks"], 2);
  EXPECT_TRUE(curves[0]["points"][1]["bytes"].is_null());
  EXPECT_DOUBLE_EQ(curves[0]["points"][1]["hit_rate"], 4.0 / 8);
  EXPECT_DOUBLE_EQ(curves[1]["points"][1]["hit_rate"], 1.0 / 8);
  EXPECT_DOUBLE_EQ(curves[0]["points"][2]["hit_rate"], 5.0 / 8);
  EXPECT_DOUBLE_EQ(curves[1]["points"][2]["hit_rate"], 5.0 / 8);
}

// Round and round over 20 blocks LRU finds nothing in a smaller cache, and others do.
TEST_F(WorkloadTest, ACurveHasCapacitiesBelowThoseWhereLruFindsSomething) {
  std::string loop;
  for (int i = 0; i < 60; ++i) {
    loop += fmt::format(R"({{"timestamp": {}, "input_length": 512, "output_length": 1, "hash_ids": [{}]}})", i, i % 20);
    loop += "\n";
  }
  write("loop.jsonl", loop);
  const CommandResult r = info("loop.jsonl", {"--curve", "--policies", "belady,lru", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json curves = Json::parse(r.out)["policy_curves"];
  ASSERT_EQ(curves[0]["points"].size(), 4U);
  EXPECT_EQ(curves[0]["points"][2]["blocks"], 10);
  EXPECT_GT(curves[0]["points"][2]["hit_rate"], 0.2);
  EXPECT_EQ(curves[1]["points"][2]["hit_rate"], 0);
  EXPECT_DOUBLE_EQ(curves[1]["points"][3]["hit_rate"], 40.0 / 60);
}

// A token has 131,072 bytes of KV: 1 ms to load, 10 ms to prefill. Five blocks hold 1 2 of the third request, 1,024
// tokens, and 9 8 of the fourth, 600: (1,624 x 1 ms + 1,876 x 10 ms) / 4 requests.
TEST_F(WorkloadTest, TheTimeToTheFirstTokenIsLoadingWhatIsFoundAndPrefillingTheRest) {
  const CommandResult r = info(
      "talks.jsonl", {"--curve", "--model", "llama-3.1-8b", "--read", "131.072 MB/s", "--prefill", "100/s", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const Json doc = Json::parse(r.out);
  EXPECT_FALSE(doc.contains("policy_curves"));
  const Json curve = doc["latency_curve"];
  EXPECT_DOUBLE_EQ(curve["load_s_per_token"], 0.001);
  EXPECT_DOUBLE_EQ(curve["prefill_tokens_per_s"], 100);
  EXPECT_DOUBLE_EQ(curve["mean_ttft_s_without_cache"], 3500 * 0.01 / 4);
  const Json last = curve["points"].back();
  EXPECT_EQ(last["blocks"], 5);
  EXPECT_DOUBLE_EQ(last["bytes"], 5.0 * 512 * 131072);
  EXPECT_DOUBLE_EQ(last["found_tokens"], 1624.0 / 3500);
  EXPECT_NEAR(last["mean_ttft_s"], (1.624 + 18.76) / 4, 1e-12);
}

TEST_F(WorkloadTest, OptionsThatDoNotGoTogetherAreRefused) {
  expect_refused({"--policies", "lru"}, "--policies adds hit rates to the curve: add --curve");
  expect_refused({"--model", "llama-3.1-8b"}, "--model gives the curve's capacities in bytes: add --curve");
  expect_refused({"--read", "1 GB/s"}, "add --curve");
  expect_refused({"--prefill", "1/s"}, "add --curve");
  expect_refused({"--curve", "--policies", "lru,seive"}, "unknown policy \"seive\"; did you mean \"sieve\"?");
  expect_refused({"--curve", "--policies", "clock"}, "expected one of lru, lfu, arc, s3fifo, sieve, gdsf, belady");
  expect_refused({"--curve", "--policies", "lru,arc,lru"}, "\"lru\" is named twice");
  expect_refused({"--curve", "--read", "1 GB/s"}, "needs --prefill RATE too");
  expect_refused({"--curve", "--prefill", "1/s"}, "needs --read BANDWIDTH too");
  expect_refused({"--curve", "--read", "1 GB/s", "--prefill", "1/s"}, "add --model NAME");
  const Words model{"--curve", "--model", "llama-3.1-8b"};
  const auto with = [&model](const char* read, const char* prefill) {
    Words all = model;
    all.insert(all.end(), {"--read", read, "--prefill", prefill});
    return all;
  };
  expect_refused(with("20", "1/s"), "--read: expected a bandwidth with its unit");
  expect_refused(with("0 B/s", "1/s"), "--read: must be above 0, found \"0 B/s\"");
  expect_refused(with("1 GB/s", "10 ms"), "--prefill: ");
  expect_refused(with("1 GB/s", "0/s"), "--prefill: must be above 0");
}

constexpr const char* kChat =
    "name: chat\nmodel: llama-3.1-8b\ncluster: {gpu: {type: h100-sxm}}\n"
    "workload:\n  arrivals: {process: poisson, rate: 5/s}\n  context: {distribution: lognormal, mean: 1000 tokens, cv: "
    "1}\n"
    "  output: {distribution: lognormal, mean: 200 tokens, cv: 1}\n"
    "prefill: recompute\ndecode: {policy: full_kv}\nrun: {duration: 20 s, warmup: 0 s, seed: 1}\n";

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// A rate takes two requests, a variation two gaps: nothing is no 0.
TEST_F(WorkloadTest, OneRequestHasNoRate) {
  const std::string one = "arrival_s,prompt_tokens,output_tokens\n5,100,10\n";
  write("one.csv", one);
  const Words words{"workload", "info", "one.csv", "--format", "csv"};
  const std::string page = run(words).out;
  EXPECT_NE(page.find("-  no time passes between the first request and the last"), std::string::npos) << page;
  EXPECT_EQ(page.find("/s"), std::string::npos) << page;
  Words json = words;
  json.emplace_back("--json");
  Json doc = Json::parse(run(json).out);
  EXPECT_TRUE(doc["rate_per_s"].is_null() && doc["gap_cv"].is_null()) << doc;
  write("one.csv", one + "7,100,10\n");
  doc = Json::parse(run(json).out);
  EXPECT_EQ(doc["rate_per_s"], 0.5);
  EXPECT_TRUE(doc["gap_cv"].is_null());
  write("one.csv", one + "7,100,10\n9,100,10\n");
  EXPECT_EQ(Json::parse(run(json).out)["gap_cv"], 0);
  write("s.yaml",
        "name: one\nmodel: llama-3.1-8b\ncluster: {gpu: {type: h100-sxm}}\n"
        "workload: {trace: {path: one.csv, format: csv}}\ndecode: {policy: full_kv}\nslo: {ttft_p99: 2 s}\n"
        "run: {warmup: 0 s}\n");
  write("one.csv", one);
  const CommandResult r = run({"capacity", "s.yaml"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("one.csv: there is no time between the first request and the last"), std::string::npos) << r.err;
}

TEST_F(WorkloadTest, ALogIsReadByTheNamesOfItsColumns) {
  write("log.jsonl", "{\"ts\": 1700000000, \"in\": 100, \"out\": 5}\n{\"ts\": 1700000002, \"in\": 300, \"out\": 5}\n");
  const CommandResult r =
      run({"workload", "info", "log.jsonl", "--columns", "arrival=ts,prompt=in,output=out", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out)["rate_per_s"], 0.5);
  EXPECT_EQ(Json::parse(r.out)["prompt_tokens"]["mean"], 200);
  EXPECT_EQ(Json::parse(r.out)["format"], "columns");
}

// In the order in which requests ended, with one that was aborted: half of the outputs are short, half long.
TEST_F(WorkloadTest, AServicesOwnLogIsReadSortedAndWithoutAbortedRequests) {
  std::string log = "ts,in,out\n900,7,0\n";
  for (int i = 400; i > 0; --i) log += std::to_string(i) + (i % 2 == 0 ? ",500,100\n" : ",500,1000\n");
  write("log.csv", log);
  const auto with = [&](Words words, const Words& more) {
    const Words read{"log.csv", "--columns", "arrival=ts,prompt=in,output=out,time=s"};
    words.insert(words.end(), read.begin(), read.end());
    words.insert(words.end(), more.begin(), more.end());
    return run(words);
  };
  const std::string first = "log.csv:2:7: out is 0, expected 1 to 10000000 tokens";
  EXPECT_EQ(with({"workload", "info"}, {"--sort"}).err,
            "kvsim: " + first + ", or --skip-invalid (skip_invalid: true)\n");
  const CommandResult info = with({"workload", "info"}, {"--sort", "--skip-invalid", "--json"});
  ASSERT_EQ(info.status, 0) << info.err;
  EXPECT_EQ(Json::parse(info.out)["requests"], 400);
  EXPECT_EQ(Json::parse(info.out)["left_out"], 1);
  EXPECT_NE(with({"workload", "info"}, {"--sort", "--skip-invalid"}).out.find("1 line that is no request is left out"),
            std::string::npos);
  const CommandResult fit = with({"workload", "fit"}, {"--sort", "--skip-invalid", "--out", "fitted"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  EXPECT_NE(fit.out.find("# lost: 1 line that is no request is left out; the first: " + first), std::string::npos);
  const auto values = [](const std::string& yaml) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = yaml.find(" tokens,", at)) != std::string::npos; ++at) ++count;
    return count;
  };
  EXPECT_LT(values(fit.out), 30U) << fit.out;
  EXPECT_NE(fit.out.find("20 values here"), std::string::npos) << fit.out;
  EXPECT_GT(values(read("fitted/workload.yaml")), 190U);
}

TEST_F(WorkloadTest, ALogMaySayWhichBlocksPromptsShare) {
  write("blocks.jsonl",
        "{\"ts\": 0, \"in\": 40, \"out\": 5, \"ids\": [1, 2]}\n{\"ts\": 1, \"in\": 40, \"out\": 5, \"ids\": [1, 3]}\n");
  const CommandResult r = run({"workload", "info", "blocks.jsonl", "--columns",
                               "arrival=ts,prompt=in,output=out,time=s,blocks=ids,block_size=16", "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  EXPECT_EQ(Json::parse(r.out)["block_reuse"], 0.25);
  EXPECT_EQ(Json::parse(r.out)["token_reuse"], 16.0 / 80);
}

TEST_F(WorkloadTest, ColumnsThatMakeNoSenseAreRefused) {
  const auto refused = [&](const Words& words) {
    Words all{"workload", "info", "talks.jsonl"};
    all.insert(all.end(), words.begin(), words.end());
    const CommandResult r = run(all);
    EXPECT_EQ(r.status, 2);
    return r.err;
  };
  EXPECT_EQ(refused({}),
            "kvsim: --format: expected one of `kvsim list traces`, or --columns with the names of columns\n");
  EXPECT_EQ(refused({"--columns", "arrival=a,prompt=b"}),
            "kvsim: --columns: expected the names of arrival, prompt and output\n");
  EXPECT_EQ(refused({"--columns", "arrival=a,prompt=b,output=c,blocks=d,block_size=16k"}),
            "kvsim: --columns: block_size is \"16k\", expected a whole number of tokens\n");
  EXPECT_EQ(refused({"--columns", "arrival=a,prompt=b,output=c,blocks=d,block_size=65537"}),
            "kvsim: --columns: block_size is 65537, expected 1 to 65536 tokens\n");
  EXPECT_EQ(refused({"--columns", "arrival=a,prompt=b,output=c,blocks=d"}),
            "kvsim: --columns: blocks are of a size: give block_size too\n");
  EXPECT_EQ(refused({"--columns", "arival=a"}),
            "kvsim: --columns: unknown name \"arival\"; did you mean \"arrival\"?\n");
  EXPECT_EQ(refused({"--columns", "arrival"}),
            "kvsim: --columns: found \"arrival\", expected names such as arrival=ts,prompt=in,output=out\n");
  EXPECT_EQ(refused({"--columns", "arrival=a,arrival=b"}), "kvsim: --columns: \"arrival\" is named twice\n");
  EXPECT_EQ(refused({"--columns", "arrival=a,prompt=b,output=c,time=hours"}).substr(0, 38),
            "kvsim: --columns: unknown time \"hours\"");
  EXPECT_EQ(refused({"--columns", "arrival=a,prompt=b,output=c", "--format", "csv"}),
            "kvsim: --columns: format csv has its own\n");
  EXPECT_EQ(refused({"--format", "columns"}),
            "kvsim: --format columns: give --columns arrival=NAME,prompt=NAME,output=NAME\n");
  EXPECT_EQ(refused({"--columns", "arrival=ts,prompt=input_length,output=output_length"}),
            "kvsim: talks.jsonl:1:1: ts is missing, expected an object with ts, input_length, output_length\n");
}

TEST_F(WorkloadTest, WhatIsFittedIsAWorkloadThatCheckAccepts) {
  write("chat.yaml", kChat);
  ASSERT_EQ(run({"workload", "generate", "chat.yaml", "--requests", "3000", "--out", "chat.csv"}).status, 0);
  const CommandResult fit = run({"workload", "fit", "chat.csv", "--format", "csv", "--out", "fitted"});
  ASSERT_EQ(fit.status, 0) << fit.err;
  EXPECT_EQ(fit.out, read("fitted/workload.yaml"));
  EXPECT_NE(fit.out.find("# Fitted to 3,000 requests of chat.csv (format csv); intervals are 99 %"), std::string::npos)
      << fit.out;
  EXPECT_NE(fit.out.find("\n  arrivals: {process: poisson, rate: "), std::string::npos) << fit.out;
  EXPECT_EQ(Json::parse(read("fitted/fit.json"))["requests"], 3000);
  for (const char* chart : {"fitted/prompts.svg", "fitted/outputs.svg", "fitted/arrivals.svg"}) {
    EXPECT_NE(read(chart).find("<svg"), std::string::npos) << chart;
  }
  const std::string text = kChat;
  const std::size_t begin = text.find("workload:"), end = text.find("prefill:");
  write("fitted.yaml", text.substr(0, begin) + fit.out + text.substr(end));
  const CommandResult check = run({"check", "fitted.yaml"});
  EXPECT_EQ(check.status, 0) << check.err;
}

TEST_F(WorkloadTest, ATraceThatEndsBeforeTheRequestsAskedForSaysSo) {
  write("three.csv", "arrival_s,prompt_tokens,output_tokens\n0,10,1\n1,10,1\n2,10,1\n");
  const std::string text = kChat;
  write("three.yaml", text.substr(0, text.find("workload:")) + "workload: {trace: {format: csv, path: three.csv}}\n" +
                          text.substr(text.find("prefill:")));
  const CommandResult r = run({"workload", "generate", "three.yaml", "--requests", "5"});
  EXPECT_EQ(r.status, 0);
  EXPECT_EQ(lines_in(r.out), 4U);
  EXPECT_EQ(r.err, "kvsim: warning: three.yaml ends after 3 requests: --requests asks for 5\n");
  EXPECT_EQ(run({"workload", "generate", "three.yaml", "--requests", "3"}).err, "");
}

TEST_F(WorkloadTest, GenerateWritesWhatASimulationWouldGet) {
  write("chat.yaml", kChat);
  const CommandResult all = run({"workload", "generate", "chat.yaml"});
  ASSERT_EQ(all.status, 0) << all.err;
  EXPECT_TRUE(all.out.starts_with("arrival_s,prompt_tokens,output_tokens\n"));
  // 5/s for 20 s: as many as arrive in a run.
  const Json result = Json::parse(run({"run", "chat.yaml", "--json"}).out);
  EXPECT_EQ(lines_in(all.out) - 1, result["requests"]["arrived"].get<std::size_t>()) << result["requests"];
  const CommandResult some = run({"workload", "generate", "chat.yaml", "--requests", "7"});
  EXPECT_EQ(lines_in(some.out), 8U);
  EXPECT_TRUE(all.out.starts_with(some.out));
  EXPECT_NE(run({"workload", "generate", "chat.yaml", "--requests", "7", "--seed", "2"}).out, some.out);
  EXPECT_EQ(run({"workload", "generate", "chat.yaml", "--requests", "7", "--set", "run.seed=2"}).out,
            run({"workload", "generate", "chat.yaml", "--requests", "7", "--seed", "2"}).out);
  EXPECT_EQ(run({"workload", "generate", "chat.yaml", "--requests", "7", "--out", "t.csv.gz"}).status, 0);
  EXPECT_EQ(shell("gzip -dc t.csv.gz", {"", folder()}).out, some.out);
}

TEST_F(WorkloadTest, ATraceIsWrittenInAnotherFormatWithWhatItsPromptsShare) {
  write("talks.yaml",
        edited(kChat,
               "  arrivals: {process: poisson, rate: 5/s}\n  context: {distribution: lognormal, mean: 1000 "
               "tokens, cv: 1}\n  output: {distribution: lognormal, mean: 200 tokens, cv: 1}\n",
               "  trace: {format: mooncake, path: talks.jsonl}\n"));
  ASSERT_EQ(run({"workload", "generate", "talks.yaml", "--format", "bailian", "--out", "t.jsonl"}).status, 0);
  const Json doc = Json::parse(run({"workload", "info", "t.jsonl", "--format", "bailian", "--json"}).out);
  EXPECT_EQ(doc["requests"], 4);
  // 1 2 of the third request and 9 8 of the fourth: 1,024 + 600 of 3,500 tokens.
  EXPECT_DOUBLE_EQ(doc["token_reuse"], 1624.0 / 3500);
}

TEST_F(WorkloadTest, WhatHasNoTraceIsRefused) {
  write("tiny.yaml", tiny_scenario());
  write("chat.yaml", kChat);
  const auto refused = [&](const Words& words) {
    Words all{"workload", "generate"};
    all.insert(all.end(), words.begin(), words.end());
    const CommandResult r = run(all);
    EXPECT_EQ(r.status, 2) << r.out;
    return r.err;
  };
  EXPECT_EQ(refused({"tiny.yaml"}),
            "kvsim: tiny.yaml: workload.closed: in a closed loop requests arrive when others are done, which only a "
            "simulation knows: give workload.arrivals, or a trace\n");
  EXPECT_EQ(
      refused({"chat.yaml", "--format", "weka"}),
      "kvsim: format weka has a session a line, and how long each call took: write bailian, which keeps sessions\n");
  EXPECT_EQ(refused({"chat.yaml", "--out", "chat.yaml", "--force"}).substr(0, 12), "kvsim: --out");
}

TEST_F(WorkloadTest, AFolderOfServeGensIsDrawnFrom) {
  write("gen/chunk-1-trace.csv", "0,4,1,Gamma,1,0.25\n600,4,1,Gamma,1,0.25\n");
  write("gen/chunk-1-dataset.json", "{\"0\": {\"input_tokens\": \"{100: 1}\", \"output_tokens\": \"{7: 1}\"}}");
  write("chat.yaml", kChat);
  const CommandResult made =
      run({"workload", "generate", "gen", "--from", "5 min", "--until", "20 min", "--requests", "9"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(lines_in(made.out), 10U);
  EXPECT_NE(made.out.find(",100,7\n"), std::string::npos) << made.out;
  const auto refused = [&](const Words& words) {
    Words all{"workload", "generate"};
    all.insert(all.end(), words.begin(), words.end());
    const CommandResult r = run(all);
    EXPECT_EQ(r.status, 2) << r.out;
    return r.err;
  };
  EXPECT_EQ(refused({"gen"}), "kvsim: --until: expected the end of the time to draw, such as \"1 h\"\n");
  EXPECT_EQ(refused({"gen", "--until", "1 h"}),
            "kvsim: --until: is 3600 s, expected above 0 s (--from), at most 1200 s, where the windows end\n");
  EXPECT_EQ(refused({"gen", "--until", "1 min", "--set", "run.seed=2"}),
            "kvsim: --set: changes a scenario, which ServeGen's folder is not\n");
  EXPECT_EQ(refused({"chat.yaml", "--until", "1 min"}),
            "kvsim: --until: is of ServeGen's folders, not of a scenario\n");
}

// Two sessions of two turns, 10 s apart: the second comes 3 s after an answer, which takes 1 s.
TEST_F(WorkloadTest, TurnsOfSessionsAreWrittenWhereEveryAnswerTakesTheSameTime) {
  write("users.yaml",
        "name: t\nmodel: llama-3.1-8b\ncluster: {gpu: {type: h100-sxm}}\nworkload:\n  arrivals: {process: constant, "
        "rate: 0.1/s}\n  context: 600 tokens\n  output: 40 tokens\n  sessions: {turns: 2, growth: 160 tokens, "
        "think_time: 3 s, count: 2}\nprefill: recompute\ndecode: {policy: full_kv}\n");
  const auto generate = [&](const Words& more) {
    Words all{"workload", "generate", "users.yaml"};
    all.insert(all.end(), more.begin(), more.end());
    return run(all);
  };
  const CommandResult made = generate({"--answer-time", "1 s"});
  ASSERT_EQ(made.status, 0) << made.err;
  EXPECT_EQ(made.out, "arrival_s,prompt_tokens,output_tokens\n10,600,40\n14,800,40\n20,600,40\n24,800,40\n");
  EXPECT_EQ(lines_in(generate({"--answer-time", "0s", "--requests", "3"}).out), 4U);
  // As a trace with blocks, the second prompt begins with the whole blocks of the first.
  const CommandResult blocks = generate({"--answer-time", "1 s", "--format", "bailian", "--requests", "2"});
  ASSERT_EQ(blocks.status, 0) << blocks.err;
  EXPECT_NE(blocks.out.find("\"parent_chat_id\": 0, \"timestamp\": 14"), std::string::npos) << blocks.out;
  const CommandResult refused = generate({});
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.err.find("give --answer-time, such as 0s or 5s, which all answers then take"), std::string::npos)
      << refused.err;
  EXPECT_NE(generate({"--answer-time", "-1 s"}).err.find("--answer-time: must be 0 or more"), std::string::npos);
  write("chat.yaml", kChat);
  EXPECT_NE(run({"workload", "generate", "chat.yaml", "--answer-time", "1 s"}).err.find("of workloads with sessions"),
            std::string::npos);
}

TEST_F(WorkloadTest, SubAgentsOfARecordingAreNotWrittenForNobodyKnowsWhenTheyEnd) {
  write("log.csv", "ts,in,out,sid,by\n0,100,5,a,\n1,90,5,b,a\n2,80,5,c,a\n9,200,5,a,\n");
  write("agents.yaml",
        "name: t\nmodel: llama-3.1-8b\ncluster: {gpu: {type: h100-sxm}}\nworkload:\n  trace: {format: columns, path: "
        "log.csv, sessions: true, columns: {arrival: ts, prompt: in, output: out, session: sid, parent: by, time: "
        "s}}\nprefill: recompute\ndecode: {policy: full_kv}\n");
  const CommandResult r = run({"workload", "generate", "agents.yaml", "--answer-time", "1 s"});
  EXPECT_EQ(r.status, 2);
  EXPECT_NE(r.err.find("agents.yaml: workload.trace.sessions: which of the sub-agents is the last to end"),
            std::string::npos)
      << r.err;
}

TEST_F(WorkloadTest, RequestsOfNoSessionAreWrittenBesideSessions) {
  write("log.csv", "ts,in,out,sid\n0,100,5,a\n1,90,5,\n4,200,5,a\n9,80,5,\n");
  write("mixed.yaml",
        "name: t\nmodel: llama-3.1-8b\ncluster: {gpu: {type: h100-sxm}}\nworkload:\n  trace: {format: columns, path: "
        "log.csv, sessions: true, columns: {arrival: ts, prompt: in, output: out, session: sid, time: s}}\nprefill: "
        "recompute\ndecode: {policy: full_kv}\n");
  const CommandResult r = run({"workload", "generate", "mixed.yaml", "--answer-time", "1 s"});
  EXPECT_EQ(r.out, "arrival_s,prompt_tokens,output_tokens\n0,100,5\n1,90,5\n5,200,5\n9,80,5\n") << r.err;
}

// A trace beside itself: nothing is apart.
TEST_F(WorkloadTest, TwoTracesBesideEachOther) {
  write("a.csv", "arrival_s,prompt_tokens,output_tokens\n0,100,10\n1,200,20\n2,300,30\n");
  const CommandResult same = run({"workload", "compare", "a.csv", "a.csv", "--format", "csv", "--json"});
  ASSERT_EQ(same.status, 0) << same.err;
  const Json comparison = Json::parse(same.out);
  for (const Json& figure : comparison["figures"]) {
    EXPECT_EQ(figure["a"], figure["b"]) << figure;
    if (!figure["distance"].is_null()) {
      EXPECT_EQ(figure["distance"], 0) << figure;
    }
  }
  const CommandResult other =
      run({"workload", "compare", "talks.jsonl", "a.csv", "--format", "mooncake", "--format-b", "csv"});
  ASSERT_EQ(other.status, 0) << other.err;
  EXPECT_NE(other.out.find("A talks.jsonl, B a.csv"), std::string::npos) << other.out;
  EXPECT_NE(other.out.find("token_reuse"), std::string::npos) << other.out;
}

TEST_F(WorkloadTest, HelpNamesThePolicies) {
  EXPECT_NE(run({"workload", "info", "--help"}).out.find("lru, lfu, arc, s3fifo, sieve, gdsf, belady"),
            std::string::npos);
}

}  // namespace
}  // namespace kvsim::test::KVSIM_FILE
