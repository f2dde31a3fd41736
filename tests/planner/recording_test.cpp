// Recorded runs: reading them, what is refused, the scenario that replays one, and a recording beside its replay.
#include "planner/backtest/recording.h"

#include <gtest/gtest.h>

#include <functional>

#include <fmt/format.h>

#include "models/schema/yaml.h"
#include "planner/backtest/backtest.h"
#include "sim/scenario/scenario.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"
#include "tests/scenario/temporary_folder.h"

namespace kvsim::planner::backtest::KVSIM_FILE {
namespace {

const std::string kHeader = "arrival_s,prompt_tokens,output_tokens,first_token_s,last_token_s\n";
const std::string kTwo = kHeader + "0.5,100,11,1.0,2.0\n1.5,200,21,2.4,4.4\n";

// Sent at 1000 and 1001 s on one clock, queued at 10.5 and 11.6 on another: offset -989.5, so that the second one took
// 0.1 s to be queued. First tokens after 0.5 and 0.9 s, last ones 1 and 2 s later over 10 and 20 gaps.
std::string json_line(double sent, double queued, double first, double last, std::int64_t output) {
  return fmt::format(
      R"({{"request_id": "r", "arrival_time": {}, "input_toks": 100, "output_toks": {}, "queued_ts": {}, )"
      R"("first_token_ts": {}, "last_token_ts": {}}})"
      "\n",
      sent, output, queued, first, last);
}
const std::string kJsonLines = json_line(1000, 10.5, 11, 12, 11) + json_line(1001, 11.6, 12.4, 14.4, 21);
const std::string kSeries = "t,prompt_throughput,gen_throughput,running,waiting,kv_cache_pct\n";

std::string complaint(const std::function<void()>& action) {
  try {
    action();
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "(none)";
}

std::string refusal(const std::string& text, const std::string& name = "r.csv") {
  return complaint([&] { static_cast<void>(read_recorded_requests_text(text, name)); });
}

std::string load_refusal(const std::string& rows) {
  return complaint([&] { static_cast<void>(read_recorded_load_text(kSeries + rows, "t.csv", 0)); });
}

class RecordingFolder : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  kvsim::testing::TemporaryFolder folder_;
};

TEST(Recordings, OfOneClockByHand) {
  const Recording r = read_recorded_requests_text(kTwo, "r.csv");
  EXPECT_EQ(r.format, "csv");
  EXPECT_EQ(r.path, "r.csv");
  EXPECT_EQ(r.requests, 2);
  EXPECT_EQ(r.longest_prompt, 200);
  EXPECT_EQ(r.longest_output, 21);
  EXPECT_NEAR(r.ttft_s.min(), 0.5, 1e-9);
  EXPECT_NEAR(r.ttft_s.max(), 0.9, 1e-9);
  EXPECT_NEAR(r.e2e_s.max(), 2.9, 1e-9);
  EXPECT_NEAR(r.tpot_s.mean(), 0.1, 1e-9);
  EXPECT_NEAR(r.output_tokens_per_s, 32 / 3.9, 1e-9);
}

TEST(Recordings, OfTwoClocksByHand) {
  const Recording r = read_recorded_requests_text(kJsonLines, "r.jsonl");
  EXPECT_EQ(r.format, "vllm_bench");
  EXPECT_NEAR(r.ttft_s.min(), 0.5, 1e-9);
  EXPECT_NEAR(r.ttft_s.max(), 0.9, 1e-9);
  EXPECT_NEAR(r.e2e_s.max(), 2.9, 1e-9);
  EXPECT_NEAR(r.tpot_s.mean(), 0.1, 1e-9);
}

TEST(Recordings, OfOneTokenEachHaveNoTpot) {
  const Recording r = read_recorded_requests_text(kHeader + "0,100,1,1,1\n", "r.csv");
  EXPECT_TRUE(r.tpot_s.empty());
  EXPECT_EQ(r.ttft_s.count(), 1U);
}

TEST(Recordings, WithoutAColumnAreRefused) {
  EXPECT_EQ(refusal("arrival_s,prompt_tokens,output_tokens,first_token_s\n0,1,1,1\n"),
            "r.csv:1:1: the column last_token_s is missing, expected a header with the columns arrival_s, "
            "prompt_tokens, output_tokens, first_token_s, last_token_s; found arrival_s, prompt_tokens, output_tokens, "
            "first_token_s");
  EXPECT_EQ(refusal("{\"arrival_time\": 1}\n", "r.jsonl"),
            "r.jsonl:1:1: input_toks is missing, expected a request with arrival_time, input_toks, output_toks, "
            "queued_ts, first_token_ts, last_token_ts");
  EXPECT_EQ(refusal(kHeader), "r.csv: has no requests, expected a recorded run");
  EXPECT_EQ(refusal("", "r.jsonl"), "r.jsonl: has no requests, expected a recorded run");
}

TEST(Recordings, WhoseTimeGoesBackAreRefused) {
  EXPECT_EQ(refusal(kHeader + "1,9,9,2,3\n0.5,9,9,2,3\n"),
            "r.csv:3:1: arrival_s lies before that of the line above, expected requests in the order in which they "
            "were sent");
  EXPECT_EQ(refusal(json_line(5, 5, 6, 7, 2) + json_line(4, 5, 6, 7, 2), "r.jsonl"),
            "r.jsonl:2:1: arrival_time lies before that of the line above, expected requests in the order in which "
            "they were sent");
  EXPECT_EQ(refusal(kHeader + "-1,9,9,2,3\n"), "r.csv:2:1: arrival_s is negative, expected a time since the start");
}

TEST(Recordings, WhoseTokensComeBeforeTheRequestAreRefused) {
  EXPECT_EQ(refusal(kHeader + "1,9,9,0.5,3\n"),
            "r.csv:2:7: first_token_s lies before arrival_s, expected a later time");
  EXPECT_EQ(refusal(kHeader + "1,9,9,4,3\n"),
            "r.csv:2:9: last_token_s lies before first_token_s, expected a later time");
  EXPECT_EQ(refusal(json_line(5, 5, 4, 7, 2), "r.jsonl"),
            "r.jsonl:1:1: first_token_ts lies before queued_ts, expected a later time");
  EXPECT_EQ(refusal(json_line(5, 5, 7, 6, 2), "r.jsonl"),
            "r.jsonl:1:1: last_token_ts lies before first_token_ts, expected a later time");
}

TEST(Recordings, WithImpossibleNumbersAreRefused) {
  EXPECT_EQ(refusal(kHeader + "1,-9,9,2,3\n"), "r.csv:2:3: prompt_tokens is -9, expected 1 to 10000000 tokens");
  EXPECT_EQ(refusal(kHeader + "1,9,0,2,3\n"), "r.csv:2:5: output_tokens is 0, expected 1 to 10000000 tokens");
  EXPECT_EQ(refusal(kHeader + "1,9,1.5,2,3\n"),
            "r.csv:2:5: output_tokens is \"1.5\", expected a whole number of tokens");
  EXPECT_EQ(refusal(kHeader + "1,9,9,nan,3\n"), "r.csv:2:7: first_token_s is nan, expected a time in seconds");
  EXPECT_EQ(refusal(kHeader + "1,9,9,2,inf\n"), "r.csv:2:9: last_token_s is inf, expected a time in seconds");
  EXPECT_EQ(refusal(kHeader + "0,9,9,0,0\n"),
            "r.csv: ends when it begins, expected a last token after the first request was sent");
  EXPECT_EQ(refusal(json_line(5, 5, 6, 7, -2), "r.jsonl"),
            "r.jsonl:1:1: output_toks is -2, expected 1 to 10000000 tokens");
  EXPECT_EQ(refusal("[1]\n", "r.jsonl"),
            "r.jsonl:1:1: is no JSON object, expected a request with arrival_time, input_toks, output_toks, "
            "queued_ts, first_token_ts, last_token_ts");
  EXPECT_EQ(refusal(R"({"arrival_time": "now"})", "r.jsonl"),
            "r.jsonl:1:1: arrival_time is string, expected a number (the last line has no line end: the file may be "
            "cut off)");
}

TEST(Recordings, LoadThatIsNoneIsRefused) {
  EXPECT_EQ(load_refusal("1,0,0,1,1,50\n1,0,0,1,1,50\n"),
            "t.csv:3:1: t is not later than in the line above, expected rising times");
  EXPECT_EQ(load_refusal("1,0,0,-1,1,50\n"), "t.csv:2:7: running is -1, expected a number of 0 or more");
  EXPECT_EQ(load_refusal("1,0,0,1,1,101\n"), "t.csv:2:11: kv_cache_pct is 101, expected 0 to 100");
  EXPECT_EQ(load_refusal(""), "t.csv: has no rows");
}

TEST_F(RecordingFolder, ItsLoadCountsFromTheClocksStart) {
  write("requests.jsonl", kJsonLines);
  write("meta.json", R"({"started_at": "1970-01-01T00:16:39.750000Z"})");
  write("timeseries.csv", kSeries + "1.0,5,6,2,1,0.5\n");
  const Recording r = read_recorded_run(folder_.path());
  ASSERT_EQ(r.load.size(), 1U);
  EXPECT_NEAR(r.load[0].at_s, 0.75, 1e-9);  // 16 min 39.75 s to 1000 s
  EXPECT_EQ(r.load[0].running, 2);
  EXPECT_EQ(r.load[0].output_tokens_per_s, 6);
  write("meta.json", R"({"started_at": "today"})");
  EXPECT_EQ(complaint([&] { static_cast<void>(read_recorded_run(folder_.path())); }),
            folder_.path() + "/meta.json: started_at is \"today\", expected a UTC time");
  write("meta.json", "{");
  EXPECT_EQ(complaint([&] { static_cast<void>(read_recorded_run(folder_.path())); }),
            folder_.path() + "/meta.json: is no JSON object, or cannot be read");
}

TEST_F(RecordingFolder, ItsScenarioHasWhatServedIt) {
  write("requests.jsonl", kJsonLines);
  write("meta.json", R"({"model": "meta-llama/Llama-3.1-8B", "vllm_version": "0.19.0",
    "engine_kwargs": {"max_num_seqs": 7, "max_num_batched_tokens": 1024, "dtype": "bfloat16", "tensor_parallel_size": 2},
    "kv_cache": {"num_gpu_blocks": 101, "block_size": 32, "enable_prefix_caching": false},
    "hardware": {"device_name": "NVIDIA GeForce RTX 4090"}})");
  const std::vector<ServingPoint> points = read_points(folder_.path());
  ASSERT_EQ(points.size(), 1U);
  EXPECT_EQ(points[0].requests, 2);
  EXPECT_NEAR(*points[0].ttft_s, 0.7, 1e-9);
  const PointScenario s = point_scenario(points[0], Published::built_in(), models::Catalogue::built_in());
  EXPECT_EQ(s.out_of_scope, "");
  EXPECT_EQ(s.group, (PointGroup{"llama-3.1-8b", "rtx-4090", "vllm", "bf16", "tp2"}));
  const scenario::Scenario loaded = scenario::load_scenario_text(to_yaml(s.document), "point");
  EXPECT_EQ(loaded.trace->size(), 2U);
  EXPECT_EQ(loaded.serving.schedule.max_requests, 7);
  EXPECT_EQ(loaded.serving.schedule.max_batched_tokens, 1024);
  EXPECT_FALSE(loaded.serving.schedule.caches_preempted());
  const serving::KvCapacity k = serving::kv_capacity(loaded.serving, loaded.serving.cluster.groups.front());
  EXPECT_EQ(k.block_tokens, 32);
  EXPECT_EQ(k.blocks, 100);  // one is the engine's own
  EXPECT_EQ(loaded.assumptions.back(), "100 blocks of KV, as recorded");
  write("meta.json", R"({"model": "meta-llama/Llama-3.1-8B", "engine_kwargs": {"max_num_seqs": -7}})");
  EXPECT_EQ(complaint([&] {
              static_cast<void>(read_points(folder_.path(), {{"system", "h200"}}));
            }),
            folder_.path() +
                "/meta.json: /engine_kwargs/max_num_seqs is -7, expected a whole number from 1 to "
                "100000000");
}

TEST_F(RecordingFolder, WhatAReplayCannotSayIsOutOfScope) {
  write("requests.jsonl", kJsonLines);
  const auto reason = [&](const std::string& settings) {
    write("meta.json",
          R"({"model": "meta-llama/Llama-3.1-8B", "hardware": {"device_name": "NVIDIA GeForce RTX 4090"}, )" +
              settings + "}");
    const ServingPoint p = read_points(folder_.path()).at(0);
    return point_scenario(p, Published::built_in(), models::Catalogue::built_in()).out_of_scope;
  };
  EXPECT_EQ(reason(R"("other": {"speculative_config": null, "enforce_eager": false})"), "");
  EXPECT_EQ(reason(R"("engine_kwargs": {"kv_cache_dtype": "fp8"})"), "");
  EXPECT_EQ(reason(R"("engine_kwargs": {"quantization": "fp8"})"), "weights that the engine quantised");
  EXPECT_EQ(reason(R"("other": {"speculative_config": {"num_speculative_tokens": 3}})"), "speculative decoding");
  EXPECT_EQ(reason(R"("engine_kwargs": {"data_parallel_size": 2})"), "data-parallel ranks");
  EXPECT_EQ(reason(R"("engine_kwargs": {"kv_cache_dtype": "int3"})"), "KV in int3");
  EXPECT_EQ(reason(R"("other": {"enforce_eager": true})"), "an engine without CUDA graphs");
  EXPECT_EQ(reason(R"("scheduler_config": {"async_scheduling": false})"), "synchronous scheduling");
  EXPECT_EQ(reason(R"("scheduler_config": {"enable_chunked_prefill": false})"), "whole prompts");
}

TEST_F(RecordingFolder, ItsScenarioSaysWhereRecordedMemoryIsMoreThanThereIs) {
  write("requests.jsonl", kJsonLines);
  write("meta.json", R"({"model": "meta-llama/Llama-3.1-8B", "kv_cache": {"num_gpu_blocks": 10000000}})");
  const ServingPoint p = read_points(folder_.path(), {{"system", "rtx-4090"}}).at(0);
  const PointScenario s = point_scenario(p, Published::built_in(), models::Catalogue::built_in());
  const scenario::Scenario loaded = scenario::load_scenario_text(to_yaml(s.document), "point");
  EXPECT_EQ(loaded.assumptions.back(), "the recorded 9999999 blocks of KV do not fit: as many as GPUs have");
  EXPECT_EQ(loaded.serving.cluster.groups.front().memory_fraction, 0.9);
}

TEST_F(RecordingFolder, AFileAloneIsToldWhatServedIt) {
  const std::string path = write("night.csv", kTwo);
  EXPECT_EQ(complaint([&] {
              static_cast<void>(read_points(path, {{"system", "h200"}}));
            }),
            path + ": model_path is empty; expected it in meta.json of its folder, or --given model_path=...");
  const Given given{{"system", "h200"}, {"model_path", "llama-3.1-8b"}, {"backend", "sglang"}};
  const Backtest b = run_backtest(read_points(path, given), {});
  ASSERT_TRUE(b.points[0].predicted);
  EXPECT_EQ(b.points[0].point.id, "night");
  EXPECT_EQ(b.points[0].group.engine, "sglang");
  ASSERT_EQ(b.points[0].replayed->latencies.size(), 12U);
  const LatencyBeside& mean = b.points[0].replayed->latencies.front();
  EXPECT_NEAR(mean.measured_s, 0.7, 1e-9);
  EXPECT_EQ(mean.predicted_s, b.points[0].predicted->ttft_s);
  EXPECT_NEAR(mean.error(), *b.points[0].ttft_error(), 1e-12);
  EXPECT_TRUE(b.points[0].replayed->load.empty());
}

TEST(Recordings, OfOneNameAreCalledByTheirPaths) {
  const Given given{{"model_path", "llama-3.1-8b"}, {"system", "h100_sxm"}};
  std::vector<ServingPoint> points;
  for (const char* file : {"first/night.csv", "second/night.csv", "day.csv"}) {
    points.push_back(read_points_text(kTwo, file, given).front());
    points.back().id = std::string(file).substr(std::string(file).find_last_of('/') + 1);
  }
  tell_recordings_apart(points);
  EXPECT_EQ(points[0].id, "first/night.csv");
  EXPECT_EQ(points[1].id, "second/night.csv");
  EXPECT_EQ(points[2].id, "day.csv");
}

TEST(Recordings, CurvesLieBesideThoseOfTheReplay) {
  Recording r;
  r.load = {{0.1, 4, 0, 50, 0, 0}, {0.2, 2, 0, 100, 0, 0}, {0.3, 1, 0, 100, 0, 0}};
  serving::Timeline t;
  t.period_s = 0.1;
  t.kv_capacity_bytes = 1000;
  t.samples.resize(2);
  t.samples[0].running = 3;
  t.samples[0].kv_bytes = 520;
  t.samples[1].running = 2;
  t.samples[1].kv_bytes = 960;
  const std::vector<LoadBeside> load = load_beside(r, t);
  ASSERT_EQ(load.size(), 3U);
  EXPECT_EQ(load[2].running.predicted, 0);  // it has ended
  const std::vector<CurveBeside> curves = curves_beside(load);
  ASSERT_EQ(curves.size(), 2U);  // nobody waits
  EXPECT_EQ(curves[0].curve, "running");
  EXPECT_EQ(curves[0].peak, 4);
  EXPECT_DOUBLE_EQ(curves[0].difference, 2.0 / 3 / 4);
  EXPECT_DOUBLE_EQ(curves[0].within(0), 1.0 / 3);
  EXPECT_DOUBLE_EQ(curves[0].within(0.25), 1);
  EXPECT_EQ(curves[1].curve, "kv");
  EXPECT_DOUBLE_EQ(curves[1].within(0.03), 1.0 / 3);
  EXPECT_TRUE(load_beside(r, {}).empty());
}

}  // namespace
}  // namespace kvsim::planner::backtest::KVSIM_FILE
