// Whole runs of the policies that fetch KV: one request by hand, the closed form against the pipeline step by step,
// conservation under random configurations, and the relations that must hold whatever the figures.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include <fmt/format.h>

#include "models/hardware/link_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "sim/serving/fetching.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/step_parts.h"
#include "tests/support/same_sample.h"
#include "tests/support/small_scenario.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using serving::Measurements;

const char* const kPolicies[] = {"speculative_prefetch", "fetch_on_demand", "quantised_only", "full_offload"};

Sets sets(const std::string& policy, Sets more = {}) {
  more.insert(more.begin(), {"decode={policy: " + policy + ", compressor: specache-2bit}", "schedule.policy=fcfs"});
  return more;
}

/// A kernel that unpacks its KV while it reads: nobody measured what others take (docs/quantised_kv.md).
const char* const kFreeUnpacking = "cluster.gpu.profile.quantised={layer: 0 us}";

double tokens_per_s(const Measurements& m) {
  return static_cast<double>(m.output_tokens) / m.measured_s;
}

/// The same run with an event for every layer and transfer.
Measurements step_by_step(scenario::Scenario s) {
  s.serving.run.layer_events = true;
  return measure(s);
}

Sets drawn_sets(const std::string& policy) {
  const bool stored = *rc::gen::arbitrary<bool>();
  return sets(
      policy,
      {fmt::format("cluster.gpu.memory_fraction={:.2f}", *rc::gen::inRange(24, 60) / 100.0),
       fmt::format("cluster.gpu.tensor_parallel={}", *rc::gen::element(1, 2)),
       fmt::format("cluster.host.link.read={} GB/s", *rc::gen::inRange(1, 60)),
       fmt::format("cluster.host.link.write={} GB/s", *rc::gen::element(0.05, 0.5, 5.0, 55.0)),
       fmt::format("cluster.host.link.setup={} us", *rc::gen::inRange(0, 200)),
       fmt::format("cluster.host.link.latency={} us", *rc::gen::inRange(0, 100)),
       fmt::format("cluster.host.memory={} GB", *rc::gen::inRange(8, 64)),
       fmt::format("cluster.replicas={}", *rc::gen::inRange(1, 3)),
       fmt::format("prefill={}", stored ? "stored" : "recompute"),
       fmt::format("decode.compressor={}", *rc::gen::element("specache-2bit", "specache-1bit", "kivi-4bit")),
       fmt::format("decode.prefetch={{top_k: {}, overlap: {}, query_tokens: {}, row_tokens: {}, layout: {}, copies: "
                   "{}, buffered_layers: {}}}",
                   *rc::gen::inRange(1, 600), *rc::gen::element(0.0, 0.4, 0.9), *rc::gen::inRange(1, 4),
                   *rc::gen::element(1, 8), *rc::gen::element("separate", "interleaved"),
                   *rc::gen::element("best", "single_copies", "batched_copies"), *rc::gen::inRange(1, 32)),
       fmt::format("schedule.max_requests={}", *rc::gen::inRange(3, 40)),
       fmt::format("schedule.max_batched_tokens={}", *rc::gen::inRange(100, 4096)),
       fmt::format("schedule.block_size={} tokens", *rc::gen::element(1, 16, 64)),
       fmt::format("schedule.asynchronous={}", *rc::gen::element("true", "false")),
       fmt::format("run.seed={}", *rc::gen::inRange(1, 1000)),
       fmt::format("workload={{arrivals: {{process: gamma, rate: {}/s, cv: 3}}, requests: 30, context: {{distribution: "
                   "lognormal, mean: {} tokens, cv: 1, max: 40k tokens}}, output: {{distribution: exponential, mean: "
                   "{} tokens, max: 2k tokens}}}}",
                   *rc::gen::inRange(1, 50), *rc::gen::inRange(10, 20000), *rc::gen::inRange(1, 400))});
}

