#include "sim/serving/slo.h"
#include "tests/scenario/key_rows.h"

namespace kvsim::testing {

namespace {

/// Prompts are computed here, steps decode, and memory is short: 0.3 x 85.6 GB less 16.1 GB of weights hold four
/// prompts of 2.1 GB, and outputs take a quarter more.
std::vector<std::string> engine_rules(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"prefill=recompute", "decode={policy: full_kv}", "schedule.policy=fcfs",
                             "cluster.gpu.memory_fraction=0.3", "workload.output=4k tokens"});
  return more;
}

/// Requests come while others decode, one after another, and their prompts fill a tenth of an iteration.
std::vector<std::string> one_by_one(std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"prefill=recompute", "decode={policy: full_kv}", "schedule.policy=fcfs", "workload.context=200 tokens",
               "workload.output={distribution: uniform, min: 50 tokens, max: 400 tokens}"});
  return more;
}

/// An engine that says nothing else than schedules do by default, and then this.
std::vector<std::string> engine(std::vector<std::string> more = {}) {
  more.insert(
      more.begin(),
      {"schedule.engine={name: mine, description: mine, max_batched_tokens: 2048, block_size: 16 tokens, asynchronous: "
       "false, prefill_order: mixed, reserve: prompt, preempted: dropped}"});
  return engine_rules(std::move(more));
}

/// An engine with a drafter.
std::vector<std::string> drafting_engine(std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"cluster.gpu.memory_fraction=0.9", "decode={policy: drafter, drafter: {type: llama-3.2-1b}}"});
  return engine(std::move(more));
}

/// An engine whose memory beside weights and KV counts, so that it is short.
std::vector<std::string> engine_memory(const std::string& gpu = "", std::vector<std::string> more = {}) {
  more.insert(more.begin(), "cluster.gpu={type: h100-sxm, memory_fraction: 0.3" + gpu + "}");
  return engine(std::move(more));
}

std::vector<KeyRow> engine_memory_rows() {
  const std::string key = "schedule.engine.memory.", tensor = ", tensor_parallel: 2";
  return {
      {"schedule.engine.max_requests", engine(), "256", "3"},
      {key + "sizing", engine_memory("", {key + "context=2 GiB"}), "profiled", "free_share"},
      {key + "logits", engine_memory(), "0", "100"},
      {key + "hidden_copies", engine_memory(), "0", "100"},
      {key + "keeps_expert_buffers",
       engine_memory("", {"model=qwen3-30b-a3b", "cluster.gpu.memory_fraction=0.8", key + "logits=100",
                          "schedule.max_batched_tokens=40000"}),
       "false", "true"},
      {key + "buffers", engine_memory(), "0 B", "2 GiB"},
      {key + "loading_share", engine_memory(), "0", "0.1"},
      {key + "context", engine_memory("", {key + "sizing=free_share"}), "0 B", "2 GiB"},
      {key + "alone", engine_memory(), "0 B", "2 GiB"},
      {key + "staged", engine_memory(", pipeline_parallel: 2", {"cluster.gpu.memory_fraction=0.2"}), "0 B", "2 GiB"},
      {key + "joined", engine_memory(tensor, {"cluster.gpu.memory_fraction=0.2"}), "0 B", "2 GiB"},
      {key + "slow_join", engine_memory(tensor + ", peer_link: pcie5-peer", {"cluster.gpu.memory_fraction=0.2"}), "0 B",
       "2 GiB"}};
}

/// An engine that decodes over KIVI at 4 bits.
std::vector<std::string> quantising_engine() {
  return engine({"decode={policy: lossy, compressor: kivi-4bit}"});
}

/// Its one kernel over quantised KV.
std::string kernel(const std::string& keys) {
  return "schedule.engine.quantised=[{" + keys + "}]";
}

}  // namespace

