#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

using Sets = std::vector<std::string>;

/// A task that differs from a shipped one.
std::string task(const std::string& change) {
  return "workload.tasks=[{base: samsum, " + change + "}]";
}

/// The keys of the small model, which scores on the replica's own GPU.
void add_small_model(std::vector<KeyRow>& rows) {
  const std::string key = "prefill.speculative.model";
  const Sets base = blended({key + "=llama-3.2-1b"});
  const Sets latent = blended({key + "={base: llama-3.2-1b, attention: mla, mla: {q_lora_rank: 512, kv_lora_rank: 512, "
                                     "qk_nope_head_dim: 128, qk_rope_head_dim: 64, v_head_dim: 128}}"});
  const Sets experts = blended({key + "={base: llama-3.2-1b, moe: {experts: 8, experts_per_token: 2, shared_experts: "
                                      "1, expert_intermediate: 2048, dense_layers: 2}}"});
  const auto add = [&](const char* of_model, const Sets& sets, const char* a, const char* b,
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
  add("vocabulary", base, "128256", "32000");
  add("tied_embeddings", base, "true", "false");
  add("qkv_bias", base, "false", "true");
  add("qk_norm", base, "false", "true");
  add("max_context", base, "131072 tokens", "2000 tokens");
  rows.push_back({key + ".attention", base, key + "={base: llama-3.2-1b, attention: gqa}",
                  key + "={base: llama-3.2-1b, attention: mla, mla: {kv_lora_rank: 512, qk_nope_head_dim: 128, "
                        "qk_rope_head_dim: 64, v_head_dim: 128}}"});
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
  add("weight_bytes_per_parameter", base, "2", "1");
  add("kv_bytes_per_element", base, "2", "1");
  add("weights", base, "3 GB", "30 GB");
}

}  // namespace

std::vector<std::string> blended(std::vector<std::string> more) {
  // A chunk of 512 tokens has 67 MB of KV: host memory holds 89 of the 200.
  more.insert(more.begin(),
              {"cluster={gpu: {type: h100-sxm}, host: {memory: 6 GB, link: pcie5-x16}}",
               "workload={closed: {concurrency: 2}, requests: 60, context: 64 tokens, output: 20 tokens, chunks: "
               "{count: 200, popularity: 0.8, per_request: 4}}",
               "prefill={policy: selective}", "decode={policy: full_kv}", "schedule={}", "placement={policy: lru}"});
  return more;
}

std::vector<KeyRow> reuse_rows() {
  const Sets base = blended();
  const Sets epic = blended({"prefill.policy=epic"});
  const Sets cacheblend = blended({"prefill.policy=cacheblend"});
  const Sets own_tokenizer = blended({"prefill.speculative.own_tokenizer=true"});
  // Where a span begins counts: what is computed again attends to what is before it.
  const Sets causal = blended({"prefill.attention=causal"});
  const auto from_file = [](const std::string& name) {
    return "prefill.importance={source: file, path: $DIR/" + name + "}";
  };
  std::vector<KeyRow> rows = {
      {"prefill.rho", base, "0.15", "0.25"},
      {"prefill.link_tokens", epic, "32 tokens", "64 tokens"},
      {"prefill.attention", base, "whole", "causal"},
      {"prefill.spans.enabled", base, "true", "false"},
      {"prefill.spans.variation", causal, "0.4", "0.1"},
      {"prefill.spans.longest", causal, "16 tokens", "4 tokens"},
      {"prefill.spans.majority", causal, "0.7", "0.3"},
      {"prefill.spans.cap", causal, "spans", "tokens"},
      {"prefill.speculative.gpus", base, "0", "1"},
      {"prefill.speculative.tokens_ratio", own_tokenizer, "1", "1.3"},
      {"prefill.speculative.own_tokenizer", base, "false", "true"},
      {"prefill.speculative.align_time", base, "100 ns", "50 us"},
      {"prefill.importance.source", causal, "prefill.importance={source: generated}", from_file("scores.jsonl")},
      {"prefill.importance.path", causal, from_file("scores.jsonl"), from_file("falling_scores.jsonl")},
      {"prefill.importance.correlation", causal, "0.9", "0.1"},
      {"prefill.importance.cv", causal, "0.5", "2"},
      {"prefill.importance.signals", causal, "64", "1"},
      {"workload.tasks[].name", base, task("name: one"), task("name: two"), Effect::reported},
      {"workload.tasks[].description", base, task("description: one"), task("description: two"), Effect::shown},
      {"workload.tasks[].model", base, task("model: one"), task("model: two"), Effect::reported},
      {"workload.tasks[].speculative_model", base, task("speculative_model: one"), task("speculative_model: two"),
       Effect::reported},
      {"workload.tasks[].full_score", base, task("full_score: 0.4"), task("full_score: 0.5")},
      {"workload.tasks[].scores[].rho", base, task("scores: [{rho: 0.2, score: 0.3}]"),
       task("scores: [{rho: 0.3, score: 0.3}]")},
      {"workload.tasks[].scores[].score", base, task("scores: [{rho: 0.2, score: 0.3}]"),
       task("scores: [{rho: 0.2, score: 0.31}]")},
      {"workload.tasks[].without_spans", blended({"prefill.spans.enabled=false"}), task("without_spans: 0.9"),
       task("without_spans: 0.8")},
      {"workload.tasks[].full_reuse", blended({"prefill.policy=full_reuse"}), task("full_reuse: 0.6"),
       task("full_reuse: 0.5")},
      {"workload.tasks[].cacheblend_below", cacheblend, task("cacheblend_below: 0.1"), task("cacheblend_below: 0.2")},
      {"workload.tasks[].epic_below", epic, task("epic_below: 0.1"), task("epic_below: 0.2")},
      {"workload.tasks[].spread", base, task("spread: 0.25"), task("spread: 0.5")},
      {"placement.preload", base, "false", "true"},
      {"slo.quality_floor", base, "0.8", "0.95"},
  };
  add_small_model(rows);
  return rows;
}

}  // namespace kvsim::testing