RC_GTEST_PROP(PrefetchRunsProperty, EveryRequestFinishesAndNothingIsOverCommitted, ()) {
  const auto s = small_scenario(drawn_sets(*rc::gen::elementOf(std::vector<std::string>(kPolicies, kPolicies + 4))));
  const planner::ExperimentResult r = planner::run_experiment(s);
  const Measurements& m = r.measured;
  RC_ASSERT(m.completed + m.refused == 30U);
  RC_ASSERT(m.direct_tokens == m.output_tokens);
  RC_ASSERT(m.hbm_reserved_peak_bytes <= r.capacities.front().bytes + r.capacities.front().weights_bytes);
  const double parts = m.busy_s + m.link_bound_s + m.front_end_s + m.idle_s;
  RC_ASSERT(std::abs(parts - m.capacity_s) < 1e-6 * (1 + m.capacity_s));
  RC_ASSERT(m.fetch.unused_bytes <= m.fetch.bytes);
}

RC_GTEST_PROP(PrefetchRunsProperty, TheClosedFormRunsAsTheStepByStepOne, ()) {
  const auto s = small_scenario(
      drawn_sets(*rc::gen::element<std::string>("speculative_prefetch", "fetch_on_demand", "full_offload")));
  const Measurements a = measure(s), b = step_by_step(s);
  for (const auto sample :
       {&Measurements::ttft_s, &Measurements::e2e_s, &Measurements::itl_s, &Measurements::iteration_s}) {
    RC_ASSERT(testing::same(a.*sample, b.*sample));
  }
  RC_ASSERT(a.preemptions == b.preemptions);
  RC_ASSERT(a.fetch.bytes == b.fetch.bytes);
  RC_ASSERT(a.fetch.wait_s == b.fetch.wait_s);
  RC_ASSERT(a.hbm_peak_bytes == b.hbm_peak_bytes);
  RC_ASSERT(a.hbm_mean_bytes == b.hbm_mean_bytes);
  RC_ASSERT(a.link_bound_s == b.link_bound_s);
  for (const auto& [name, link] : a.links) {
    const transport::LinkTotals& other = b.links.at(name);
    RC_ASSERT(link.bytes == other.bytes);
    RC_ASSERT(link.transfers == other.transfers);
    // Sums of doubles here, of whole nanoseconds there.
    RC_ASSERT(std::abs(link.busy_s - other.busy_s) <= 1e-9 * other.busy_s);
    RC_ASSERT(std::abs(link.wait_s - other.wait_s) <= 1e-9 * (1 + other.wait_s));
  }
}

TEST(PrefetchRuns, OneRequestTakesALoadAPreDecodeStepAndTwoTokensAStep) {
  const auto s = small_scenario(
      sets("speculative_prefetch",
           {"workload={closed: {concurrency: 1}, context: 16000 tokens, output: 10 tokens, requests: 1}"}));
  const serving::ServingConfig& c = s.serving;
  const Measurements m = measure(s);
  const models::StepTimer timer(c.cluster.groups.front().gpu, c.cluster.groups.front().peer_link,
                                c.cluster.groups.front().profile, c.model, 1);
  const serving::KvGeometry geometry = serving::configured_geometry(c, c.cluster.groups.front());
  const serving::DecodePolicy& decode = *serving::find_decode_policy(c.decode.policy);
  serving::Fetching fetching(c, c.cluster.groups.front(), decode, geometry, timer, c.cluster.groups.front().host_link,
                             1);
  serving::Request r;
  r.prompt = 16000;
  const auto step_s = [&](std::int64_t generated, bool first) {
    fetching.clear();
    models::StepWork work;
    r.generated = generated;
    r.round.pairs_asked = !first;
    fetching.add_decode(r, 0, work);
    EXPECT_EQ(work.decode.query_tokens, first ? 1 : 2);
    EXPECT_EQ(work.decode.requests, 1);
    work.extra_gpu_s = fetching.quantising_s();
    return timer.time(work).total_s + fetching.selection_s();
  };
  const auto& link = c.cluster.groups.front().host_link;
  const double load_s = static_cast<double>(geometry.compressed_transfer(16000, 0)) / link.read_bytes_per_s.value +
                        link.setup_s.value + link.latency_s.value;
  EXPECT_NEAR(m.ttft_s.mean(), load_s + step_s(0, true) + step_s(0, false), 1e-6);
  double rest_s = 0;
  for (std::int64_t g = 1; g < 10; ++g) rest_s += step_s(g, false);
  EXPECT_NEAR(m.e2e_s.mean() - m.ttft_s.mean(), rest_s, 1e-6);  // every fetch is hidden
  EXPECT_EQ(m.fetch.first_choices, 1U);
  EXPECT_EQ(m.fetch.steps, 11U);
  // 64 pairs x 32 layers x 8 KV heads x 128 x 2 x 2 bytes a step, the last one's for nobody.
  EXPECT_EQ(m.fetch.bytes, 11 * 8388608);
  EXPECT_EQ(m.fetch.unused_bytes, 8388608);
  EXPECT_EQ(m.fetch.wait_s, 0);
  // New tokens' KV goes to host memory, the chosen pairs' come from there.
  EXPECT_EQ(m.links.at("host_to_gpu").bytes, geometry.compressed_transfer(16000, 0) + 11 * 8388608);
  EXPECT_EQ(m.links.at("gpu_to_host").bytes, 11 * 131072);
}

