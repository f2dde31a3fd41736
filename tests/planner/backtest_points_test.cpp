// Measured serving points as files have them.
#include <gtest/gtest.h>

#include "planner/backtest/serving_points.h"

namespace kvsim::planner::backtest::KVSIM_FILE {
namespace {

const std::string kHeader = "model_path,system,isl,osl,concurrency,ttft_ms,tpot_ms\n";

std::string complaint(const std::string& text, const std::string& name = "p.csv", const Given& given = {}) {
  try {
    static_cast<void>(read_points_text(text, name, given));
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "(none)";
}

TEST(BacktestPoints, ColumnsAreFoundByNameAndOthersPassedOver) {
  const auto points = read_points_text(
      "tpot_ms,colour,model_path,system,osl,isl,concurrency,id,backend,backend_version,tp_size,pp_size,ttft_ms\n"
      "20.5,red,org/M,h200_sxm,512,1024,16,one,vllm,0.19,2,,150\n",
      "p.csv");
  ASSERT_EQ(points.size(), 1U);
  const ServingPoint& p = points[0];
  EXPECT_EQ(p.id, "one");
  EXPECT_EQ(p.origin.str(), "p.csv:2:1");
  EXPECT_EQ(p.model, "org/M");
  EXPECT_EQ(p.gpu, "h200_sxm");
  EXPECT_EQ(p.engine + " " + p.version, "vllm 0.19");
  EXPECT_EQ(p.prompt_tokens, 1024);
  EXPECT_EQ(p.output_tokens, 512);
  EXPECT_EQ(p.clients, 16);
  EXPECT_EQ(p.tensor, 2);
  EXPECT_EQ(p.pipeline, 1);  // left empty
  EXPECT_DOUBLE_EQ(*p.tpot_s, 0.0205);
  EXPECT_DOUBLE_EQ(*p.ttft_s, 0.15);
  EXPECT_FALSE(p.output_tokens_per_s);
}

TEST(BacktestPoints, ARowWithoutAnIdIsCalledByItsLine) {
  EXPECT_EQ(read_points_text(kHeader + "m,g,1,1,1,1,\n\nm,g,1,1,1,1,\n", "p.csv").at(1).id, "line 4");
}

TEST(BacktestPoints, ParallelismOfZeroIsNone) {
  const auto points = read_points_text(
      "model_path,system,isl,osl,tp_size,attention_dp_size,moe_tp_size,moe_ep_size,tpot_ms\nm,g,1,1,0,0,0,0,1\n",
      "p.csv");
  EXPECT_EQ(points[0].tensor + points[0].attention_data + points[0].expert_tensor + points[0].expert, 4);
}

TEST(BacktestPoints, WhatFilesLackCanBeGiven) {
  const auto points = read_points_text("model_path,isl,osl,tpot_ms,tp_size\nm,1,1,1,4\nm,1,1,1,\n", "p.csv",
                                       {{"system", "h200"}, {"tp_size", "2"}});
  EXPECT_EQ(points[0].gpu, "h200");
  EXPECT_EQ(points[0].tensor, 4);  // the file's own counts
  EXPECT_EQ(points[1].tensor, 2);
  EXPECT_EQ(parse_given("system=a=b"), (std::pair<std::string, std::string>{"system", "a=b"}));
  EXPECT_THROW(static_cast<void>(parse_given("system")), schema::InputError);
  EXPECT_THROW(static_cast<void>(parse_given("sytem=h200")), schema::InputError);
}

TEST(BacktestPoints, BadFilesAndRowsAreRefusedByPlaceAndReason) {
  EXPECT_EQ(complaint(""),
            "p.csv: is empty, expected a header with the columns id, backend, backend_version, model_path, system, "
            "precision, mode, isl, osl, gemm_quant_mode, moe_quant_mode, concurrency, num_prompts, request_rate, "
            "tp_size, pp_size, attention_dp_size, moe_tp_size, moe_ep_size, ttft_ms, tpot_ms, output_tokens_per_s, "
            "source, drafter, draft_tokens, accept_length");
  EXPECT_EQ(complaint(kHeader), "p.csv: has a header and no rows, expected a row a point");
  EXPECT_EQ(complaint("model_path,isl,osl,tpot_ms\nm,1,1,1\n"),
            "p.csv:1:1: the column system is missing, expected it in the header, or --given system=...");
  EXPECT_EQ(complaint("model_path,system,isl,osl\nm,g,1,1\n"),
            "p.csv:1:1: nothing is measured: expected at least one of the columns ttft_ms, tpot_ms, "
            "output_tokens_per_s");
  EXPECT_EQ(complaint("isl,isl,model_path,system,osl,tpot_ms\n"),
            "p.csv:1:5: the column isl is there twice, expected it once");
  EXPECT_EQ(complaint(kHeader + "m,g,1,1,1,1\n"), "p.csv:2:12: the line has 6 columns, expected 7 as in the header");
  EXPECT_EQ(complaint(kHeader + "m,,1,1,1,1,1\n"), "p.csv:2:3: system is empty");
  EXPECT_EQ(complaint(kHeader + "m,g,1k,1,1,1,1\n"),
            "p.csv:2:5: isl is \"1k\", expected a whole number from 1 to 10000000");
  EXPECT_EQ(complaint(kHeader + "m,g,1,0,1,1,1\n"),
            "p.csv:2:7: osl is \"0\", expected a whole number from 1 to 10000000");
  EXPECT_EQ(complaint(kHeader + "m,g,1,1,-4,1,1\n"),
            "p.csv:2:9: concurrency is \"-4\", expected a whole number from 1 to 1000000");
  for (const std::string bad : {"-1", "0", "nan", "inf", "1e99", "1 s", "0x1p3"}) {
    EXPECT_EQ(complaint(kHeader + "m,g,1,1,1," + bad + ",1\n"),
              "p.csv:2:11: ttft_ms is \"" + bad + "\", expected a number above 0");
  }
  EXPECT_EQ(complaint(kHeader + "m,g,1,1,1,,\n"),
            "p.csv:2:11: nothing is measured: ttft_ms, tpot_ms and output_tokens_per_s are empty");
  EXPECT_NE(complaint(kHeader + "m,g,1,1,1,1,\xFF\n").find("p.csv:2"), std::string::npos);
}

const std::string kVllm =
    R"({"date": "x", "backend": "openai", "model_id": "Qwen/Qwen3-32B", "num_prompts": 160, "request_rate": "inf",
        "max_concurrency": 16, "completed": 160, "total_input_tokens": 160000, "total_output_tokens": 32000,
        "output_throughput": 900.5, "mean_ttft_ms": 250, "mean_tpot_ms": 12.5, "ttfts": [0.1], "tp_size": "2"})";

TEST(BacktestPoints, AResultOfVllmBenchServeIsAPoint) {
  const ServingPoint p = read_points_text(kVllm, "runs/a.json", {{"system", "h100_sxm"}}).at(0);
  EXPECT_EQ(p.id, "a");
  EXPECT_EQ(p.engine, "vllm");
  EXPECT_EQ(p.model, "Qwen/Qwen3-32B");
  EXPECT_EQ(p.gpu, "h100_sxm");
  EXPECT_EQ(p.prompt_tokens, 1000);
  EXPECT_EQ(p.output_tokens, 200);
  EXPECT_EQ(p.clients, 16);
  EXPECT_EQ(p.requests, 160);
  EXPECT_EQ(p.rate_per_s, 0);
  EXPECT_EQ(p.tensor, 2);  // as --metadata writes it
  EXPECT_DOUBLE_EQ(*p.ttft_s, 0.25);
  EXPECT_DOUBLE_EQ(*p.tpot_s, 0.0125);
  EXPECT_DOUBLE_EQ(*p.output_tokens_per_s, 900.5);
}

TEST(BacktestPoints, OfDraftsAResultOfVllmBenchServeSaysHowManyAndHowManyWereAccepted) {
  EXPECT_FALSE(read_points_text(kVllm, "a.json", {{"system", "h200"}}).at(0).drafts);
  std::string text = kVllm;
  text.insert(1,
              R"("spec_decode_acceptance_rate": 50, "spec_decode_acceptance_length": 2.5, "spec_decode_num_drafts": 100,
                    "spec_decode_draft_tokens": 300, "spec_decode_accepted_tokens": 150,
                    "spec_decode_per_position_acceptance_rates": [0.8, 0.5, 0.2], )");
  const PointDrafts drafts = *read_points_text(text, "a.json", {{"system", "h200"}}).at(0).drafts;
  EXPECT_EQ(drafts.tokens, 3);
  EXPECT_DOUBLE_EQ(drafts.accept_length, 2.5);
  EXPECT_EQ(drafts.positions, (std::vector<double>{0.8, 0.5, 0.2}));
  EXPECT_EQ(drafts.drafter, "");
}

TEST(BacktestPoints, DraftedRowsHaveColumnsOfTheirOwn) {
  const std::string header = "model_path,system,isl,osl,tpot_ms,drafter,draft_tokens,accept_length\n";
  const auto points = read_points_text(header + "m,g,1,1,1,,,\nm,g,1,1,1,,0,\nm,g,1,1,1,d,4,3.5\n", "p.csv");
  EXPECT_FALSE(points[0].drafts);
  EXPECT_FALSE(points[1].drafts);
  EXPECT_EQ(points[2].drafts->drafter, "d");
  EXPECT_EQ(points[2].drafts->tokens, 4);
  EXPECT_EQ(complaint(header + "m,g,1,1,1,,4,5.5\n"),
            "p.csv:2:14: accept_length is 5.5, expected at most 5: draft_tokens and the step's own");
  EXPECT_EQ(complaint(header + "m,g,1,1,1,,4,0.5\n"),
            "p.csv:2:14: accept_length is below 1, expected the tokens of a step, its own one among them");
}

TEST(BacktestPoints, WithoutAConcurrencyAllRequestsAreSentAtOnce) {
  std::string text = kVllm;
  text.replace(text.find("\"max_concurrency\": 16"), 21, "\"max_concurrency\": null");
  EXPECT_EQ(read_points_text(text, "a.json", {{"system", "h200"}}).at(0).clients, 160);
  text.replace(text.find("\"inf\""), 5, "4.5");
  EXPECT_EQ(read_points_text(text, "a.json", {{"system", "h200"}}).at(0).rate_per_s, 4.5);
}

TEST(ServingPointFiles, EveryBenchmarkOfGuideLlmIsAPoint) {
  const char* const text = R"({
    "args": {"model": "org/M"},
    "benchmarks": [
      {"config": {"strategy": {"type_": "concurrent", "streams": 8}},
       "metrics": {"request_totals": {"successful": 80, "errored": 1},
                   "prompt_token_count": {"successful": {"mean": 511.6}},
                   "output_token_count": {"successful": {"mean": 128.2}},
                   "time_to_first_token_ms": {"successful": {"mean": 45.5, "median": 40}},
                   "inter_token_latency_ms": {"successful": {"mean": 12.5}},
                   "time_per_output_token_ms": {"successful": {"mean": 13}},
                   "output_tokens_per_second": {"successful": {"mean": 600}}}},
      {"config": {"strategy": {"type_": "poisson", "rate": 4.0}, "backend": {"model": "org/N"}},
       "metrics": {"prompt_token_count": {"successful": {"mean": 512}}, "output_token_count": {"successful": {"mean": 1}},
                   "time_to_first_token_ms": {"successful": {"mean": 50}}}}]})";
  const auto points = read_points_text(text, "runs/b.json", {{"system", "h100_sxm"}, {"backend", "vllm"}});
  ASSERT_EQ(points.size(), 2U);
  const ServingPoint& p = points[0];
  EXPECT_EQ(p.id, "b 1");
  EXPECT_EQ(p.model, "org/M");
  EXPECT_EQ(p.engine, "vllm");
  EXPECT_EQ(p.clients, 8);
  EXPECT_EQ(p.requests, 80);
  EXPECT_EQ(p.prompt_tokens, 512);
  EXPECT_EQ(p.output_tokens, 128);
  EXPECT_EQ(p.ttft_s, 0.0455);
  EXPECT_EQ(p.tpot_s, 0.0125) << "without the first token";
  EXPECT_EQ(p.output_tokens_per_s, 600);
  EXPECT_EQ(points[1].model, "org/N");
  EXPECT_EQ(points[1].rate_per_s, 4);
  EXPECT_FALSE(points[1].tpot_s);
}

