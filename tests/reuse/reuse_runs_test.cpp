// Whole runs whose prompts are put together from chunks: every request finishes whatever the tiers, the method and the
// memory, and the relations that must hold whatever the figures.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/cache/placement/placements.h"
#include "sim/engine/chrome_trace.h"
#include "sim/serving/kv_capacity.h"
#include "tests/reuse/chunk_scenario.h"
#include "tests/support/same_sample.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;

constexpr std::uint64_t kRequests = 40;

const char* word(bool b) {
  return b ? "true" : "false";
}

bool either() {
  return *rc::gen::arbitrary<bool>();
}

std::string random_outages() {
  if (either()) return "[]";
  return fmt::format("[{{at: {} s, lasting: {} s, bandwidth: {}}}]", *rc::gen::inRange(1, 10), *rc::gen::inRange(1, 10),
                     *rc::gen::element(0.0, 0.3));
}

std::string random_storage(bool host_shared) {
  Sets tiers;
  bool shared = host_shared;
  const int count = *rc::gen::inRange(0, 3);
  for (int i = 0; i < count; ++i) {
    shared = shared || either();
    const bool unlimited = i + 1 == count && either();
    tiers.push_back(fmt::format(
        "{{name: tier{}, {}read: {} GB/s, write: {} GB/s, latency: {} us, shared: {}, outages: {}}}", i,
        unlimited ? "" : fmt::format("capacity: {} MB, ", *rc::gen::inRange(10, 4000)), *rc::gen::inRange(1, 12),
        *rc::gen::inRange(1, 12), *rc::gen::inRange(0, 5000), word(shared), random_outages()));
  }
  return fmt::format("cluster.storage=[{}]", fmt::join(tiers, ", "));
}

std::string random_placement() {
  Sets names;
  for (const cache::PlacementEntry& e : cache::placements()) names.emplace_back(e.name);
  const std::string policy = *rc::gen::weightedOneOf<std::string>(
      {{1, rc::gen::just<std::string>("utility")}, {2, rc::gen::elementOf(names)}});
  std::string text = fmt::format("placement={{policy: {}, preload: {}, workers: {}, in_transit: {}, gpu_memory: {} MB",
                                 policy, word(either()), *rc::gen::inRange(1, 4), *rc::gen::element(0.0, 0.1, 0.4),
                                 *rc::gen::element(0, 0, 0, 100));
  if (policy == "utility") {
    text += fmt::format(", utility: {{alpha: {} s, bandwidth: {}, promote: {}}}, options: {{keep_ratios: {}{}}}",
                        *rc::gen::element(0.0, 0.1, 10.0, 1e6), *rc::gen::element<std::string>("nominal", "observed"),
                        word(either()), *rc::gen::element<std::string>("[0.5, 0.1]", "[0.1]"),
                        *rc::gen::element<std::string>("", ", quantisers: [kivi-4bit]"));
  } else if (policy != "none" && policy != "importance_chunks") {
    text += *rc::gen::element<std::string>("", ", compressor: kvzip, keep_ratio: 0.3", ", compressor: kivi-4bit");
  }
  return text + "}";
}

std::string random_prefill() {
  const bool own_tokenizer = either();
  return fmt::format(
      "prefill={{policy: {}, rho: {}, link_tokens: {} tokens, attention: {}, spans: {{enabled: {}}}, speculative: "
      "{{model: {}, gpus: {}, own_tokenizer: {}, tokens_ratio: {}, align_time: {} us}}, importance: {{signals: {}}}}}",
      *rc::gen::element<std::string>("selective", "selective", "selective", "cacheblend", "epic", "full_reuse"),
      *rc::gen::element(0.0, 0.01, 0.15, 0.5, 0.99, 1.0), *rc::gen::inRange(0, 100),
      *rc::gen::element<std::string>("whole", "causal"), word(either()),
      *rc::gen::element<std::string>("llama-3.2-1b", "qwen2.5-0.5b"), *rc::gen::element(0, 0, 1, 2),
      word(own_tokenizer), own_tokenizer ? *rc::gen::element(0.7, 1.0, 1.6) : 1.0, *rc::gen::element(0.0, 0.1, 1000.0),
      *rc::gen::inRange(1, 5));
}

