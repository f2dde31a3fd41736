#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

const Sets kDeepseek = {"model=deepseek-v3", "cluster.gpu.type=h200", "cluster.gpu.tensor_parallel=8",
                        "cluster.gpu.memory_fraction=0.9"};

Sets windowed(const std::string& more = "") {
  return {"model={base: llama-3.1-8b, window: {layers: 16, tokens: 1024 tokens" + more + "}}",
          "decode={policy: full_kv}", "schedule.policy=fcfs"};
}

const std::string kState =
    "heads: 32, head_dim: 128, state_dim: 128, in_width: 12352, conv_channels: 8192, conv_kernel: 4, "
    "further_parameters: 1000000, bytes_per_element: 4}";

/// Decoding that loads nothing of stored contexts, so that a state counts in steps and memory.
Sets with_state() {
  return {"model={base: llama-3.1-8b, state: {layers: 16, " + kState + "}", "decode={policy: full_kv}",
          "schedule.policy=fcfs"};
}

const std::string kSelected =
    "window: {layers: 61, tokens: 2048 tokens, kind: selected}, indexer: {layers: 61, heads: 64, head_dim: 128, "
    "bytes_per_element: 1.03125}}";

Sets selecting() {
  return {"model={base: deepseek-v3, " + kSelected, "cluster.gpu.type=h200",    "cluster.gpu.tensor_parallel=8",
          "cluster.gpu.memory_fraction=0.9",        "decode={policy: full_kv}", "schedule.policy=fcfs"};
}

}  // namespace

void add_small_network(std::vector<KeyRow>& rows, const std::string& key, const std::function<Sets(Sets)>& in,
                       const std::string& heavier) {
  const std::string mla = "qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128}}";
  const Sets base = in({key + "=llama-3.2-1b"});
  const Sets latent =
      in({key + "={base: llama-3.2-1b, attention: mla, mla: {q_lora_rank: 512, kv_lora_rank: 512, " + mla});
  const Sets experts = in({key + "={base: llama-3.2-1b, moe: {experts: 8, experts_per_token: 2, shared_experts: 1, "
                                 "expert_intermediate: 2048, dense_layers: 2}}"});
  const auto add = [&](const char* of_model, const Sets& sets, const char* a, const std::string& b,
                       Effect effect = Effect::measured) {
    rows.push_back({key + "." + of_model, sets, a, b, effect});
  };
  add("name", base, "one", "two", Effect::reported);
  add("description", base, "one", "two", Effect::shown);
  add("source.source", base, "publication", "derived", Effect::reported);
  add("source.reference", base, "one", "two", Effect::reported);
  add("layers", base, "16", "8");
  add("hidden", base, "2048", "1024");
  add("heads", base, "32", "16");
  add("kv_heads", base, "8", "4");
  add("head_dim", base, "64", "128");
  add("intermediate", base, "8192", "4096");
  add("tied_embeddings", base, "true", "false");
  add("qkv_bias", base, "false", "true");
  add("qk_norm", base, "false", "true");
  add("max_context", base, "131072 tokens", "2000 tokens");
  rows.push_back({key + ".attention", base, key + "={base: llama-3.2-1b, attention: gqa}",
                  key + "={base: llama-3.2-1b, attention: mla, mla: {kv_lora_rank: 512, " + mla});
  add("mla.q_lora_rank", latent, "512", "0");
  add("mla.kv_lora_rank", latent, "512", "256");
  add("mla.qk_nope_head_dim", latent, "128", "64");
  add("mla.qk_rope_head_dim", latent, "64", "32");
  add("mla.v_head_dim", latent, "128", "64");
  add("moe.experts", experts, "8", "4");
  add("moe.experts_per_token", experts, "2", "4");
  add("moe.shared_experts", experts, "1", "2");
  add("moe.expert_intermediate", experts, "2048", "1024");
  add("moe.dense_layers", experts, "2", "10");
  add("moe.shared_intermediate", experts, "0", "4096");
  add("moe.expert_hidden", experts, "0", "512");
  add("output_gate", base, "false", "true");
  add("gated_blocks", base, "true", "false");
  add("shared_kv_layers", base, "0", "4");
  add("without_attention", base, "0", "4");
  add("without_block", base, "0", "4");
  add("weight_bytes_per_parameter", base, "2", "1");
  Sets narrow = base;
  narrow.push_back(key + ".weight_bytes_per_parameter=1");
  add("weight_format", narrow, "fp8", "fp8_block");
  add("attention_weight_format", narrow, "fp8", "bf16");
  add("head_weight_format", narrow, "fp8", "bf16");
  add("kv_bytes_per_element", base, "2", "1");
  add("weights", base, "3 GB", heavier);
  add("encoder_parameters", base, "0", std::to_string(std::stoll(heavier) / 2) + "000000000");
  rows.push_back({key + ".config", base, key + "=llama-3.2-1b", key + ".config=config.json", Effect::refused});
  for (const char* of_window : {"layers", "shared_kv_layers", "tokens", "heads", "kv_heads", "head_dim"}) {
    rows.push_back(
        {key + ".window." + of_window, base, key + "=llama-3.2-1b",
         key + "={base: llama-3.2-1b, window: {layers: 8, tokens: 1024 tokens, heads: 16, kv_heads: 8, head_dim: "
               "64}}",
         Effect::refused});
  }
  rows.push_back({key + ".window.kind", base, key + "=llama-3.2-1b",
                  key + "={base: llama-3.2-1b, window: {layers: 8, tokens: 1024 tokens, kind: chunked}}",
                  Effect::refused});
  for (const char* of_state : {"layers", "heads", "head_dim", "state_dim", "in_width", "conv_channels", "conv_kernel",
                               "further_parameters", "bytes_per_element"}) {
    rows.push_back({key + ".state." + of_state, base, key + "=llama-3.2-1b",
                    key + "={base: llama-3.2-1b, state: {layers: 8, " + kState + "}", Effect::refused});
  }
  for (const char* of_indexer : {"layers", "heads", "head_dim", "bytes_per_element"}) {
    rows.push_back({key + ".indexer." + of_indexer, base, key + "=llama-3.2-1b",
                    key + "={base: llama-3.2-1b, indexer: {layers: 8, heads: 8, head_dim: 64, bytes_per_element: 1}}",
                    Effect::refused});
  }
}