TEST(ServingPointFiles, AResultOfAiPerfIsAPoint) {
  const std::string text = R"({
    "aiperf_version": "0.10.0",
    "request_count": {"unit": "requests", "avg": 10.0},
    "time_to_first_token": {"unit": "ms", "avg": 195.84, "p50": 175.05},
    "inter_token_latency": {"unit": "ms", "avg": 35.2},
    "output_token_throughput": {"unit": "tokens/sec", "avg": 52.69},
    "output_sequence_length": {"unit": "tokens", "avg": 64.4},
    "input_sequence_length": {"unit": "tokens", "avg": 256.0},
    "input_config": {"endpoint": {"model_names": ["org/M"]}, "loadgen": {"concurrency": 2}}})";
  const ServingPoint p = read_points_text(text, "a.json", {{"system", "h200"}}).at(0);
  EXPECT_EQ(p.id, "a");
  EXPECT_EQ(p.model, "org/M");
  EXPECT_EQ(p.clients, 2);
  EXPECT_EQ(p.requests, 10);
  EXPECT_EQ(p.prompt_tokens, 256);
  EXPECT_EQ(p.output_tokens, 64);
  EXPECT_NEAR(*p.ttft_s, 0.19584, 1e-12);
  EXPECT_NEAR(*p.tpot_s, 0.0352, 1e-12);
  std::string seconds = text;
  seconds.replace(seconds.find("\"ms\""), 4, "\"s\"");
  EXPECT_EQ(complaint(seconds, "a.json", {{"system", "h200"}}),
            "a.json: time_to_first_token/unit is \"s\", expected \"ms\"");
}

