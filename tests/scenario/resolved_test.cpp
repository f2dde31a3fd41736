// The resolved scenario, with every default and catalogue entry written out, is the scenario.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/schema/error.h"
#include "models/schema/overrides.h"
#include "models/schema/yaml.h"
#include "sim/serving/simulation.h"
#include "tests/scenario/key_rows.h"
#include "tests/scenario/schema_keys.h"
#include "tests/scenario/summary.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

scenario::Scenario again(const scenario::Scenario& s) {
  return scenario::load_scenario_text(resolved_yaml(s), "resolved.yaml");
}

std::string measured(const scenario::Scenario& s) {
  return summary(planner::run_experiment(s));
}

struct Variant {
  const char* name;
  Sets sets;

  friend std::ostream& operator<<(std::ostream& out, const Variant& v) { return out << v.name; }
};

class Resolved : public ::testing::TestWithParam<Variant> {};

TEST_P(Resolved, LoadsAgainToTheSameResults) {
  const scenario::Scenario s = small_scenario(GetParam().sets);
  EXPECT_EQ(measured(again(s)), measured(s)) << resolved_yaml(s);
}

TEST_P(Resolved, IsItsOwnResolution) {
  const std::string once = resolved_yaml(small_scenario(GetParam().sets));
  EXPECT_EQ(resolved_yaml(scenario::load_scenario_text(once, "resolved.yaml")), once);
}

