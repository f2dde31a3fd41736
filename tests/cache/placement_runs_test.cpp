// Whole runs with stored prompts in tiers: every request finishes whatever the tiers and the policy, and the relations
// that must hold whatever the figures.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/kernels/step_time.h"
#include "sim/cache/placement/placements.h"
#include "sim/engine/chrome_trace.h"
#include "sim/engine/random.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"
#include "tests/pools/pools_runs.h"
#include "tests/support/same_sample.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;
constexpr const char* kStoredPrompts = R"(
name: stored prompts
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, activations: 0 B}
  host: {memory: 8 GB, link: pcie5-x16}
  storage:
    - {name: ssd, capacity: 40 GB, read: 3 GB/s, write: 2 GB/s, latency: 100 us}
    - {name: remote, read: 1 GB/s, write: 1 GB/s, latency: 5 ms}
workload:
  arrivals: {process: poisson, rate: 2/s}
  prefixes: {count: 30, popularity: 0.9, tokens: 6000 tokens}
  context: {mean: 64 tokens}
  output: {mean: 64 tokens}
  requests: 200
prefill: prefix_cache
placement:
  policy: utility
decode: {policy: full_kv}
)";

scenario::Scenario stored_prompts(const Sets& sets) {
  return scenario::load_scenario_text(kStoredPrompts, "stored.yaml", sets);
}

Measurements run(const Sets& sets) {
  return measure(stored_prompts(sets));
}

std::string random_outages() {
  if (*rc::gen::arbitrary<bool>()) return "[]";
  return fmt::format("[{{at: {} s, lasting: {} s, bandwidth: {}}}]", *rc::gen::inRange(1, 20), *rc::gen::inRange(1, 20),
                     *rc::gen::element(0.0, 0.3));
}

std::string random_storage() {
  Sets tiers;
  bool shared = false;
  const int count = *rc::gen::inRange(0, 4);
  for (int i = 0; i < count; ++i) {
    shared = shared || *rc::gen::arbitrary<bool>();
    const bool unlimited = i + 1 == count && *rc::gen::arbitrary<bool>();
    tiers.push_back(fmt::format(
        "{{name: tier{}, {}read: {} GB/s, write: {} GB/s, latency: {} us, shared: {}, outages: {}}}", i,
        unlimited ? "" : fmt::format("capacity: {} GB, ", *rc::gen::inRange(1, 40)), *rc::gen::inRange(1, 12),
        *rc::gen::inRange(1, 12), *rc::gen::inRange(0, 5000), shared, random_outages()));
  }
  return fmt::format("cluster.storage=[{}]", fmt::join(tiers, ", "));
}

std::string random_placement(const std::string& policy, int most_requests) {
  const bool blocks = *rc::gen::arbitrary<bool>();
  std::string placement =
      fmt::format("placement={{policy: {}, granularity: {}, workers: {}, in_transit: {}, gpu_memory: {} GB", policy,
                  blocks ? "blocks" : "contexts", *rc::gen::inRange(1, 9), *rc::gen::element(0.0, 0.05, 0.1, 0.4),
                  *rc::gen::element(0, 0, 0, 1));
  if (policy == "utility") {
    placement += fmt::format(
        ", utility: {{alpha: {} s, variant: {}, bandwidth: {}, promote: {}{}}}, options: {{keep_ratios: {}{}}}",
        *rc::gen::element(0.0, 0.1, 1.0, 10.0, 1e6),
        *rc::gen::element<std::string>("least_drop", "least_drop_per_byte", "least_drop_for_need"),
        *rc::gen::element<std::string>("nominal", "observed"), *rc::gen::arbitrary<bool>(),
        *rc::gen::element<std::string>("", ", frequency: decayed, half_life: 3 s"),
        *rc::gen::element<std::string>("[0.5, 0.1]", "[0.1]"),
        *rc::gen::element<std::string>("", ", quantisers: [kivi-4bit]"));
    constexpr int kOptions = 14;  // at most; each is a sequence of the batch
    if (!blocks && most_requests >= kOptions && *rc::gen::arbitrary<bool>()) {
      placement += fmt::format(", profiling: {{online: true, threshold: {}, queries: {}, output_tokens: {} tokens}}",
                               *rc::gen::element(0.0, 0.02), *rc::gen::inRange(1, most_requests / kOptions + 1),
                               *rc::gen::inRange(1, 100));
    }
  } else if (policy != "none" && policy != "importance_chunks") {
    placement += *rc::gen::element<std::string>("", ", compressor: kvzip, keep_ratio: 0.3", ", compressor: kivi-4bit");
  }
  if (policy != "none" && *rc::gen::arbitrary<bool>()) {
    placement += fmt::format(", drift: {{every: {} s, magnitude: 0.3}}", *rc::gen::element(0.2, 2.0, 20.0));
  }
  return placement + "}";
}

