// Every decode policy with every way in which prompts come to the GPU and every schedule: it runs with all conservation
// checks on, or is refused with a reason. Nothing is left to chance: the lists are the registries'.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "planner/experiment.h"
#include "sim/engine/invariant.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/schedule_policy.h"
#include "tools/results/scenario_words.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

using Sets = std::vector<std::string>;

constexpr const char* kHead = R"(
name: matrix
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, activations: 0 B}
  host: {memory: 60 GB}
)";
constexpr const char* kStorage = R"(  storage:
    - {name: ssd, read: 12 GB/s, write: 6 GB/s}
)";
constexpr const char* kRun = R"(
run: {seed: 7}
slo: {ttft_p99: 5 s}
)";

constexpr const char* kPlain = R"(
workload: {closed: {concurrency: 6}, context: 6k tokens, output: 40 tokens, requests: 20}
)";
constexpr const char* kShared = R"(
workload:
  arrivals: {process: poisson, rate: 3/s}
  prefixes: {count: 12, popularity: 0.9, tokens: 6000 tokens}
  context: 64 tokens
  output: 40 tokens
  requests: 40
prefill: prefix_cache
)";
constexpr const char* kChunks = R"(
workload:
  arrivals: {process: poisson, rate: 2/s}
  chunks: {count: 40, popularity: 0.9, per_request: 8, tokens: 512 tokens}
  context: 64 tokens
  output: 40 tokens
  requests: 20
)";

struct Prompts {
  std::string name;
  std::string yaml;
  bool stored = true;  ///< in tiers
};

std::vector<Prompts> ways() {
  const std::string plain = kPlain, shared = kShared, chunks = kChunks;
  std::vector<Prompts> all = {{"recompute", plain + "prefill: recompute\n", false},
                              {"stored", plain + "prefill: stored\n", false}};
  for (const char* policy :
       {"none", "lru", "arc", "lru, compressor: kvzip, keep_ratio: 0.25", "lru, compressor: kivi-4bit",
        "importance_chunks", "utility, options: {keep_ratios: [0.5, 0.25], methods: [kvzip, snapkv]}"}) {
    all.push_back({fmt::format("placed by {}", policy), shared + fmt::format("placement: {{policy: {}}}\n", policy)});
  }
  for (const char* policy : {"full_reuse", "selective", "cacheblend", "epic"}) {
    const bool chooses = std::string(policy) == "selective";
    all.push_back(
        {policy, chunks + fmt::format("placement: {{policy: lru, preload: true}}\nprefill: {{policy: {}{}}}\n", policy,
                                      chooses ? ", speculative: {model: llama-3.2-1b, gpus: 1}" : "")});
  }
  all.push_back(
      {"chunks, nothing stored",
       chunks + "placement: {policy: none}\nprefill: {policy: selective, speculative: {model: llama-3.2-1b}}\n"});
  return all;
}

std::string decode_of(const serving::DecodePolicy& policy, bool quantised) {
  std::string text = fmt::format(
      "decode:\n  policy: {}\n  acceptance: {{model: constant, agreement: 0.9}}\n"
      "  draft_length: 6\n  drafter: {{type: eagle3-llama-3.1-8b}}\n",
      policy.name);
  if (quantised) return text + "  compressor: kivi-2bit\n";
  return text + "  compressor: fast-kvzip\n  keep_ratio: 0.25\n";
}

enum class Fate { ran, refused };

/// A run that finishes and adds up, or a refusal with a reason.
Fate fate_of(const std::string& text, const std::string& what) {
  scenario::Scenario s;
  try {
    s = scenario::load_scenario_text(text, "matrix.yaml");
  } catch (const schema::InputError& e) {
    const std::string reason = e.what();
    EXPECT_GT(reason.size(), 40U) << what << ": " << reason;
    EXPECT_EQ(reason.find("unknown key"), std::string::npos) << what << ": " << reason;
    return Fate::refused;
  }
  const ExperimentResult r = run_experiment(s);  // throws where a conservation law broke
  const serving::Measurements& m = r.measured;
  EXPECT_EQ(m.refused, 0U) << what << ": " << (r.refusals.empty() ? "" : r.refusals.front());
  EXPECT_EQ(m.completed, m.arrived) << what;
  EXPECT_EQ(m.accepted_tokens + m.rejected_tokens, m.drafted_tokens) << what;
  EXPECT_EQ(m.accepted_tokens + m.corrections + m.direct_tokens, m.output_tokens) << what;
  EXPECT_LE(m.hbm_reserved_peak_bytes, r.capacity.bytes + r.capacity.weights_bytes) << what;
  EXPECT_LE(m.drafter.accepted_tokens, m.drafter.proposed_tokens) << what;
  const double parts = m.busy_s + m.link_bound_s + m.front_end_s + m.idle_s;
  EXPECT_NEAR(parts, m.capacity_s, 1e-6 * (1 + m.capacity_s)) << what;
  // Lossless runs give out what full-KV decoding gives out; the others say how far they are from it.
  if (results::lossless(s)) {
    EXPECT_DOUBLE_EQ(m.quality, static_cast<double>(m.completed_measured)) << what;
    EXPECT_EQ(m.kl_nats, 0) << what;
  }
  return Fate::ran;
}

