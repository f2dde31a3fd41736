#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

using Sets = std::vector<std::string>;

const Sets kDeepseek = {"model=deepseek-v3", "cluster.gpu.type=h200", "cluster.gpu.tensor_parallel=8",
                        "cluster.gpu.memory_fraction=0.9"};

}  // namespace

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
      {"model.weight_bytes_per_parameter", {}, "2", "1"},
      {"model.kv_bytes_per_element", {}, "2", "1"},
      {"model.weights", {}, "16 GB", "20 GB"},
  };
}

}  // namespace kvsim::testing