Sets random_scenario() {
  std::vector<std::string> names;
  for (const cache::PlacementEntry& e : cache::placements()) names.emplace_back(e.name);
  const std::string policy = *rc::gen::arbitrary<bool>() ? "utility" : *rc::gen::elementOf(names);
  const int most_requests = *rc::gen::inRange(3, 45);
  return {
      random_storage(),
      random_placement(policy, most_requests),
      fmt::format("cluster.host={{memory: {} GB, link: pcie5-x16, shared: false, outages: {}}}",
                  *rc::gen::inRange(1, 20), random_outages()),
      fmt::format("cluster.host.link.read={} GB/s", *rc::gen::inRange(1, 60)),
      fmt::format("cluster.gpu.memory_fraction={:.2f}", *rc::gen::inRange(25, 36) / 100.0),
      fmt::format("cluster.replicas={}", *rc::gen::inRange(1, 4)),
      fmt::format("schedule.max_requests={}", most_requests),
      fmt::format("schedule.max_batched_tokens={}", *rc::gen::inRange(100, 4096)),
      fmt::format("schedule.asynchronous={}", *rc::gen::arbitrary<bool>()),
      fmt::format("run.seed={}", *rc::gen::inRange(1, 1000)),
      fmt::format("workload={{arrivals: {{process: gamma, rate: {}/s, cv: 3}}, requests: 40, prefixes: {{count: {}, "
                  "popularity: 0.9, tokens: {} tokens}}, context: {{distribution: lognormal, mean: {} tokens, cv: 1, "
                  "max: 10k tokens}}, output: {{distribution: exponential, mean: {} tokens, max: 2k tokens}}}}",
                  *rc::gen::inRange(1, 30), *rc::gen::inRange(1, 40), *rc::gen::inRange(1, 6000),
                  *rc::gen::inRange(10, 4000), *rc::gen::inRange(1, 1000))};
}

RC_GTEST_PROP(PlacementRunsProperty, EveryRequestFinishesAndNothingIsOverCommitted, ()) {
  const Sets sets = random_scenario();
  RC_LOG() << fmt::format("{}", fmt::join(sets, "\n"));
  const planner::ExperimentResult r = planner::run_experiment(stored_prompts(sets));
  const Measurements& m = r.measured;
  RC_CLASSIFY(m.preemptions > 0, "preempted");
  RC_CLASSIFY(m.placement.loads > 0, "loaded");
  RC_CLASSIFY(m.placement.joined_loads > 0, "joined a load");
  RC_CLASSIFY(m.placement.recompressions > 0, "recompressed");
  RC_CLASSIFY(m.placement.profiled > 0, "profiled");
  RC_CLASSIFY(m.placement.unstored > 0, "found no room");
  RC_ASSERT(m.arrived == 40U);
  RC_ASSERT(m.completed + m.refused == 40U);
  RC_ASSERT(m.direct_tokens == m.output_tokens);
  RC_ASSERT(m.hbm_reserved_peak_bytes <= r.capacity.bytes + r.capacity.weights_bytes);
  const double parts = m.busy_s + m.link_bound_s + m.front_end_s + m.idle_s;
  RC_ASSERT(std::abs(parts - m.capacity_s) < 1e-6 * (1 + m.capacity_s));
  RC_ASSERT(m.placement.quality.values().size() == m.completed);
  for (const double q : m.placement.quality.values()) RC_ASSERT(q >= 0 && q <= 1);
  for (const auto& [name, link] : m.links) RC_ASSERT(link.busy_s <= link.capacity_s * (1 + 1e-9) + 1e-9);
}

