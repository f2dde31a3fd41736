#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

/// A task that differs from a shipped one.
std::string task(const std::string& change) {
  return "workload.tasks=[{base: samsum, " + change + "}]";
}

/// The keys of the small model, which scores on the replica's own GPU.
void add_small_model(std::vector<KeyRow>& rows) {
  const std::string key = "prefill.speculative.model";
  add_small_network(rows, key, blended, "30 GB");
  rows.push_back({key + ".vocabulary", blended({key + "=llama-3.2-1b"}), "128256", "32000"});
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
      {"prefill.spans.budget", causal, "1", "1.5"},
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
      {"workload.tasks[].scores[].rho", base, task("scores: [{rho: 0.2, score: 0.3, without_spans: 0.3}]"),
       task("scores: [{rho: 0.3, score: 0.3, without_spans: 0.3}]")},
      {"workload.tasks[].scores[].score", base, task("scores: [{rho: 0.2, score: 0.3, without_spans: 0.3}]"),
       task("scores: [{rho: 0.2, score: 0.31, without_spans: 0.3}]")},
      {"workload.tasks[].scores[].without_spans", blended({"prefill.spans.enabled=false"}),
       task("scores: [{rho: 0.2, score: 0.3, without_spans: 0.3}]"),
       task("scores: [{rho: 0.2, score: 0.3, without_spans: 0.29}]")},
      {"workload.tasks[].full_reuse", blended({"prefill.policy=full_reuse"}), task("full_reuse: 0.6"),
       task("full_reuse: 0.5")},
      {"workload.tasks[].cacheblend_below", cacheblend, task("cacheblend_below: 0.1"), task("cacheblend_below: 0.2")},
      {"workload.tasks[].epic_below", epic, task("epic_below: 0.1"), task("epic_below: 0.2")},
      {"workload.tasks[].spread", base, task("spread: 0.25"), task("spread: 0.5")},
      {"placement.preload", base, "false", "true"},
      {"slo.quality_floor", base, "0.8", "0.95"},
      {"slo.functional_floor",
       {"decode={policy: lossy, compressor: {base: snapkv, functional: {calls: {points: [{keep_ratio: 0.5, value: "
        "0.5}]}}},"
        " keep_ratio: 0.25}",
        "schedule.policy=fcfs"},
       "0.4",
       "0.6"},
  };
  add_small_model(rows);
  return rows;
}

}  // namespace kvsim::testing
