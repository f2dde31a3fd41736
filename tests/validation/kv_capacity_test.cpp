// KV capacity against start-up logs, which are not part of the project: every start whose settings are known.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "sim/scenario/scenario.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"
#include "tools/validation/measured_data.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

/// Names of models in the logs, as changes of entries of the catalogue (config.json of each).
const std::map<std::string, std::string>& models_of_logs() {
  static const std::map<std::string, std::string> kModels{
      {"CodeLlama-7b-hf", "base: llama-2-7b, vocabulary: 32016"},
      {"Llama-3.1-8B-Instruct", "base: llama-3.1-8b"},
      {"Llama-3.3-70B-Instruct", "base: llama-3.1-70b"},
      {"Qwen2.5-7B-Instruct", "base: qwen2.5-7b"},
      {"Kimi-Dev-72B", "base: qwen2.5-72b"},
      {"Qwen3-8B", "base: qwen3-8b"},
      {"Qwen3-14B", "base: qwen3-14b"},
      {"Mixtral-8x7B-Instruct-v0.1", "base: mixtral-8x7b"},
      {"gemma-2-27b-it",
       "base: gemma-3-27b, layers: 46, hidden: 4608, intermediate: 36864, vocabulary: 256000, qk_norm: false, "
       "encoder_parameters: 0, window: {layers: 23, tokens: 4096 tokens}"},
      {"gemma-2-9b-it",
       "base: gemma-3-12b, layers: 42, hidden: 3584, intermediate: 14336, vocabulary: 256000, qk_norm: false, "
       "encoder_parameters: 0, window: {layers: 21, tokens: 4096 tokens}"},
      {"gemma-3-4b-it",
       "base: gemma-3-12b, layers: 34, hidden: 2560, heads: 8, kv_heads: 4, intermediate: 10240, "
       "window: {layers: 29, tokens: 1024 tokens}"},
      {"granite-3.1-2b-instruct",
       "base: llama-3.1-8b, layers: 40, hidden: 2048, heads: 32, kv_heads: 8, head_dim: 64, intermediate: 8192, "
       "vocabulary: 49155, tied_embeddings: true"},
      {"granite-3.3-8b-instruct",
       "base: llama-3.1-8b, layers: 40, intermediate: 12800, vocabulary: 49159, tied_embeddings: true"},
      {"phi-2",
       "base: llama-2-7b, hidden: 2560, head_dim: 80, intermediate: 10240, gated_blocks: false, vocabulary: 51200, "
       "qkv_bias: true"},
      {"DeepSeek-V2-Lite-Chat",
       "base: deepseek-v3, layers: 27, hidden: 2048, heads: 16, kv_heads: 16, intermediate: 10944, vocabulary: 102400, "
       "mla: {q_lora_rank: 0, kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128}, "
       "moe: {experts: 64, experts_per_token: 6, shared_experts: 2, expert_intermediate: 1408, dense_layers: 1}"}};
  return kModels;
}

struct Start {
  std::string words;
  bool dense = true;
  double tokens_error = 0;
  double concurrency_error = 0;
};

std::string start_of(const std::string& model, const std::string& gpu, const std::string& engine) {
  return fmt::format(
      "name: start\nmodel: {}\ncluster: {{gpu: {}}}\nworkload: {{closed: {{concurrency: 1}}, context: 100 tokens, "
      "output: 10 tokens, requests: 1}}\nprefill: recompute\ndecode: {{policy: full_kv}}\nschedule: {{policy: fcfs, "
      "engine: {}}}\n",
      model, gpu, engine);
}

std::string scenario_of(const CsvRow& row) {
  std::string model =
      models_of_logs().at(row.at("set_up")) + ", max_context: " + row.at("max_model_len_tokens") + " tokens";
  const int width = row.at("dtype") == "float32" ? 4 : 2;
  model += fmt::format(", kv_bytes_per_element: {}", row.at("kv_cache_dtype") == "fp8" ? 1 : width);
  const bool quantised = row.at("weight_quantization") != "none";
  if (quantised) {  // their weights are as logged: what narrow formats leave in 16 bit differs between checkpoints
    model +=
        fmt::format(", weights: {:.0f} B", row.number("weights_gib") * row.number("gpus") * 1024.0 * 1024.0 * 1024.0);
  } else {
    model += fmt::format(", weight_bytes_per_parameter: {}", width);
    if (row.at("set_up") == "DeepSeek-V2-Lite-Chat") model += ", weight_format: bf16";
  }
  const bool sorts = row.at("engine_version").starts_with("0.15") || row.at("engine_version").starts_with("0.16");
  return start_of("{" + model + "}",
                  fmt::format("{{type: h100-sxm, tensor_parallel: {}, pipeline_parallel: {}, memory_fraction: {}}}",
                              row.at("tp"), row.at("pp"), row.at("gpu_memory_utilization")),
                  sorts ? "vllm-0.16" : "vllm");
}