std::string random_schedule() {
  return "schedule.policy=" + *rc::gen::element<std::string>("fcfs", "staggered", "lock_step", "sequential_verify");
}

/// The same, stored compressed and verified against whole copies in a last tier without end.
Sets random_verified_scenario() {
  Sets sets = random_scenario();
  const bool blocks = *rc::gen::arbitrary<bool>();
  const auto form = *rc::gen::element<std::string>(
      "utility, options: {keep_ratios: [0.5, 0.2], methods: [kvzip], quantisers: [kivi-4bit]}",
      "lru, compressor: kvzip, keep_ratio: 0.3", "s3fifo, compressor: kivi-4bit", "importance_chunks");
  const std::string bounded = *rc::gen::arbitrary<bool>()
                                  ? fmt::format("{{name: ssd, capacity: {} GB, read: {} GB/s, write: 2 GB/s}}, ",
                                                *rc::gen::inRange(1, 20), *rc::gen::inRange(1, 12))
                                  : "";
  const Sets verified = {
      fmt::format("placement={{policy: {}, granularity: {}, gpu_memory: {} GB}}", form, blocks ? "blocks" : "contexts",
                  *rc::gen::element(0, 0, 1)),
      fmt::format("cluster.storage=[{}{{name: pool, read: {} GB/s, write: {} GB/s, latency: 1 ms}}]", bounded,
                  *rc::gen::inRange(1, 30), *rc::gen::inRange(1, 12)),
      fmt::format("decode={{policy: {}, draft_length: {}, drafter: {{type: eagle3-llama-3.1-8b}}, acceptance: {}}}",
                  *rc::gen::element<std::string>("draft_verify", "draft_verify+drafter"), *rc::gen::inRange(1, 40),
                  *rc::gen::element<std::string>("{model: constant, agreement: 0.9}",
                                                 "{model: heterogeneous, agreement: 0.7, concentration: 2}")),
      "schedule.max_batched_tokens=4096", random_schedule()};
  sets.insert(sets.end(), verified.begin(), verified.end());
  return sets;
}

RC_GTEST_PROP(PlacementRunsProperty, VerifiedRequestsFinishAndNothingIsOverCommitted, ()) {
  const Sets sets = random_verified_scenario();
  RC_LOG() << fmt::format("{}", fmt::join(sets, "\n"));
  const planner::ExperimentResult r = planner::run_experiment(stored_prompts(sets));
  const Measurements& m = r.measured;
  RC_CLASSIFY(m.preemptions > 0, "preempted");
  RC_CLASSIFY(m.placement.whole_loads > 0, "verified");
  RC_CLASSIFY(m.rounds > m.completed, "several rounds each");
  RC_ASSERT(m.completed + m.refused == 40U);
  RC_ASSERT(m.accepted_tokens + m.corrections + m.direct_tokens == m.output_tokens);
  RC_ASSERT(m.accepted_tokens + m.rejected_tokens == m.drafted_tokens);
  RC_ASSERT(m.hbm_reserved_peak_bytes <= r.capacity.bytes + r.capacity.weights_bytes);
  const double parts = m.busy_s + m.link_bound_s + m.front_end_s + m.idle_s;
  RC_ASSERT(std::abs(parts - m.capacity_s) < 1e-6 * (1 + m.capacity_s));
  RC_ASSERT(m.quality == static_cast<double>(m.completed));  // nothing of what was compressed shows
  RC_ASSERT(m.kl_nats == 0);
}

void expect_same(const Measurements& a, const Measurements& b) {
  for (const auto sample : {&Measurements::ttft_s, &Measurements::tpot_s, &Measurements::e2e_s, &Measurements::itl_s,
                            &Measurements::iteration_s}) {
    EXPECT_TRUE(testing::same(a.*sample, b.*sample));
  }
  EXPECT_EQ(a.measured_s, b.measured_s);
  EXPECT_EQ(a.output_tokens, b.output_tokens);
  EXPECT_EQ(a.preemptions, b.preemptions);
  EXPECT_EQ(a.hbm_peak_bytes, b.hbm_peak_bytes);
}