std::vector<KeyRow> schedule_rows() {
  std::vector<KeyRow> rows{
      {"schedule.policy", {}, "staggered", "lock_step"},
      {"schedule.window", {}, "128", "4"},
      {"schedule.arrival", {}, "layerwise", "whole"},
      {"schedule.arrival_slack", {}, "0", "2"},
      {"schedule.unplaced", {"schedule.window=16"}, "drafts_on", "waits"},
      {"schedule.max_requests", {}, "256", "3"},
      {"schedule.max_batched_tokens", recomputed(), "2048", "4096"},
      {"schedule.block_size", {}, "16 tokens", "256 tokens"},
      {"schedule.asynchronous", recomputed(), "false", "true"},
      {"schedule.receive_interval", one_by_one(), "1", "50"},
      {"schedule.batch_wait.iterations", one_by_one(), "0", "50"},
      {"schedule.batch_wait.tokens", one_by_one({"schedule.batch_wait.iterations=50"}), "1", "0.01"},
      {"schedule.batch_wait.requests", one_by_one({"schedule.batch_wait.iterations=50"}), "1", "1000"},
      {"schedule.blocking_loads", {"decode={policy: full_kv}", "schedule={policy: fcfs}"}, "false", "true"},
      {"schedule.prefix_caching",
       {"workload.prefixes={count: 2, tokens: 4k tokens}", "prefill=recompute", "decode={policy: full_kv}",
        "schedule={policy: fcfs}"},
       "false",
       "true"},
      {"schedule.prefill_order", engine_rules(), "mixed", "prefill_first"},
      {"schedule.reserve", engine_rules(), "prompt", "prompt_and_output"},
      {"schedule.preempted", engine_rules(), "dropped", "cached"},
      {"schedule.engine.name", engine(), "mine", "yours", Effect::reported},
      {"schedule.engine.description", engine(), "mine", "yours", Effect::shown},
      {"schedule.engine.max_batched_tokens", engine(), "2048", "4096"},
      {"schedule.engine.block_size", engine(), "16 tokens", "256 tokens"},
      {"schedule.engine.asynchronous", engine({"cluster.gpu.memory_fraction=0.5"}), "false", "true"},
      {"schedule.engine.prefill_order", engine(), "mixed", "prefill_first"},
      {"schedule.engine.reserve", engine(), "prompt", "prompt_and_output"},
      {"schedule.engine.preempted", engine(), "dropped", "cached"},
      {"schedule.engine.kernels", engine({"cluster.gpu.profile.by_engine=[{kernels: trtllm, profile: h100-trtllm}]"}),
       "vllm", "trtllm"},
      {"schedule.engine.fused_norms", engine({"cluster.gpu.tensor_parallel=2"}), "false", "true"},
      {"schedule.engine.fused_quantise", engine({"model.weight_bytes_per_parameter=1"}), "false", "true"},
      {"schedule.engine.kernel_launch", engine(), "0 us", "2 ms"},
      {"schedule.engine.tokenise", engine(), "0 us", "2 ms"},
      {"schedule.engine.captures_chunks",
       engine({"schedule.engine.kernel_launch=2 ms", "schedule.max_batched_tokens=256"}), "false", "true"},
      {"schedule.engine.captures_requests",
       drafting_engine({"schedule.engine.kernel_launch=2 ms", "cluster.gpu.profile.captured_tokens=8 tokens"}), "false",
       "true"},
      {"schedule.engine.drafts.pass", drafting_engine(), "0 us", "2 ms"},
      {"schedule.engine.drafts.vocabulary", drafting_engine({"decode.drafter.type=eagle3-llama-3.1-8b"}), "0 us",
       "2 ms"},
      {"schedule.engine.drafts.round", drafting_engine(), "0 us", "2 ms"},
      {"schedule.engine.drafts.request", drafting_engine(), "0 us", "2 ms"},
      {"schedule.engine.drafts.layer", drafting_engine(), "0 us", "2 ms"},
      {"schedule.engine.quantised[].compressor", quantising_engine(), kernel("compressor: kivi-4bit, layer: 2 ms"),
       kernel("compressor: other, layer: 2 ms")},
      {"schedule.engine.quantised[].layer", quantising_engine(), kernel("layer: 0 us"), kernel("layer: 2 ms")},
      {"schedule.engine.quantised[].token", quantising_engine(), kernel("token: 0 us"), kernel("token: 1 us")},
      {"schedule.engine.quantised[].elements_per_s", quantising_engine(), kernel("elements_per_s: 1e9"),
       kernel("elements_per_s: 1e7")},
      {"schedule.engine.quantised[].low", quantising_engine(), kernel("layer: 1 us, low: 0"),
       kernel("layer: 1 us, low: 0.5"), Effect::reported},
      {"schedule.engine.quantised[].high", quantising_engine(), kernel("layer: 1 us, high: 2"),
       kernel("layer: 1 us, high: 3"), Effect::reported},
      {"run.duration", {}, "2 s", "3 s"},
      {"run.warmup", {"run.duration=3 s"}, "0 s", "1 s"},
      {"run.seed", {}, "1", "2"},
      {"run.replications", {}, "1", "2"},
      {"run.most_in_flight", {}, "1000", "5", Effect::refused},
      {"run.stretches", {}, "true", "false", Effect::none_yet},
      {"run.sample_every", {}, "1 s", "2 s", Effect::listed},
  };
  for (const std::string& key : serving::slo_keys()) rows.push_back({"slo." + key, {}, "1 ms", "1000 s"});
  for (KeyRow& row : engine_memory_rows()) rows.push_back(std::move(row));
  return rows;
}

std::ostream& operator<<(std::ostream& out, const KeyRow& row) {
  for (const char c : row.key) {
    if (c != '[' && c != ']') out << c;
  }
  return out;
}

std::string why_unread(const scenario::Scenario& scenario, const std::string& key) {
  for (const schema::UnreadKey& rule : scenario::scenario_schema().unread_keys(written_out(scenario))) {
    const bool below = key.starts_with(rule.path) && key.find_first_of(".[", rule.path.size()) == rule.path.size();
    if (key == rule.path || below) return rule.why;
  }
  return {};
}

std::vector<KeyRow> key_rows() {
  std::vector<KeyRow> all;
  for (auto& rows : {model_rows(), cluster_rows(), profile_rows(), kernel_rows(), workload_rows(), decode_rows(),
                     pools_rows(), placement_rows(), reuse_rows(), schedule_rows(), drafting_rows()}) {
    all.insert(all.end(), rows.begin(), rows.end());
  }
  return all;
}

}  // namespace kvsim::testing