TEST(PrefetchRuns, FetchingOnDemandAddsEachLayersFetchToTheStep) {
  const Sets one = {"workload={closed: {concurrency: 1}, context: 16000 tokens, output: 10 tokens, requests: 1}",
                    "decode.prefetch.copies=batched_copies"};
  const auto s = small_scenario(sets("fetch_on_demand", one));
  const Measurements m = measure(s);
  const auto& link = s.serving.cluster.groups.front().host_link;
  // Two rows of 256 bytes a pair, 64 pairs and 8 heads, a descriptor each.
  const double layer_s = 2 * 64 * 8 * 0.63e-6 + link.setup_s.value + link.latency_s.value;
  EXPECT_NEAR(m.fetch.wait_s, 10 * 32 * layer_s, 1e-6);
  EXPECT_EQ(m.fetch.first_choices, 0U);
}

TEST(PrefetchRuns, StreamingTheWholeKvIsAsFastAsItsLink) {
  const Sets one = {"workload={closed: {concurrency: 1}, context: 16000 tokens, output: 400 tokens, requests: 1}"};
  const auto s = small_scenario(sets("full_offload", one));
  const Measurements m = measure(s);
  const double read_s = 131072.0 * 16200 / s.serving.cluster.groups.front().host_link.read_bytes_per_s.value;
  EXPECT_NEAR(m.tpot_s.mean(), read_s, 0.01 * read_s);
  EXPECT_EQ(m.fetch.unused_bytes, 0);
}

TEST(PrefetchRuns, ReservationsAreTheResidentFractionInWholeBlocks) {
  const auto s = small_scenario(sets("speculative_prefetch", {"schedule.block_size=1 tokens"}));
  const serving::KvGeometry g = serving::configured_geometry(s.serving, s.serving.cluster.groups.front());
  for (const std::int64_t context : {200, 2048, 32768}) {
    const double exact = models::resident_fraction(s.serving.decode.compressor, 64 + 64, context);
    EXPECT_DOUBLE_EQ(exact, 2.0 / 16 + 2.0 / 64 + 128.0 / static_cast<double>(context));
    EXPECT_NEAR(static_cast<double>(g.compressed_reservation(context, 0, 0)),
                exact * 131072 * static_cast<double>(context), 131072);
    EXPECT_NEAR(g.compressed_read(context, 0), exact * 131072 * static_cast<double>(context), 1);
  }
  // Not more than there is, where the context is shorter than what is kept.
  EXPECT_EQ(g.compressed_read(100, 0), 131072 * (100 * (2.0 / 16 + 2.0 / 64) + 100));
}

TEST(PrefetchRuns, WhatItSavesGrowsWithTheContext) {
  double last = 0;
  for (const char* context : {"2000", "8000", "32000"}) {
    const Sets more = {std::string("workload={closed: {concurrency: 400}, context: ") + context +
                           " tokens, output: 100 tokens, requests: 1200}",
                       "schedule.max_requests=400", "cluster.host.memory=4 TiB", kFreeUnpacking};
    const double gain = tokens_per_s(measure_with(sets("speculative_prefetch", more))) /
                        tokens_per_s(measure_with(sets("full_kv", more)));
    EXPECT_GT(gain, last) << context;
    last = gain;
  }
  EXPECT_GT(last, 2);
}

TEST(PrefetchRuns, MoreBandwidthIsNeverSlower) {
  for (const char* policy : kPolicies) {
    double last = 0;
    for (const char* bandwidth : {"1", "2", "5", "20", "55"}) {
      const std::string link = std::string("cluster.host.link={base: pcie5-x16, read: ") + bandwidth +
                               " GB/s, gathers: [{name: reads, bandwidth: " + bandwidth + " GB/s}]}";
      const double rate = tokens_per_s(measure_with(sets(policy, {link})));
      EXPECT_GE(rate, last) << policy << " at " << bandwidth;
      last = rate;
    }
  }
}