std::vector<KeyRow> model_rows() {
  return {
      {"model.name", {}, "one", "two", Effect::reported},
      {"model.description", {}, "one", "two", Effect::shown},
      {"model.source.source", {}, "publication", "derived", Effect::reported},
      {"model.source.reference", {}, "one", "two", Effect::reported},
      {"model.layers", {}, "32", "16"},
      {"model.hidden", {}, "4096", "2048"},
      {"model.heads", {}, "32", "16"},
      {"model.kv_heads", {}, "8", "4"},
      {"model.head_dim", {}, "128", "64"},
      {"model.intermediate", {}, "14336", "8192"},
      {"model.vocabulary", {}, "128256", "32000"},
      {"model.tied_embeddings", {}, "false", "true"},
      {"model.qkv_bias", {}, "false", "true"},
      {"model.qk_norm", {}, "false", "true"},
      {"model.max_context", {}, "131072 tokens", "8192 tokens"},
      {"model.attention",
       {},
       "model={base: llama-3.1-8b, attention: gqa}",
       "model={base: llama-3.1-8b, attention: mla, mla: {kv_lora_rank: 512, qk_nope_head_dim: 128, qk_rope_head_dim: "
       "64, "
       "v_head_dim: 128}}"},
      {"model.mla.q_lora_rank", kDeepseek, "1536", "0"},
      {"model.mla.kv_lora_rank", kDeepseek, "512", "256"},
      {"model.mla.qk_nope_head_dim", kDeepseek, "128", "64"},
      {"model.mla.qk_rope_head_dim", kDeepseek, "64", "32"},
      {"model.mla.v_head_dim", kDeepseek, "128", "64"},
      {"model.moe.experts", kDeepseek, "256", "128"},
      {"model.moe.experts_per_token", kDeepseek, "8", "4"},
      {"model.moe.shared_experts", kDeepseek, "1", "2"},
      {"model.moe.expert_intermediate", kDeepseek, "2048", "1024"},
      {"model.moe.dense_layers", kDeepseek, "3", "10"},
      {"model.moe.shared_intermediate", kDeepseek, "0", "4096"},
      {"model.moe.expert_hidden", kDeepseek, "0", "2048"},
      {"model.window.layers", windowed(), "16", "24"},
      {"model.window.shared_kv_layers",
       {"model={base: llama-3.1-8b, window: {layers: 16, tokens: 1024 tokens}, shared_kv_layers: 8}",
        "decode={policy: full_kv}", "schedule.policy=fcfs"},
       "2",
       "6"},
      {"model.window.tokens", windowed(), "1024 tokens", "4096 tokens"},
      {"model.window.heads", windowed(", heads: 32"), "32", "64"},
      {"model.window.kv_heads", windowed(", kv_heads: 8"), "8", "4"},
      {"model.window.head_dim", windowed(", head_dim: 128"), "128", "64"},
      {"model.window.kind", windowed(), "sliding", "chunked"},
      {"model.indexer.layers", selecting(), "61", "20"},
      {"model.indexer.heads", selecting(), "64", "32"},
      {"model.indexer.head_dim", selecting(), "128", "64"},
      {"model.indexer.bytes_per_element", selecting(), "1.03125", "2"},
      {"model.state.layers", with_state(), "16", "24"},
      {"model.state.heads", with_state(), "32", "64"},
      {"model.state.head_dim", with_state(), "128", "64"},
      {"model.state.state_dim", with_state(), "128", "256"},
      {"model.state.in_width", with_state(), "12352", "4096"},
      {"model.state.conv_channels", with_state(), "8192", "0"},
      {"model.state.conv_kernel", with_state(), "4", "8"},
      {"model.state.further_parameters", with_state(), "1000000", "100000000"},
      {"model.state.bytes_per_element", with_state(), "4", "2"},
      {"model.output_gate", {}, "false", "true"},
      {"model.gated_blocks", {}, "true", "false"},
      {"model.shared_kv_layers", {"decode={policy: full_kv}", "schedule.policy=fcfs"}, "0", "8"},
      {"model.without_attention", {}, "0", "8"},
      {"model.without_block", {}, "0", "8"},
      {"model.weight_bytes_per_parameter", {}, "2", "1"},
      {"model.weight_format", recomputed({"model.weight_bytes_per_parameter=1"}), "fp8", "fp8_block"},
      {"model.attention_weight_format", {"model.weight_bytes_per_parameter=1"}, "fp8", "bf16"},
      {"model.head_weight_format", {"model.weight_bytes_per_parameter=1"}, "fp8", "bf16"},
      {"model.kv_bytes_per_element", {}, "2", "1"},
      {"model.weights", {}, "16 GB", "20 GB"},
      {"model.encoder_parameters", {}, "0", "2000000000"},
      {"model.config", {}, "model=llama-3.1-8b", "model={config: no.json}", Effect::refused},
  };
}

}  // namespace kvsim::testing