Sets random_machine() {
  switch (*rc::gen::inRange(0, 4)) {
    case 0:  // latent attention, four layers of DeepSeek-V3 for their size
      return {"model={base: deepseek-v3, layers: 4}", "cluster.gpu={type: h100-sxm, activations: 0 B}"};
    case 1:
      return {"model=llama-3.1-8b", "cluster.gpu={type: h100-sxm, tensor_parallel: 2, activations: 0 B}"};
    default:
      return {"model=llama-3.1-8b", "cluster.gpu={type: h100-sxm, activations: 0 B}"};
  }
}

/// Leaves memory for so many tokens' KV.
std::string memory_for(const Sets& sets, std::int64_t tokens) {
  const scenario::Scenario scenario = chunk_scenario(sets);
  const serving::KvCapacity all = serving::kv_capacity(scenario.serving, scenario.serving.cluster.groups.front());
  const std::int64_t spare = all.bytes - tokens * (all.bytes / all.tokens);
  return fmt::format("cluster.gpu.activations={} B", spare / scenario.serving.cluster.groups.front().parallel.tensor);
}

std::string random_workload() {
  const std::string arrivals =
      either() ? fmt::format("arrivals: {{process: gamma, rate: {}/s, cv: 3}}", *rc::gen::inRange(1, 60))
               : fmt::format("closed: {{concurrency: {}}}", *rc::gen::inRange(1, 30));
  const int per_request = *rc::gen::inRange(1, 7);
  return fmt::format(
      "workload={{{}, requests: {}, chunks: {{count: {}, popularity: {}, per_request: {}, tokens: {} tokens}}, "
      "context: "
      "{{distribution: lognormal, mean: {} tokens, cv: 1.5, max: 4k tokens}}, output: {{distribution: exponential, "
      "mean: "
      "{} tokens, max: 1k tokens}}}}",
      arrivals, kRequests, per_request + *rc::gen::inRange(0, 40), *rc::gen::element(0.0, 0.9, 2.0), per_request,
      *rc::gen::inRange(1, 300), *rc::gen::inRange(1, 1000), *rc::gen::inRange(1, 300));
}

Sets random_scenario() {
  const bool host_shared = *rc::gen::inRange(0, 4) == 0;
  Sets sets =
      random_machine() +
      Sets{random_prefill(),
           random_placement(),
           random_storage(host_shared),
           fmt::format(
               "cluster.host={{memory: {} MB, link: {{base: pcie5-x16, read: {} GB/s}}, shared: {}, outages: {}}}",
               *rc::gen::inRange(10, 4000), *rc::gen::element(0.05, 0.5, 5.0, 50.0), word(host_shared),
               random_outages()),
           fmt::format("cluster.replicas={}", *rc::gen::inRange(1, 4)),
           fmt::format("cluster.router={}", *rc::gen::element<std::string>("least_loaded", "round_robin")),
           fmt::format("schedule={{max_requests: {}, max_batched_tokens: {}, asynchronous: {}}}",
                       *rc::gen::inRange(1, 45), *rc::gen::element(20, 100, 512, 2048), word(either())),
           fmt::format("run.seed={}", *rc::gen::inRange(1, 1000)),
           random_workload()};
  sets.push_back(memory_for(sets, *rc::gen::element(1000, 2000, 4000, 8000, 16000)));
  return sets;
}