TEST(PlacementRuns, AVerifiedPromptWaitsForWhatItsStoredCopyLacksAndComputesItsTailTwice) {
  // The second of two requests on the same 6,000 tokens, of which half are stored; 64 more are its own.
  const scenario::Scenario s =
      stored_prompts({"workload={closed: {concurrency: 1}, requests: 2, prefixes: {count: 1, tokens: 6000 tokens}, "
                      "context: 64 tokens, "
                      "output: 100 tokens}",
                      "cluster.storage=[{name: pool, read: 500 GB/s, write: 500 GB/s}]",
                      "placement={policy: lru, compressor: kvzip, keep_ratio: 0.5}",
                      "decode={policy: draft_verify, draft_length: 10, acceptance: {model: constant, agreement: 1}}"});
  const serving::ServingConfig& c = s.serving;
  const serving::KvGeometry g = serving::configured_geometry(c);
  const models::StepTimer timer(c.cluster.gpu, c.cluster.peer_link, c.cluster.profile, c.model, 1);
  const auto link_s = [&](std::int64_t tokens) {  // from host memory, or from the faster pool through it
    return static_cast<double>(g.full_transfer(tokens)) / c.cluster.host_link.read_bytes_per_s.value +
           c.cluster.host_link.latency_s.value + c.cluster.host_link.setup_s.value;
  };
  const auto step_s = [&](const auto& add) {
    models::StepWork work;
    add(work);
    return timer.time(work).total_s;
  };
  double expected = link_s(3000) + step_s([&](models::StepWork& w) { serving::add_chunk(w, g, 3000, 64, true); });
  std::int64_t drafted = 1;  // the token that the tail's last logits give
  double drafting = 0;
  for (; drafting < link_s(3000); ++drafted) {
    drafting += step_s([&](models::StepWork& w) { serving::add_decode(w, g, 3064 + drafted); });
  }
  expected += drafting + step_s([&](models::StepWork& w) { serving::add_verification(w, g, 6000, 64 + drafted); });
  const Measurements m = measure(s);
  ASSERT_EQ(m.ttft_s.count(), 2U);
  EXPECT_NEAR(m.ttft_s.values()[1], expected, 1e-6);
  EXPECT_EQ(m.rounds, 1U);  // what came stays: nobody waits for the memory
  EXPECT_EQ(m.drafted_tokens, drafted);
  EXPECT_EQ(m.placement.whole_bytes, g.full_transfer(3000));
}

/// Half of each context is stored, and what it lacks comes from a pool of so many GB/s.
Measurements run_verified(const std::string& schedule, double pool_gb_per_s, const Sets& more = {}) {
  Sets sets = {fmt::format("cluster.storage=[{{name: pool, read: {} GB/s, write: 40 GB/s}}]", pool_gb_per_s),
               "placement={policy: lru, compressor: kvzip, keep_ratio: 0.5}", "cluster.host.memory=80 GB",
               "decode={policy: draft_verify, draft_length: 10, acceptance: {model: constant, agreement: 0.9}}",
               "schedule={policy: " + schedule + "}"};
  sets.insert(sets.end(), more.begin(), more.end());
  return run(sets);
}

TEST(StaggeredOverTiers, IsFcfsWhereNobodyWaitsForALink) {
  // One at a time: the first verification is placed at once, and what came for it stays.
  const Sets alone = {"workload.arrivals.rate=0.1/s"};
  const Measurements fcfs = run_verified("fcfs", 500, alone), staggered = run_verified("staggered", 500, alone);
  EXPECT_GT(staggered.placement.whole_loads, 100U);
  expect_same(fcfs, staggered);
  EXPECT_EQ(fcfs.accepted_tokens, staggered.accepted_tokens);
  EXPECT_EQ(fcfs.drafted_tokens, staggered.drafted_tokens);
}

TEST(StaggeredOverTiers, TakesMemoryOnlyWhileWhatIsMissingCrossesTheLinks) {
  // A loaded pool: under fcfs, full KVs wait for it side by side in memory that is theirs already.
  const Sets busy = {"workload.arrivals.rate=12/s"};
  const Measurements fcfs = run_verified("fcfs", 6, busy), staggered = run_verified("staggered", 6, busy);
  EXPECT_EQ(staggered.completed, fcfs.completed);
  EXPECT_EQ(staggered.output_tokens, fcfs.output_tokens);
  EXPECT_GT(staggered.rounds, 100U);
  EXPECT_LE(staggered.kv_streaming_peak_bytes, fcfs.kv_streaming_peak_bytes);
  EXPECT_LT(staggered.kv_streaming_mean_bytes, fcfs.kv_streaming_mean_bytes);
}