INSTANTIATE_TEST_SUITE_P(
    Variants, Resolved,
    ::testing::Values(
        Variant{"small", {}}, Variant{"full_kv", {"decode={policy: full_kv}", "schedule.policy=fcfs"}},
        Variant{"quantised", {"decode={policy: draft_verify, compressor: kivi-2bit, draft_length: 12}"}},
        Variant{"changed_entries",
                {"model.weights=20 GB", "cluster.gpu.type.memory_bandwidth=2.5 TB/s", "cluster.host.link.latency=3 us",
                 "decode.compressor.step_kl.source=assumption"}},
        Variant{"latent_experts", {"model=deepseek-v3", "cluster.gpu={type: h200, tensor_parallel: 8}"}},
        Variant{"open_loop",
                {"workload={arrivals: {process: gamma, rate: 3/s, cv: 2}, requests: 30, context: "
                 "{distribution: lognormal, mean: 9k tokens, cv: 0.7}, output: 99 tokens}"}},
        Variant{"empirical", {"workload.context={distribution: empirical, values: [4k tokens, 9k tokens]}"}},
        Variant{"uniform", {"workload.output={distribution: uniform, min: 10 tokens, max: 90 tokens}"}},
        Variant{
            "shared_prefixes",
            {"workload.prefixes={count: 5, popularity: 0.8, tokens: {distribution: exponential, mean: 2k tokens}}"}},
        Variant{"sessions",
                {"workload={closed: {concurrency: 5}, context: 1k tokens, output: 50 tokens, sessions: {turns: {mean: "
                 "2.5, distribution: exponential, max: 9}, growth: 200 tokens, think_time: {distribution: gamma, mean: "
                 "2 s, cv: 0.5}, count: 20, sub_agents: {share: 0.5, count: 2, turns: 2, context: 2k tokens}}}"}},
        Variant{"classes",
                {"workload={arrivals: {rate: 9/s}, requests: 40, classes: [{name: a, share: 2, context: 1k tokens, "
                 "output: 50 tokens, slo: {ttft_p99: 1 s}}, {name: b, share: 1, context: 3k tokens, output: 20 tokens, "
                 "prefixes: {count: 3, tokens: 1k tokens}}]}"}},
        Variant{"rates_of_a_table",
                {"workload={arrivals: {over_time: {table: [{at: 0 s, rate: 3/s}, {at: 7 s, rate: 10/s}], linear: true, "
                 "period: 20 s}}, requests: 90, context: 1k tokens, output: 50 tokens}"}},
        Variant{"rates_of_a_sine",
                {"workload={arrivals: {rate: 6/s, over_time: {amplitude: 0.7, period: 9 s, phase: 2 s}}, requests: 90, "
                 "context: 1k tokens, output: 50 tokens}"}},
        Variant{"chunks", {"workload.chunks={count: 50, popularity: 0.8, per_request: 6, tokens: 400 tokens}"}},
        Variant{"timed", {"run={duration: 3 s, warmup: 500 ms, seed: 9, replications: 2}"}},
        Variant{"objectives", {"slo={ttft_p99: 1.5 s, tpot_p99: 33 ms, itl_p99: 1 s, e2e_p99: 10 s}"}},
        Variant{"acceptance_curve",
                {"decode.acceptance={model: curve, points: [{draft_length: 5, accepted: 4}, {draft_length: 30, "
                 "accepted: 14.5}]}"}},
        Variant{"positions", {"decode.acceptance={model: positions, positions: [0.74, 0.54, 0.41]}"}},
        Variant{"differing", {"decode.acceptance={model: heterogeneous, agreement: 0.9, concentration: 7}"}},
        Variant{"recorded", {"decode.acceptance={model: recorded, lengths: [0, 4, 9, 20]}"}},
        Variant{"adaptive",
                {"decode.draft_lengths={policy: adaptive, maximum: 40}", "decode.offloaded=6", "decode.resident=1",
                 "schedule.arrival_slack=1"}},
        Variant{"drafter", {"decode={policy: drafter, drafter: {type: eagle3-llama-3.1-8b}}", "schedule.policy=fcfs"}},
        Variant{"drafter_within_drafts",
                {"decode.policy=draft_verify+drafter",
                 "decode.drafter={type: llama-3.2-1b, draft_length: 3, acceptance: {model: positions, positions: [0.7, "
                 "0.5]}}"}},
        Variant{"drafter_of_its_own",
                {"decode.policy=draft_verify+drafter",
                 "decode.drafter.type={base: llama-3.2-1b, network: {base: llama-3.2-1b, layers: 4}, acceptance: "
                 "{law: {model: heterogeneous, agreement: 0.6}, source: assumption, reference: x}}"}},
        Variant{"sparse",
                {"decode={policy: sparse_self, draft_length: 10, sparse: {selection: pillar-attention, keep_ratio: "
                 "0.05, draft_length: 8, acceptance: {model: constant, agreement: 0.9}}}"}},
        Variant{"sparse_with_a_drafter",
                {"decode={policy: sparse_self+drafter, draft_length: 10, drafter: {type: llama-3.2-1b}, sparse: "
                 "{selection: pillar-attention, keep_ratio: 0.05}}"}},
        Variant{"drafts_on_stored_prompts", placed({"placement={policy: lru, compressor: keydiff, keep_ratio: 0.3}",
                                                    "decode={policy: draft_verify}"})},
        Variant{"drafts_on_chunks",
                blended({"decode={policy: draft_verify, acceptance: {model: constant, agreement: 0.9}}"})},
        Variant{"stored_by_utility", placed({"placement={policy: utility, profiling: {online: true}}"})},
        Variant{"stored_by_lru", placed({"placement={policy: lru, compressor: keydiff, keep_ratio: 0.3}"})},
        Variant{"selective", blended()}, Variant{"epic", blended({"prefill={policy: epic, link_tokens: 8 tokens}"})},
        Variant{"cacheblend", blended({"prefill={policy: cacheblend, rho: 0.3}"})},
        Variant{"full_reuse", blended({"prefill=full_reuse", "placement.preload=true"})},
        Variant{"prefix_cache_of_chunks", blended({"prefill=prefix_cache"})},
        Variant{"recompute_of_chunks", blended({"prefill=recompute"})},
        Variant{"full_recompute_of_chunks", blended({"prefill=full_recompute", "slo={quality_floor: 0.9}"})},
        Variant{"scorers",
                blended({"prefill.speculative={gpus: 1, own_tokenizer: true, tokens_ratio: 1.2, model: qwen2.5-0.5b}",
                         "prefill.spans={longest: 8 tokens, cap: tokens}", "prefill.attention=causal",
                         "workload.tasks=[hotpotqa, {base: samsum, spread: 0}]"})},
        Variant{"scores_from_a_file", blended({"workload.chunks={count: 200, per_request: 2, tokens: 2 tokens}",
                                               "prefill.importance={source: file, path: " +
                                                   source_path("tests/scenario/data/scores.jsonl") + "}"})},
        Variant{"stored_chunks",
                placed({"placement={policy: importance_chunks}", "cluster.replicas=2", "cluster.host.shared=false"})},
        Variant{"group",
                {"cluster={replicas: 2, router: round_robin, gpu: {type: a100, tensor_parallel: 4}, host: "
                 "{memory: 512 GiB, discipline: fair_share}}"}}));