TEST(CompositionMatrix, EveryPairOfAxesRunsOrIsRefusedWithAReason) {
  std::map<std::string, int> ran, refused;
  for (const serving::DecodePolicy& decode : serving::decode_policies()) {
    for (const Prompts& prompts : ways()) {
      for (const serving::SchedulePolicyEntry& schedule : serving::schedule_policies()) {
        const std::string what = fmt::format("{} x {} x {}", decode.name, prompts.name, schedule.name);
        const std::string text =
            fmt::format("{}{}{}{}{}schedule: {{policy: {}}}\n", kHead, prompts.stored ? kStorage : "", kRun,
                        prompts.yaml, decode_of(decode, decode.low_bit_copy), schedule.name);
        const Fate fate = fate_of(text, what);
        (fate == Fate::ran ? ran : refused)[std::string(decode.name)] += 1;
      }
    }
  }
  for (const serving::DecodePolicy& decode : serving::decode_policies()) {
    EXPECT_GT(ran[std::string(decode.name)], 0) << decode.name;
  }
  // What must compose.
  // Four schedules each: recompute and stored, four ways to store compressed, five to have chunks.
  EXPECT_EQ(ran["draft_verify"], 4 * (2 + 4 + 5));
  EXPECT_EQ(ran["draft_verify+drafter"], 4 * (2 + 4));
  EXPECT_EQ(ran["full_kv"], 14);
}

TEST(CompositionMatrix, EveryPolicyBetweenPoolsRunsOrIsRefusedWithAReason) {
  constexpr const char* kPools = R"(
name: matrix of pools
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, activations: 0 B}
  pools:
    local: {nodes: 1, link: {base: storage-node-fast, gathers: [{name: rows, per_row: 10 ns}]}}
    remote: {nodes: 2, link: {base: storage-node-slow, gathers: [{name: rows, per_row: 10 ns}]}}
)";
  const std::string plain = kPlain, shared = kShared;
  std::map<std::string, int> ran;
  std::size_t combination = 0;  // dispatch policies in turn: each meets every value of every other key
  const auto dispatch_of = [&](const serving::DecodePolicy& decode) -> std::string {
    switch (combination++ % 3) {
      case 0:
        return "online";
      case 1:
        return "admit";
      default:
        return decode.verifies ? "weighted, weights: {P1_cached: 1, P1_stateless: 1, B2: 1}"
                               : "weighted, weights: {B1: 1, B2: 1}";
    }
  };
  const auto placed = [&](const std::string& placement) { return shared + "placement: {policy: " + placement + "}\n"; };
  for (const serving::DecodePolicy& decode : serving::decode_policies()) {
    for (const std::string& prompts :
         {plain + "prefill: recompute\n", plain + "prefill: stored\n", shared, placed("lru"),
          placed("lru, compressor: kvzip, keep_ratio: 0.25"), placed("utility, options: {keep_ratios: [0.5]}")}) {
      for (const bool quantised : {false, true}) {
        for (const char* schedule : {"{}", "{asynchronous: true}", "{arrival: layerwise}"}) {
          for (const char* lengths :
               {"fixed", "adaptive", "goodput", "table, table: [{batch: 64, context: 8k tokens, draft_length: 4}]"}) {
            const std::string what =
                fmt::format("{} x {} x {} x {}, quantised {}", decode.name, prompts, schedule, lengths, quantised);
            const std::string text = fmt::format(
                "{}{}{}{}  draft_lengths: {{policy: {}}}\nschedule: {}\ndispatch: {{policy: {}}}\n", kPools, kRun,
                prompts, decode_of(decode, decode.low_bit_copy || quantised), lengths, schedule, dispatch_of(decode));
            ran[std::string(decode.name)] += fate_of(text, what) == Fate::ran ? 1 : 0;
          }
        }
      }
    }
  }
  // 24 of each way to have prompts: three without a placement, one that stores them whole, two that compress them.
  for (const char* policy :
       {"draft_verify", "draft_verify+drafter", "quantised_only", "fetch_on_demand", "speculative_prefetch",
        "speculative_prefetch+drafter", "full_offload", "full_offload+drafter"}) {
    EXPECT_EQ(ran[policy], 72) << policy;
  }
  for (const char* policy : {"lossy", "lossy+drafter"}) EXPECT_EQ(ran[policy], 96) << policy;
  for (const char* policy : {"full_kv", "drafter"}) EXPECT_EQ(ran[policy], 144) << policy;
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