TEST(BacktestPoints, OtherJsonIsRefused) {
  EXPECT_EQ(complaint("{", "a.json"),
            "a.json: is no JSON, expected a result of vllm bench serve --save-result, GuideLLM or AIPerf");
  EXPECT_EQ(complaint("[]", "a.json"),
            "a.json: is no JSON object, expected a result of vllm bench serve --save-result, GuideLLM or AIPerf");
  EXPECT_EQ(complaint(kVllm, "a.json"),
            "a.json: system is empty; expected it in the file, as --metadata adds it, or --given system=...");
  EXPECT_EQ(complaint(R"({"model_id": "a\u0000b", "system": "h200", "isl": 1, "osl": 1})", "a.json"),
            "a.json: model_path holds a NUL character, expected text");
  EXPECT_EQ(complaint(R"({"model_id": "m", "system": "h200", "isl": 1.5, "osl": 1})", "a.json"),
            "a.json: isl is \"1.5\", expected a whole number from 1 to 10000000");
  const std::string nothing = R"({"model_id": "m", "completed": 0, "total_input_tokens": 5, "total_output_tokens": 5})";
  EXPECT_NE(complaint(nothing, "a.json", {{"system", "h200"}}).find("isl is empty"), std::string::npos);
}

TEST(BacktestPoints, AFileThatIsNotThereIsNamed) {
  EXPECT_THROW(static_cast<void>(read_points("/nowhere/p.csv")), schema::InputError);
  EXPECT_THROW(static_cast<void>(read_points("/nowhere/p.json")), schema::InputError);
}

}  // namespace
}  // namespace kvsim::planner::backtest::KVSIM_FILE