TEST(PrefetchRuns, APrefetchIsHiddenUntilTheLinkIsSlowerThanTheStep) {
  const auto waits = [](const char* top_k) {
    return measure_with(sets("speculative_prefetch", {std::string("decode.prefetch.top_k=") + top_k})).fetch;
  };
  const auto few = waits("64"), many = waits("4000");
  EXPECT_LT(few.wait_s, 0.05 * few.fetch_s);  // first loads are in the way now and then
  EXPECT_GT(many.wait_s, 0.3 * many.fetch_s);
}

TEST(PrefetchRuns, OnlyTheDifferenceIsFetched) {
  const auto bytes = [](const char* overlap) {
    const auto f =
        measure_with(sets("speculative_prefetch", {std::string("decode.prefetch.overlap=") + overlap})).fetch;
    return static_cast<double>(f.bytes) / static_cast<double>(f.request_steps);
  };
  EXPECT_NEAR(bytes("0.75"), bytes("0") / 4, 1e-6 * bytes("0"));
}

TEST(PrefetchRuns, QualityLiesBetweenTheLowBitCopysAndFullKv) {
  const auto quality = [](const std::string& policy, const Sets& more = {}) {
    const Measurements m = measure_with(sets(policy, more));
    return m.quality / static_cast<double>(m.completed_measured);
  };
  const double bare = quality("quantised_only");
  const double speculative = quality("speculative_prefetch");
  const double on_demand = quality("fetch_on_demand");
  EXPECT_LT(bare, speculative);
  EXPECT_LT(speculative, on_demand);
  EXPECT_LT(on_demand, 1);
  EXPECT_LT(speculative, quality("speculative_prefetch", {"decode.prefetch.top_k=512"}));
}

/// Requests that grow out of a small memory while others arrive over slow links.
Sets crowded(const std::string& prefill) {
  return {"cluster.gpu.memory_fraction=0.24", "prefill=" + prefill, "schedule.max_requests=200",
          "workload={closed: {concurrency: 120}, context: {distribution: uniform, min: 10 tokens, max: 3000 tokens}, "
          "output: {distribution: uniform, min: 500 tokens, max: 3000 tokens}, requests: 240}"};
}

TEST(PrefetchRuns, WhoIsPushedOutBeforeItsKvIsInHostMemoryWaitsForIt) {
  Sets more = crowded("recompute");
  more.emplace_back("cluster.host.link.write=0.5 GB/s");
  const Measurements m = measure_with(sets("speculative_prefetch", more));  // else a run throws
  EXPECT_GT(m.preemptions, 0U);
  EXPECT_EQ(m.completed, 240U);
}

TEST(PrefetchRuns, AFirstLoadOfAnEarlierAdmissionIsNotTheNewOnes) {
  Sets more = crowded("stored");
  more.emplace_back("cluster.host.link={base: pcie5-x16, read: 1 GB/s, gathers: [{name: reads, bandwidth: 1 GB/s}]}");
  const scenario::Scenario s = small_scenario(sets("speculative_prefetch", more));
  const Measurements m = measure(s);
  EXPECT_GT(m.preemptions, 0U);
  EXPECT_EQ(m.completed, 240U);
  EXPECT_TRUE(std::ranges::equal(m.e2e_s.values(), step_by_step(s).e2e_s.values()));
}

TEST(PrefetchRuns, UnfusedTheCopyIsReadWrittenInFullAndReadAgain) {
  const auto s = small_scenario(sets("speculative_prefetch"));
  const serving::KvGeometry g = serving::configured_geometry(s.serving, s.serving.cluster.groups.front());
  const auto read = [&](double factor) {
    models::StepWork work;
    serving::add_low_bit_decode(work, g, 2048, 0, 2, factor);
    return work.decode.kv_bytes;
  };
  const double copy = 131072 * (2048 * (2.0 / 16 + 2.0 / 64) + 128);
  EXPECT_DOUBLE_EQ(read(1), copy);
  EXPECT_DOUBLE_EQ(read(1.5), 131072 * (2048 * 1.5 * (2.0 / 16 + 2.0 / 64) + 128))
      << "what is in 16 bit is read as it is";
  EXPECT_DOUBLE_EQ(read(0), copy + 2 * 2048 * 131072.0);
  EXPECT_EQ(serving::low_bit_time_factor(s.serving, s.serving.cluster.groups.front()), 1)
      << "its elements take their own time";
  const auto unfused = small_scenario(sets("speculative_prefetch", {"decode.prefetch.dequantisation=unfused"}));
  EXPECT_EQ(serving::low_bit_time_factor(unfused.serving, unfused.serving.cluster.groups.front()), 0);
}