TEST(StaggeredOverTiers, PlansLaterRoundsOfRequestsThatGiveUpTheirFullKv) {
  // Memory that somebody always waits for: every round loads what is missing.
  const Measurements m =
      run_verified("staggered", 30, {"workload.arrivals.rate=40/s", "cluster.gpu.memory_fraction=0.27"});
  EXPECT_GT(m.rounds, 2 * m.completed);
  EXPECT_EQ(m.placement.whole_loads, m.rounds);
  EXPECT_EQ(m.accepted_tokens + m.corrections + m.direct_tokens, m.output_tokens);
}

TEST(PlacementRuns, WhatCouldNeverBeVerifiedIsRefused) {
  // Memory for one context and half of another: what was quantised is brought whole beside what was loaded.
  const auto refused = [](const std::string& form) {
    return run({"cluster.gpu.memory_fraction=0.26", "workload.prefixes.tokens=24k tokens", "workload.requests=30",
                "cluster.storage=[{name: pool, read: 10 GB/s}]", "placement={policy: lru, " + form + "}",
                "decode={policy: draft_verify, draft_length: 10, acceptance: {model: constant, agreement: 0.9}}"})
        .refused;
  };
  EXPECT_EQ(refused("compressor: kivi-4bit"), 30U);
  EXPECT_EQ(refused("compressor: kvzip, keep_ratio: 0.3"), 0U);
}

TEST(PlacementRuns, PolicyNoneIsRecomputingBitForBit) {
  const Sets none = {"placement={policy: none}", "cluster.storage=[]", "cluster.gpu.memory_fraction=0.3",
                     "workload.arrivals.rate=20/s", "workload.output.mean=1000 tokens"};
  scenario::Scenario recompute = stored_prompts(none);
  recompute.serving.placement.reset();
  recompute.serving.prefill = serving::PrefillKind::recompute;
  const Measurements a = run(none), b = measure(recompute);
  expect_same(a, b);
  EXPECT_EQ(a.ttft_s.values().size(), 200U);
  EXPECT_GT(a.preemptions, 0U);
}

TEST(PlacementRuns, EqualSeedsGiveEqualRunsWithAndWithoutATimeline) {
  for (const std::string policy : {"utility", "lru", "arc"}) {
    const Sets sets = {"placement={policy: " + policy + "}", "cluster.replicas=2", "cluster.gpu.memory_fraction=0.3",
                       "workload.requests=100"};
    const Measurements a = run(sets), b = run(sets);
    expect_same(a, b);
    EXPECT_EQ(a.placement.moved_bytes, b.placement.moved_bytes);
    EXPECT_TRUE(std::ranges::equal(a.placement.quality.values(), b.placement.quality.values()));
    std::ostringstream timeline;
    engine::ChromeTrace trace(timeline);
    planner::ExperimentOptions options;
    options.trace = &trace;
    const Measurements c = planner::run_experiment(stored_prompts(sets), options).measured;
    expect_same(a, c);
    EXPECT_EQ(a.events, c.events);
  }
}

TEST(PlacementRuns, DataSetsHaveTheirShareOfTimesAndQuality) {
  const Measurements m = run({"workload.requests=300", "cluster.host.memory=3 GB", "placement.utility.alpha=0.2 s",
                              "workload.prefixes={count: 20, datasets: [qasper, multinews]}"});
  ASSERT_EQ(m.placement.datasets.size(), 2U);
  std::uint64_t requests = 0;
  double ttft_s = 0, quality = 0;
  for (const auto& [name, of] : m.placement.datasets) {
    EXPECT_GT(of.requests, 0U) << name;
    requests += of.requests;
    ttft_s += of.ttft_s;
    quality += of.quality;
  }
  EXPECT_EQ(requests, m.ttft_s.values().size());
  EXPECT_NEAR(ttft_s / static_cast<double>(requests), m.ttft_s.mean(), 1e-9);
  EXPECT_NEAR(quality / static_cast<double>(requests), m.placement.quality.mean(), 1e-9);
  EXPECT_TRUE(run({"workload.requests=30"}).placement.datasets.empty()) << "prefixes of no data set";
}