/// What holds of every run without warm-up to its end.
void check_run(const planner::ExperimentResult& r, const scenario::Scenario& scenario) {
  const Measurements& m = r.measured;
  const serving::ReuseMeasurement& u = m.reuse;
  const models::SharedChunkSpec& chunks = *scenario.workload.chunks;
  RC_ASSERT(m.arrived == kRequests);
  RC_ASSERT(m.completed + m.refused == kRequests);
  RC_ASSERT(m.direct_tokens == m.output_tokens);
  RC_ASSERT(m.hbm_reserved_peak_bytes <= r.capacities.front().bytes + r.capacities.front().weights_bytes);
  const double parts = m.busy_s + m.link_bound_s + m.front_end_s + m.idle_s;
  RC_ASSERT(std::abs(parts - m.capacity_s) < 1e-6 * (1 + m.capacity_s));
  for (const auto& [name, link] : m.links) RC_ASSERT(link.busy_s <= link.capacity_s * (1 + 1e-9) + 1e-9);

  RC_ASSERT(u.prompts == m.completed);
  RC_ASSERT(u.loaded_tokens + u.apart_tokens == u.chunk_tokens);
  RC_ASSERT(u.chunk_tokens == static_cast<std::int64_t>(m.completed) * chunks.tokens_per_request());
  RC_ASSERT(u.recomputed_tokens >= 0 && u.recomputed_tokens <= u.chunk_tokens);
  RC_ASSERT(u.other_tokens >= static_cast<std::int64_t>(m.completed));
  RC_ASSERT(m.prompt_tokens == u.chunk_tokens + u.other_tokens);
  RC_ASSERT(m.placement.loaded_tokens + m.placement.computed_tokens == m.prompt_tokens);

  const std::vector<double> ttft = m.ttft_s.values();
  double ttft_s = 0;
  for (const double t : ttft) ttft_s += t;
  RC_ASSERT(ttft.size() == m.completed);
  RC_ASSERT(std::abs(u.queue_s + u.assemble_s + u.prefill_s - ttft_s) < 1e-6 * (1 + ttft_s));
  RC_ASSERT(u.queue_s >= 0);
  RC_ASSERT(u.load_s >= 0);
  RC_ASSERT(u.select_s >= 0);
  RC_ASSERT(u.load_s <= u.assemble_s + 1e-9);
  RC_ASSERT(u.select_s <= u.assemble_s + 1e-9);
  RC_ASSERT(u.selections_longer <= u.prompts);
  const serving::ServingConfig& c = scenario.serving;
  RC_ASSERT(u.scorers_busy_s <=
            static_cast<double>(c.cluster.groups.front().scorer_gpus * c.cluster.groups.front().count) * m.measured_s +
                1e-6);

  RC_ASSERT(m.placement.quality.values().size() == m.completed);
  for (const double q : m.placement.quality.values()) RC_ASSERT(q >= 0 && q <= 1);
  RC_ASSERT(m.answers.answers == m.completed);
  RC_ASSERT(m.answers.score >= 0);
  RC_ASSERT(m.good == m.answers.good && m.good == m.completed);  // no objective, no floor
}

RC_GTEST_PROP(ReuseRunsProperty, EveryRequestFinishesAndNothingIsLost, ()) {
  const Sets sets = random_scenario();
  RC_LOG() << fmt::format("{}", fmt::join(sets, "\n"));
  const scenario::Scenario scenario = chunk_scenario(sets);
  const planner::ExperimentResult r = planner::run_experiment(scenario);
  const Measurements& m = r.measured;
  RC_CLASSIFY(m.preemptions > 0, "preempted");
  RC_CLASSIFY(m.refused > 0, "refused");
  RC_CLASSIFY(m.refused == kRequests, "refused all");
  RC_CLASSIFY(m.reuse.apart_tokens > 0 && m.reuse.loaded_tokens > 0, "loaded and computed");
  RC_CLASSIFY(m.placement.joined_loads > 0, "joined a load");
  RC_CLASSIFY(m.reuse.selections_longer > 0, "waited for a choice");
  RC_CLASSIFY(m.reuse.scorers_busy_s > 0, "scored elsewhere");
  check_run(r, scenario);
}

RC_GTEST_PROP(ReuseRunsProperty, VerifiedRequestsFinishAndNothingIsLost, ()) {
  Sets sets = random_scenario();
  sets.push_back(
      fmt::format("decode={{policy: draft_verify, draft_length: {}, acceptance: {}}}", *rc::gen::inRange(1, 40),
                  *rc::gen::element<std::string>("{model: constant, agreement: 0.9}",
                                                 "{model: heterogeneous, agreement: 0.7, concentration: 2}")));
  sets.emplace_back("schedule.max_batched_tokens=128");
  sets.push_back("schedule.policy=" +
                 *rc::gen::element<std::string>("fcfs", "staggered", "lock_step", "sequential_verify"));
  RC_LOG() << fmt::format("{}", fmt::join(sets, "\n"));
  const planner::ExperimentResult r = planner::run_experiment(chunk_scenario(sets));
  const Measurements& m = r.measured;
  RC_CLASSIFY(m.preemptions > 0, "preempted");
  RC_CLASSIFY(m.reuse.verified_tokens > 0, "verified");
  RC_CLASSIFY(m.refused > 0, "refused");
  RC_ASSERT(m.completed + m.refused == kRequests);
  RC_ASSERT(m.accepted_tokens + m.corrections + m.direct_tokens == m.output_tokens);
  RC_ASSERT(m.accepted_tokens + m.rejected_tokens == m.drafted_tokens);
  RC_ASSERT(m.hbm_reserved_peak_bytes <= r.capacities.front().bytes + r.capacities.front().weights_bytes);
  const double parts = m.busy_s + m.link_bound_s + m.front_end_s + m.idle_s;
  RC_ASSERT(std::abs(parts - m.capacity_s) < 1e-6 * (1 + m.capacity_s));
  RC_ASSERT(m.reuse.prompts == m.completed);
  RC_ASSERT(m.reuse.first_drafts <= m.completed);
  RC_ASSERT(m.prompt_tokens == m.reuse.chunk_tokens + m.reuse.other_tokens);
  RC_ASSERT(m.quality == static_cast<double>(m.completed));
  // Whoever had drafts to verify had its prompt computed whole, once at least.
  RC_ASSERT(m.reuse.first_drafts == 0 || m.reuse.verified_tokens > 0);
}