TEST(PrefetchRuns, FewBitsTakeTheTimeOfTheirElementsWhereTheProfileHasTheirRate) {
  const auto factor = [](const char* compressor, const char* rate) {
    const auto s = small_scenario(sets("speculative_prefetch", {std::string("decode.compressor=") + compressor, rate}));
    return serving::low_bit_time_factor(s.serving, s.serving.cluster.groups.front());
  };
  const std::string rate = "cluster.gpu.profile={base: datasheet-generic, attention: {low_bit: {elements_per_s: 1e9}}}";
  const double two = factor("specache-2bit", rate.c_str()), one = factor("specache-1bit", rate.c_str());
  // Bytes an element: 0.3125 and 0.1875; each is as long in dequantising, so that time beyond reading is alike.
  EXPECT_NEAR((two - 1) * 0.3125, (one - 1) * 0.1875, 1e-9);
  EXPECT_GT(two, 1);
  EXPECT_EQ(factor("specache-2bit", "cluster.gpu.profile=datasheet-generic"), 1) << "else they take their own";
}

TEST(PrefetchRuns, WhatIsThereIn16BitIsNotFetched) {
  const auto workload = [](int context) {
    return fmt::format("workload={{closed: {{concurrency: 1}}, context: {} tokens, output: 10 tokens, requests: 1}}",
                       context);
  };
  const Measurements within = measure_with(sets("speculative_prefetch", {workload(40)}));
  EXPECT_EQ(within.fetch.bytes, 0);
  EXPECT_EQ(within.quality / static_cast<double>(within.completed_measured), 1);
  // 90 to 99 tokens, of which 64 are recent: 26 to 35 pairs of 131,072 bytes, from the first choice to the last token.
  const Measurements few = measure_with(sets("speculative_prefetch", {workload(90)}));
  EXPECT_EQ(few.fetch.bytes, 131072 * (26 + (26 + 35) * 10 / 2));
}

TEST(PrefetchRuns, NewTokensThatDoNotGetToHostMemoryHoldDecodingBack) {
  const Sets one = {"workload={closed: {concurrency: 1}, context: 16000 tokens, output: 1000 tokens, requests: 1}",
                    kFreeUnpacking};
  Sets slow = one;
  slow.emplace_back("cluster.host.link.write=5 MB/s");
  const Measurements m = measure_with(sets("speculative_prefetch", slow));
  // A token a step and 26 ms each, less what the residual window of 64 may lag behind.
  EXPECT_NEAR(m.e2e_s.mean(), (1000 - 64) * 131072 / 5e6, 0.05 * 26.2);
  EXPECT_GT(m.link_bound_s, 0.5 * m.measured_s);
  EXPECT_LT(measure_with(sets("speculative_prefetch", one)).e2e_s.mean(), 10);
}

TEST(PrefetchRuns, PromptsComputedHereReachHostMemoryBeforeAnythingIsFetched) {
  const Sets more = {"prefill=recompute", "schedule.max_batched_tokens=2048",
                     "workload={closed: {concurrency: 1}, context: 16000 tokens, output: 10 tokens, requests: 1}"};
  Sets slow = more;
  slow.emplace_back("cluster.host.link.write=0.5 GB/s");
  const Measurements fast = measure_with(sets("speculative_prefetch", more));
  const Measurements late = measure_with(sets("speculative_prefetch", slow));
  EXPECT_EQ(fast.ttft_s.mean(), late.ttft_s.mean());  // the first token comes with the prompt
  EXPECT_EQ(fast.links.at("gpu_to_host").bytes, 131072 * (16000 + 10));
  const double offload_s = 131072.0 * 16000 / 0.5e9;
  EXPECT_NEAR(late.itl_s.max(), offload_s, 0.2 * offload_s);  // the second waits until all of it is in host memory
  EXPECT_LT(fast.itl_s.max(), 0.05);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