TEST(ResolvedScenario, NamesEveryKeyWithADefault) {
  const scenario::Scenario s = small_scenario({"workload.prefixes={count: 2, tokens: 1k tokens}"});
  const schema::ConfigNode resolved = schema::read_yaml(resolved_yaml(s), "resolved.yaml");
  for (const ScenarioKey& key : scenario_keys()) {
    const bool alternative = key.path.starts_with("workload.arrivals") || key.path.starts_with("workload.trace") ||
                             key.path.starts_with("workload.chunks") || key.path.starts_with("workload.sessions") ||
                             key.path.starts_with("cluster.pools") || key.path.starts_with("dispatch") ||
                             key.path.starts_with("placement") || key.path.starts_with("decode.drafter") ||
                             key.path.starts_with("decode.sparse") ||
                             (key.path.starts_with("prefill.") && key.path != "prefill.policy") ||
                             key.path == "cluster.host.shared";
    const bool list = key.path.find("[]") != std::string::npos;
    if (key.of_an_entry || key.default_text.empty() || alternative || list || key.path == "description") continue;
    EXPECT_NE(resolved.find_path(key.path), nullptr) << key.path << " (default " << key.default_text << ")";
  }
}

TEST(ResolvedScenario, NamesEveryKeyOfSessionsWhereThereAreSome) {
  const auto resolved = schema::read_yaml(
      resolved_yaml(small_scenario(
          {"workload={closed: {concurrency: 5}, context: 1k tokens, output: 50 tokens, "
           "sessions: {turns: 3, growth: 9 tokens, think_time: 1 s, count: 2, sub_agents: {count: 2, turns: "
           "1, context: 2k tokens}}}"})),
      "resolved.yaml");
  for (const ScenarioKey& key : scenario_keys()) {
    if (!key.path.starts_with("workload.sessions") || key.path.find("[]") != std::string::npos) continue;
    EXPECT_NE(resolved.find_path(key.path), nullptr) << key.path;
  }
}

TEST(ResolvedScenario, NamesEveryKeyOfChunksWherePromptsAreMadeOfThem) {
  const auto resolved = schema::read_yaml(resolved_yaml(small_scenario(blended())), "resolved.yaml");
  for (const ScenarioKey& key : scenario_keys()) {
    if (!key.path.starts_with("prefill") && !key.path.starts_with("workload.chunks") &&
        key.path != "placement.preload" && key.path != "placement.granularity") {
      continue;
    }
    if (key.of_an_entry || key.default_text.empty()) continue;
    EXPECT_NE(resolved.find_path(key.path), nullptr) << key.path << " (default " << key.default_text << ")";
  }
  EXPECT_NE(resolved.find_path("workload.tasks.2.scores.0.rho"), nullptr);
  EXPECT_NE(resolved.find_path("prefill.speculative.model.layers"), nullptr);
  const auto without = schema::read_yaml(resolved_yaml(small_scenario()), "resolved.yaml");
  EXPECT_EQ(without.find_path("workload.tasks"), nullptr);
  EXPECT_EQ(without.find_path("prefill.rho"), nullptr);
}

TEST(ResolvedScenario, NamesEveryKeyOfADrafterAndOfSparseDrafts) {
  const auto resolved = schema::read_yaml(
      resolved_yaml(
          small_scenario({"decode.drafter={type: llama-3.2-1b, acceptance: {model: constant, agreement: 0.5}}",
                          "decode.sparse={selection: pillar-attention, acceptance: {model: constant, "
                          "agreement: 0.5}}"})),
      "resolved.yaml");
  for (const ScenarioKey& key : scenario_keys()) {
    const bool asked = key.path.starts_with("decode.drafter") || key.path.starts_with("decode.sparse");
    if (!asked || key.of_an_entry || key.default_text.empty() || key.path.find("[]") != std::string::npos) continue;
    EXPECT_NE(resolved.find_path(key.path), nullptr) << key.path << " (default " << key.default_text << ")";
  }
  EXPECT_NE(resolved.find_path("decode.drafter.type.network.layers"), nullptr);
  EXPECT_NE(resolved.find_path("decode.sparse.selection.reads_only"), nullptr);
}