// Of the timeline, samples are sums since the start: the last one has all requests that finished by then.
TEST(PlacementRuns, ATimelineHasTheQualityOfWhatFinished) {
  planner::ExperimentOptions options;
  options.timeline = true;
  const planner::ExperimentResult r = planner::run_experiment(
      stored_prompts({"workload.requests=300", "cluster.host.memory=3 GB", "placement.utility.alpha=0.2 s",
                      "run.warmup=0 s", "run.sample_every=1 s"}),
      options);
  ASSERT_FALSE(r.timeline.samples.empty());
  const serving::LoadSample& last = r.timeline.samples.back();
  EXPECT_GT(last.scored, 200U);
  EXPECT_LE(last.scored, 300U);
  EXPECT_NEAR(last.quality / static_cast<double>(last.scored), r.measured.placement.quality.mean(), 0.05);
  EXPECT_LT(r.measured.placement.quality.mean(), 1);
}

TEST(PlacementRuns, QualityIsWorthEverythingOrNothing) {
  const Sets sets = {"cluster.host.memory=3 GB", "cluster.storage=[{name: ssd, read: 3 GB/s}]"};
  const auto with = [&](const std::string& alpha) {
    Sets more = sets;
    more.push_back("placement.utility.alpha=" + alpha);
    return run(more);
  };
  const Measurements all = with("1e9 s"), nothing = with("0 s");
  EXPECT_DOUBLE_EQ(all.placement.quality.mean(), 1);
  for (const auto& [tier, contents] : all.placement.contents) {
    for (const auto& [option, objects] : contents.options) EXPECT_EQ(option, "full") << tier;
  }
  EXPECT_LT(nothing.placement.quality.mean(), 0.9);
  std::int64_t bytes = 0, full_bytes = 0;
  for (const auto& [tier, contents] : nothing.placement.contents) {
    bytes += contents.bytes;
    full_bytes += contents.full_bytes;
  }
  EXPECT_LT(static_cast<double>(bytes), 0.5 * static_cast<double>(full_bytes));
  EXPECT_LT(nothing.ttft_s.mean(), all.ttft_s.mean());
}

/// Requests one at a time.
Sets alone(Sets more) {
  more.insert(more.begin(),
              "workload={closed: {concurrency: 1}, prefixes: {count: 30, popularity: 0.9, tokens: 6000 tokens}, "
              "context: {mean: 64 tokens}, output: {mean: 16 tokens}, requests: 200}");
  return more;
}

TEST(PlacementRuns, AFasterSsdMakesNobodySlower) {
  for (const std::string policy : {"lru", "sieve", "utility"}) {
    double before_s = 1e9;
    for (const int gigabytes : {1, 2, 4, 8, 16}) {
      const Measurements m =
          run(alone({"placement={policy: " + policy + "}",
                     fmt::format("cluster.storage=[{{name: ssd, read: {} GB/s, write: 2 GB/s}}]", gigabytes)}));
      EXPECT_LE(m.ttft_s.mean(), before_s * 1.01) << policy << " at " << gigabytes << " GB/s";
      before_s = m.ttft_s.mean();
    }
  }
}

std::uint64_t hits(const Measurements& m) {
  std::uint64_t hits = 0;
  for (const auto& [name, tier] : m.tiers) hits += tier.hits;
  return hits;
}

// LRU is a stack algorithm and Belady the optimum, as long as nothing waits: one request at a time, links without end,
// all contexts of one size.
TEST(PlacementRuns, MoreHostMemoryNeverFindsLess) {
  for (const std::string policy : {"lru", "belady"}) {
    std::uint64_t before = 0;
    for (const int gigabytes : {1, 2, 4, 6, 8, 12, 20, 40}) {
      const Measurements m = run(alone({"placement={policy: " + policy + ", in_transit: 0}", "cluster.storage=[]",
                                        "cluster.host.link.read=100000 GB/s", "cluster.host.link.write=100000 GB/s",
                                        fmt::format("cluster.host.memory={} GB", gigabytes)}));
      EXPECT_GE(hits(m), before) << policy << " with " << gigabytes << " GB";
      before = hits(m);
    }
    EXPECT_GT(before, 150U);
  }
}