class MeasuredKvCapacity : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = measured_folder("", KVSIM_SOURCE_DIR);
    const std::string path = folder + "/kv_capacity/kv_capacity.csv";
    if (folder.empty() || !std::filesystem::exists(path)) GTEST_SKIP() << kNoMeasuredData;
    for (const CsvRow& row : read_csv(path)) {
      if (row.at("kind") != "log" || !models_of_logs().contains(row.at("set_up"))) continue;
      const serving::ServingConfig config = scenario::load_scenario_text(scenario_of(row), "start").serving;
      const serving::KvCapacity k = serving::kv_capacity(config, config.cluster.uniform());
      Start s;
      s.words = fmt::format("{} {} TP{} PP{}: {} for {}, {:.2f} for {}", row.at("model"), row.at("engine_version"),
                            row.at("tp"), row.at("pp"), k.tokens, row.at("kv_tokens"), k.concurrency,
                            row.at("max_concurrency"));
      const std::string& set_up = row.at("set_up");
      s.dense = !set_up.starts_with("gemma") && !set_up.starts_with("Mixtral") && !set_up.starts_with("DeepSeek");
      s.tokens_error = std::abs(static_cast<double>(k.tokens) / row.number("kv_tokens") - 1);
      s.concurrency_error = std::abs(k.concurrency / row.number("max_concurrency") - 1);
      starts_.push_back(s);
    }
  }

  std::vector<Start> starts_;
};

/// Starts that people quote whose settings are said. The first is of July 2025, when vLLM sorted all logits.
TEST(MeasuredKvCapacityQuoted, IsWithinFivePercent) {
  struct Quoted {
    const char* model;
    const char* gpu;
    const char* engine;
    double tokens;  ///< KV tokens that the engine logged
  };
  const char* const k235b = "{base: qwen3-235b-a22b, weight_bytes_per_parameter: 1, weight_format: fp8_block}";
  const Quoted quoted[] = {
      {k235b, "{type: h100-sxm, tensor_parallel: 4}", "vllm-0.16", 178880},                      // vLLM issue 21348
      {k235b, "{type: h100-sxm, tensor_parallel: 4, memory_fraction: 0.93}", "sglang", 367404},  // vLLM issue 21348
      {"qwen3-4b", "{type: h100-sxm, memory_fraction: 0.85}", "vllm", 417440},                   // vLLM PR 38479
      {"gemma-4-31b", "{type: h200}", "{base: vllm, max_requests: 256}", 626949}};               // configiq issue 112
  for (const Quoted& q : quoted) {
    const serving::ServingConfig config =
        scenario::load_scenario_text(start_of(q.model, q.gpu, q.engine), "start").serving;
    const serving::KvCapacity k = serving::kv_capacity(config, config.cluster.uniform());
    EXPECT_NEAR(static_cast<double>(k.tokens) / q.tokens, 1, 0.05) << q.model << " " << q.engine;
  }
}

TEST_F(MeasuredKvCapacity, IsWhatEnginesLog) {
  std::vector<double> dense;
  for (const Start& s : starts_) {
    const double limit = s.dense ? 0.03 : 0.05;
    EXPECT_LT(s.tokens_error, limit) << s.words;
    EXPECT_LT(s.concurrency_error, limit) << s.words;
    if (s.dense) dense.push_back(s.tokens_error);
  }
  ASSERT_GT(dense.size(), 30U);
  std::sort(dense.begin(), dense.end());
  EXPECT_LT(dense[dense.size() / 2], 0.01);
  RecordProperty("dense_median", fmt::format("{:.5f}", dense[dense.size() / 2]));
  RecordProperty("dense_worst", fmt::format("{:.5f}", dense.back()));
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