TEST(ResolvedScenario, NamesEveryKeyOfPlacementUnderThePolicyThatReadsIt) {
  std::vector<schema::ConfigNode> resolved;
  for (const char* policy : {"utility", "lru", "importance_chunks"}) {
    const scenario::Scenario s = small_scenario(placed({std::string("placement={policy: ") + policy + "}"}));
    resolved.push_back(schema::read_yaml(resolved_yaml(s), "resolved.yaml"));
  }
  for (const ScenarioKey& key : scenario_keys()) {
    if (!key.path.starts_with("placement") && key.path != "cluster.host.shared") continue;
    const bool list = key.path.find("[]") != std::string::npos;
    if (key.of_an_entry || key.default_text.empty() || list) continue;
    EXPECT_TRUE(std::any_of(resolved.begin(), resolved.end(), [&](const auto& r) { return r.find_path(key.path); }))
        << key.path;
  }
}

TEST(ResolvedScenario, WritesOutTheEntriesThatTheGpuBringsWithIt) {
  const auto s = small_scenario({"cluster={gpu: {type: h200, tensor_parallel: 2}, host: {memory: 1 TiB}}"});
  const schema::ConfigNode resolved = schema::read_yaml(resolved_yaml(s), "resolved.yaml");
  for (const char* key : {"cluster.gpu.profile.linear.t0", "cluster.gpu.peer_link.read", "cluster.host.link.read"}) {
    EXPECT_NE(resolved.find_path(key), nullptr) << key;
  }
}

TEST(Defaults, AsDocumentedAreThoseUsed) {
  // Each key left out and each given its documented default come to the same.
  const std::vector<KeyRow> rows = key_rows();
  int checked = 0;
  for (const ScenarioKey& key : scenario_keys()) {
    if (key.of_an_entry || key.default_text.empty() || key.path.find("[]") != std::string::npos) continue;
    for (const KeyRow& row : rows) {
      if (row.key != key.path || row.effect != Effect::measured) continue;
      Sets sets = {"workload.requests=20"};
      sets.insert(sets.end(), row.base.begin(), row.base.end());
      if (const auto gpu = key.path.find(".gpu."); key.path.starts_with("cluster.pools.") && gpu != std::string::npos) {
        // The GPUs of a pool have what they leave out from cluster.gpu.
        sets.push_back("cluster" + key.path.substr(gpu) + "=" + key.default_text);
      }
      schema::ConfigNode document = schema::read_yaml(kSmallScenario, "small.yaml");
      for (const std::string& set : sets) schema::apply_set(document, set);
      if (document.find_path(key.path) || key.path.starts_with("workload.trace")) continue;
      std::string left_out;
      try {
        left_out = measured(small_scenario(sets));
      } catch (const schema::InputError&) {
        continue;  // needed in this scenario
      }
      sets.push_back(key.path + "=" + key.default_text);
      EXPECT_EQ(measured(small_scenario(sets)), left_out) << sets.back();
      ++checked;
    }
  }
  EXPECT_GE(checked, 25);
}

TEST(Defaults, OfTheSentencesAreThoseUsed) {
  const auto same = [](const Sets& a, const Sets& b) {
    EXPECT_EQ(summary(measure_with(a)), summary(measure_with(b))) << b.back();
  };
  const std::string slow = "cluster.host.link.read=5 GB/s";
  same({slow}, {slow, "decode.draft_limit=40"});  // twice the draft length
  same({slow, "decode.draft_limit=20"}, {slow, "decode.draft_limit=strict"});
  same({}, {"schedule.arrival=layerwise"});
  same({}, {"schedule.arrival_slack=0"});
  same({"schedule.arrival=whole"}, {"schedule.arrival=whole", "schedule.arrival_slack=1"});
  same({}, {"decode.offloaded=all"});
  same({}, {"cluster.gpu.profile=h100-vllm"});   // the GPU's own
  same({"cluster.host={memory: 512 GiB}"}, {});  // pcie5-x16 is the GPU's own
  same({"cluster.gpu.tensor_parallel=16"}, {"cluster.gpu.tensor_parallel=16", "cluster.gpu.peer_link=nvlink4"});
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