/// Four prompts of so many blocks of 1,000 tokens (131 MB) each, a minute apart, the newest asked again.
std::vector<models::RequestSpec> newest_again(std::int64_t blocks, std::int64_t output) {
  std::vector<models::RequestSpec> requests;
  for (std::uint64_t i = 0; i < 5; ++i) {
    models::RequestSpec& r = requests.emplace_back();
    r.id = i;
    r.arrival_ns = static_cast<std::int64_t>(i) * 60'000'000'000;
    r.prompt_tokens = 1000 * blocks;
    r.output_tokens = output;
    const std::uint64_t prompt = std::min<std::uint64_t>(i, 3);
    for (std::uint64_t b = 0; b < static_cast<std::uint64_t>(blocks); ++b) r.prefix_blocks.push_back(100 * prompt + b);
  }
  return requests;
}

TEST(PlacementRuns, TheNewestPromptIsFoundWholeWhateverTheOutput) {
  engine::RandomStream draw(1, "newest");
  const auto gigabytes = [&](double least, double most) { return least + (most - least) * draw.uniform(); };
  for (int i = 0; i < 24; ++i) {
    const auto blocks = 1 + static_cast<std::int64_t>(draw.below(24));
    const auto output = std::vector<std::int64_t>{1, 2, 5, 40, 400}[draw.below(5)];
    const double prompt_gb = 0.1311 * static_cast<double>(blocks) / 0.9;
    Sets sets = {
        fmt::format("placement={{policy: lru, granularity: blocks, gpu_memory: {} GB}}", draw.below(3)),
        fmt::format("cluster.host.memory={:.2f} GB", gigabytes(0.1, 6)),
        fmt::format("cluster.storage=[{}{{name: last, capacity: {:.2f} GB, read: 7 GB/s, write: {:.2f} GB/s}}]",
                    draw.below(2) == 0 ? ""
                                       : fmt::format("{{name: ssd, capacity: {:.2f} GB, read: 5 GB/s, "
                                                     "write: {:.2f} GB/s}}, ",
                                                     gigabytes(0.1, 4), gigabytes(0.2, 5)),
                    prompt_gb + gigabytes(0.01, 6), gigabytes(0.2, 5))};
    const Measurements m = simulated(stored_prompts(sets), newest_again(blocks, output), 1000);
    EXPECT_EQ(m.completed, 5U);
    EXPECT_EQ(m.placement.loaded_tokens, 1000 * blocks - 1)
        << fmt::format("{} tokens, {}", output, fmt::join(sets, ", "));
    EXPECT_EQ(m.placement.unstored, 0U);
  }
}

TEST(PlacementRuns, BeladyFindsAtLeastWhatOthersFind) {
  const auto found = [&](std::string_view policy) {
    return hits(run(alone({fmt::format("placement={{policy: {}, in_transit: 0}}", policy), "cluster.storage=[]",
                           "cluster.host.link.read=100000 GB/s", "cluster.host.link.write=100000 GB/s",
                           "cluster.host.memory=6 GB"})));
  };
  const std::uint64_t most = found("belady");
  for (const cache::EvictionPolicyEntry& e : cache::eviction_policies()) EXPECT_LE(found(e.name), most) << e.name;
}

TEST(PlacementRuns, ProfilingOnlineBringsQualityBackAndCostsDecoding) {
  const Sets sets = {"workload.requests=600",
                     "cluster.host.memory=3 GB",
                     "placement.utility.alpha=0.2 s",
                     "placement.options.keep_ratios=[0.1]",
                     "cluster.storage=[{name: ssd, capacity: 3 GB, read: 1 GB/s}]",
                     "placement.drift={every: 30 s, magnitude: 0.3}"};
  Sets online = sets;
  online.emplace_back("placement.profiling={online: true}");
  const Measurements without = run(sets), with = run(online);
  EXPECT_EQ(without.placement.profiled, 0U);
  EXPECT_GT(with.placement.profiled, 0U);
  EXPECT_GT(with.placement.profiled_tokens, 0);
  EXPECT_GT(with.placement.quality.mean(), without.placement.quality.mean());
  EXPECT_GT(with.itl_s.mean(), without.itl_s.mean());
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