Sets verified_by(const std::string& schedule) {
  return {"decode={policy: draft_verify, acceptance: {model: constant, agreement: 1}}",
          "schedule={policy: " + schedule + "}"};
}

TEST(VerifiedChunks, StaggeredTakesMemoryOnlyWhileAPromptIsComputedWhole) {
  // Prompts come faster than they are computed: under fcfs all that draft have memory for their whole prompts.
  const Sets busy = {"workload.arrivals.rate=4/s", "workload.requests=60"};
  const Measurements fcfs = run_chunks(busy + verified_by("fcfs"));
  const Measurements staggered = run_chunks(busy + verified_by("staggered"));
  EXPECT_EQ(staggered.completed, fcfs.completed);
  EXPECT_EQ(staggered.reuse.verified_tokens, fcfs.reuse.verified_tokens);
  EXPECT_LE(staggered.kv_streaming_peak_bytes, fcfs.kv_streaming_peak_bytes);
  EXPECT_LT(staggered.kv_streaming_mean_bytes, fcfs.kv_streaming_mean_bytes / 2);
  EXPECT_LT(staggered.ttft_s.mean(), 1.1 * fcfs.ttft_s.mean());
}

TEST(VerifiedChunks, APromptThatWasComputedWholeIsReadWhole) {
  // Its chunks are stored in a third of their tokens, which ends with the verification: decoding is as slow as before.
  const auto decoding_s = [](const std::string& placement) {
    const Measurements m = run_chunks(Sets{"placement={policy: lru, preload: true" + placement + "}"} +
                                      verified_by("fcfs") + Sets{"workload.output=200 tokens"});
    return m.e2e_s.mean() - m.ttft_s.mean();
  };
  EXPECT_DOUBLE_EQ(decoding_s(", compressor: kvzip, keep_ratio: 0.3"), decoding_s(""));
}

void expect_same(const Measurements& a, const Measurements& b) {
  for (const auto sample : {&Measurements::ttft_s, &Measurements::tpot_s, &Measurements::e2e_s, &Measurements::itl_s,
                            &Measurements::iteration_s}) {
    RC_ASSERT(testing::same(a.*sample, b.*sample));
  }
  RC_ASSERT(testing::same(a.placement.quality, b.placement.quality));
  RC_ASSERT(a.measured_s == b.measured_s);
  RC_ASSERT(a.events == b.events);
  RC_ASSERT(a.preemptions == b.preemptions);
  RC_ASSERT(a.hbm_peak_bytes == b.hbm_peak_bytes);
  RC_ASSERT(a.placement.moved_bytes == b.placement.moved_bytes);
  RC_ASSERT(a.answers.score == b.answers.score);
  RC_ASSERT(a.reuse.recomputed_tokens == b.reuse.recomputed_tokens);
  RC_ASSERT(a.reuse.select_s == b.reuse.select_s);
  RC_ASSERT(a.reuse.scorers_busy_s == b.reuse.scorers_busy_s);
}

RC_GTEST_PROP(ReuseRunsProperty, EqualSeedsGiveEqualRunsWithAndWithoutATimeline, ()) {
  const Sets sets = random_scenario();
  RC_LOG() << fmt::format("{}", fmt::join(sets, "\n"));
  const Measurements a = run_chunks(sets);
  std::ostringstream timeline;
  engine::ChromeTrace trace(timeline);
  planner::ExperimentOptions options;
  options.trace = &trace;
  expect_same(a, planner::run_experiment(chunk_scenario(sets), options).measured);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
