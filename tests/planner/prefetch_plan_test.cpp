// Plans of policies that fetch KV: batch, step, crossover; and what the simulator makes of the same machine.
#include "planner/prefetch/prefetch_plan.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "models/hardware/link_spec.h"
#include "models/kernels/step_time.h"
#include "planner/infeasible.h"
#include "tests/models/tiny_machine.h"
#include "tests/support/small_scenario.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

/// Llama-3.1-8B on half an H100: 24 GB for KV, contexts of 2.1 GB in full. Outputs long enough that decoding is nearly
/// all there is.
constexpr const char* kFetching = R"(
name: fetching
model: llama-3.1-8b
cluster:
  gpu: {type: h100-sxm, memory_fraction: 0.5, activations: 0 B}
  host: {memory: 4 TiB, link: pcie5-x16}
workload:
  closed: {concurrency: 200}
  context: 16k tokens
  output: {distribution: lognormal, mean: 3000 tokens, cv: 0.5}
prefill: stored
decode: {policy: speculative_prefetch, compressor: specache-2bit}
run: {duration: 600 s, warmup: 200 s}
)";

scenario::Scenario fetching(const std::vector<std::string>& overrides = {}) {
  return scenario::load_scenario_text(kFetching, "fetching.yaml", overrides);
}

const PolicyEstimate& of(const PrefetchPlan& plan, std::string_view policy) {
  for (const PolicyEstimate& p : plan.policies) {
    if (p.policy == policy) return p;
  }
  throw std::logic_error("no such policy in the plan");
}

/// Mean requests in a decoding step.
double simulated_batch(const serving::Measurements& m) {
  return static_cast<double>(m.drafting_request_iterations) / static_cast<double>(m.iteration_s.count());
}

/// Batch and tokens/s as simulated, against the plan.
void expect_simulated(const std::vector<std::string>& overrides, Pace pace) {
  const scenario::Scenario s = fetching(overrides);
  const PrefetchPlan plan = plan_prefetch(s);
  EXPECT_EQ(plan.own.step.pace, pace);
  EXPECT_EQ(plan.own.memory.bound, BatchBound::gpu_memory);
  const serving::Measurements m = testing::measure(s);
  EXPECT_NEAR(simulated_batch(m) / static_cast<double>(plan.own.memory.batch), 1, 0.1);
  const double tokens_per_s = static_cast<double>(m.output_tokens) / m.measured_s;
  EXPECT_NEAR(tokens_per_s / plan.own.step.tokens_per_s(), 1, 0.02);
}

TEST(PrefetchPlan, AHiddenFetchIsAsSimulated) {
  expect_simulated({"decode.prefetch={top_k: 32}"}, Pace::gpu);
}

TEST(PrefetchPlan, ALinkBoundStepIsAsSimulated) {
  expect_simulated({"decode.prefetch={top_k: 512}", "run={duration: 2400 s, warmup: 900 s}"}, Pace::link);
}

TEST(PrefetchPlan, FetchingOnDemandIsAsSimulated) {
  expect_simulated({"decode.policy=fetch_on_demand"}, Pace::window);
}

TEST(PrefetchPlan, FetchingOnDemandWithASecondAttentionIsAsSimulated) {
  expect_simulated({"decode.policy=fetch_on_demand", "decode.prefetch.attends_again=true"}, Pace::window);
}

TEST(PrefetchPlan, StreamingEverythingIsAsSimulated) {
  expect_simulated(
      {"decode.policy=full_offload", "cluster.gpu.memory_fraction=0.23", "run={duration: 8000 s, warmup: 3000 s}"},
      Pace::link);
}

/// One layer on 100 B/s of memory and a link of 10 B/s: tests/models/tiny_machine.h. Rows of 2 x 2 B are copied at the
/// link's rate; the copy has 2 bits in groups of 4, and nothing recent beside it.
serving::ServingConfig tiny_config() {
  serving::ServingConfig c;
  c.model = models::testing::tiny_model();
  c.cluster.groups.front().gpu = models::testing::tiny_gpu();
  c.cluster.groups.front().profile = models::testing::ideal_profile();
  c.cluster.groups.front().host_link = models::testing::tiny_link();
  c.cluster.groups.front().host_link.gathers.push_back({"rows", {}, {}});
  c.decode.policy = "speculative_prefetch";
  c.decode.compressor.kind = models::CompressionKind::quantisation;
  c.decode.compressor.bits_per_element = 2;
  c.decode.compressor.group_size = 4;
  c.decode.compressor.attention_time_factor.value = 1;
  c.decode.prefetch.top_k = 4;
  return c;
}

TEST(PrefetchPlan, ASecondAttentionTakesAsLongAsTheFirst) {
  // 100 tokens of 16 B, of which 0.625 and 4 whole are read: 10.64 s.
  serving::ServingConfig c = tiny_config();
  c.decode.policy = "fetch_on_demand";
  const double once = estimate(c, {1, 100, 0}).step_s;
  c.decode.prefetch.attends_again = true;
  EXPECT_NEAR(estimate(c, {1, 100, 0}).step_s, once + 10.64, 1e-6);
  c.decode.policy = "speculative_prefetch";
  const double speculative = estimate(c, {1, 100, 0}).step_s;
  c.decode.prefetch.attends_again = false;
  EXPECT_EQ(estimate(c, {1, 100, 0}).step_s, speculative) << "what was prefetched needs no second attention";
}

TEST(PrefetchPlan, AStepIsTheSumOfItsPartsByHand) {
  // A context of 100 tokens of 16 B: read are 100 x 0.625 + 4 of them, 10.64 s. Weights are 1360 B, 13.6 s. Choosing
  // reads 200 scores of 4 B three times, 24 s. Quantising a token reads 16 B and writes 10, 0.26 s.
  const StepEstimate step = estimate(tiny_config(), {1, 100, 0});
  EXPECT_NEAR(step.computing_s(), 10.64 + 13.6 + 24 + 0.26, 1e-6);
  // 4 keys and 4 values of 2 KV heads: 64 B.
  EXPECT_EQ(step.fetch_bytes_per_request, 64);
  EXPECT_NEAR(step.fetch_s(), 6.4, 1e-9);
  // Asked for when attention is done, and there 1 s after its 6.4: before the next step's attention, 13.86 s later.
  EXPECT_EQ(step.pace, Pace::gpu);
  EXPECT_NEAR(step.step_s, step.computing_s(), 1e-9);
  // Ten times as many pairs of one layer need 64 s, more than the step; the context holds them.
  serving::ServingConfig more = tiny_config();
  more.decode.prefetch.top_k = 40;
  const StepEstimate longer = estimate(more, {1, 100, 0});
  EXPECT_NEAR(longer.step_s, longer.layers.attention.seconds() + 64 + 1, 1e-6);
  EXPECT_EQ(longer.pace, Pace::window);
}

TEST(PrefetchPlan, AStepIsComputingOrLinkTime) {
  const scenario::Scenario s = fetching({"decode.prefetch={top_k: 512}"});
  const StepEstimate step = plan_prefetch(s).own.step;
  const serving::ServingConfig& c = s.serving;
  // 512 keys and as many values of 8 KV heads, rows of 256 B, for every request and layer.
  const double rows = static_cast<double>(step.requests.batch) * 512 * 2 * 8;
  const models::GatherMethod* method = models::find_gather(c.cluster.groups.front().host_link, "best", 256);
  EXPECT_NEAR(step.step_s, 32 * models::gather_s(c.cluster.groups.front().host_link, *method, rows, 256), 1e-6);
  EXPECT_EQ(step.fetch_bytes_per_request, 512 * 2 * 8 * 256 * 32);
  EXPECT_GT(step.step_s, step.computing_s());
}

TEST(PrefetchPlan, PoliciesStandInTheOrderOfWhatTheyMove) {
  const PrefetchPlan plan = plan_prefetch(fetching());
  const StepEstimate& speculative = of(plan, "speculative_prefetch").step;
  const StepEstimate& on_demand = of(plan, "fetch_on_demand").step;
  EXPECT_LT(speculative.step_s, on_demand.step_s);
  EXPECT_GT(of(plan, "full_offload").step.step_s / static_cast<double>(of(plan, "full_offload").memory.batch),
            on_demand.step_s / static_cast<double>(on_demand.requests.batch));
  EXPECT_EQ(of(plan, "full_kv").resident_fraction, 1);
  // 2/16 + 2/64, and 64 + 64 of the average context in 16 bit.
  EXPECT_NEAR(of(plan, "speculative_prefetch").resident_fraction, 0.15625 + 128.0 / static_cast<double>(plan.context),
              1e-12);
  EXPECT_NEAR(of(plan, "full_offload").resident_fraction, 2.0 / 32, 1e-12);
}

TEST(PrefetchPlan, ABatchIsWhatMemoryOrTheScenarioAllows) {
  const PrefetchPlan plan = plan_prefetch(fetching());
  const BatchByMemory& m = plan.own.memory;
  EXPECT_LE(m.batch * m.request_bytes, m.capacity_bytes);
  EXPECT_GT((m.batch + 1) * m.request_bytes, m.capacity_bytes);
  EXPECT_LT(m.at_the_end, m.batch);
  EXPECT_EQ(plan_prefetch(fetching({"workload.closed.concurrency=7"})).own.memory.bound, BatchBound::concurrency);
  EXPECT_EQ(plan_prefetch(fetching({"schedule={max_requests: 5}"})).own.memory.batch, 5);
  EXPECT_EQ(plan_prefetch(fetching({"cluster.host.memory=40 GiB"})).own.memory.bound, BatchBound::host_memory);
}

TEST(PrefetchPlan, WhereNothingFitsItSaysSo) {
  EXPECT_THROW((void)plan_prefetch(fetching({"cluster.host.memory=1 GiB"})), Infeasible);
  EXPECT_THROW((void)plan_prefetch(fetching({"cluster.gpu.memory_fraction=0.19"})), Infeasible);
  EXPECT_THROW((void)plan_prefetch(fetching({"workload.context=131k tokens"})), Infeasible);
}

TEST(PrefetchPlan, FullOffloadNeedsNoQuantiser) {
  scenario::Scenario s = fetching({"decode.policy=full_offload"});
  s.serving.decode.compressor = {};
  const PrefetchPlan plan = plan_prefetch(s);
  EXPECT_TRUE(plan.own.problem.empty());
  EXPECT_NE(of(plan, "speculative_prefetch").problem.find("compressor"), std::string::npos);
  EXPECT_FALSE(plan.crossover);
}

TEST(Crossover, MorePairsNeedNeverLessOfTheLink) {
  const Crossover c = *plan_prefetch(fetching()).crossover;
  ASSERT_GT(c.points.size(), 10U);
  EXPECT_EQ(c.points.front().k, 8);
  EXPECT_EQ(c.points.back().k, c.requests.context());
  for (std::size_t i = 1; i < c.points.size(); ++i) {
    EXPECT_GE(*c.points[i].rows_bytes_per_s, *c.points[i - 1].rows_bytes_per_s) << c.points[i].k;
    EXPECT_GE(*c.points[i].link_factor, *c.points[i - 1].link_factor) << c.points[i].k;
    EXPECT_LE(c.points[i].hidden, c.points[i - 1].hidden);
  }
}

TEST(Crossover, ALinkThatIsFasterByTheFactorHidesTheFetch) {
  const scenario::Scenario s = fetching({"decode.prefetch={top_k: 512}"});
  const Crossover c = *plan_prefetch(s).crossover;
  const CrossoverPoint* point = nullptr;
  for (const CrossoverPoint& p : c.points) {
    if (p.k == 512) point = &p;
  }
  ASSERT_NE(point, nullptr);
  ASSERT_GT(*point->link_factor, 1);
  const auto faster_by = [&](double factor) {
    serving::ServingConfig config = s.serving;
    models::LinkSpec& link = config.cluster.groups.front().host_link;
    link.read_bytes_per_s.value *= factor;
    for (models::GatherMethod& method : link.gathers) {
      method.bytes_per_s.value *= factor;
      method.per_row_s.value /= factor;
    }
    return estimate(config, c.requests).hidden();
  };
  EXPECT_TRUE(faster_by(*point->link_factor * 1.0001));
  EXPECT_FALSE(faster_by(*point->link_factor * 0.9999));
}

TEST(Crossover, TheLargestHiddenKIsTheLast) {
  const scenario::Scenario s = fetching();
  const Crossover c = *plan_prefetch(s).crossover;
  const std::int64_t k = *c.own.largest_hidden_k;
  EXPECT_TRUE(crossover_point(s.serving, c.requests, k).hidden);
  EXPECT_FALSE(crossover_point(s.serving, c.requests, k + 1).hidden);
  // A faster link hides no fewer pairs.
  for (std::size_t i = 1; i < c.links.size(); ++i) {
    EXPECT_GE(c.links[i].largest_hidden_k.value_or(0), c.links[i - 1].largest_hidden_k.value_or(0)) << c.links[i].name;
  }
}

TEST(Crossover, NoRateHelpsWhereLatencyAloneIsTooLong) {
  scenario::Scenario s = fetching();
  s.serving.cluster.groups.front().host_link.latency_s.value = 10;
  const CrossoverPoint p = crossover_point(s.serving, {4, 16000, 0}, 64);
  EXPECT_FALSE(p.rows_bytes_per_s);
  EXPECT_FALSE(largest_hidden_k(s.serving, {4, 16000, 0}));
}

TEST(Crossover, TheGridIsGeometricAndEndsWithTheContext) {
  EXPECT_EQ(crossover_grid(40), (std::vector<std::int64_t>{8, 11, 16, 23, 32, 40}));
  EXPECT_EQ(crossover_grid(5), (std::vector<std::int64_t>{5}));
}

TEST(TwoTokenMachines, EveryMachineThatHoldsTheModelIsThere) {
  const PrefetchPlan plan = plan_prefetch(fetching());
  ASSERT_GT(plan.machines.size(), 3U);
  for (const TwoTokenMachine& m : plan.machines) {
    EXPECT_GE(m.fits, 1) << m.gpu;
    EXPECT_GE(m.cost_at_fits, 0) << m.gpu;
  }
  // The scenario's own machine is as in the plan itself.
  const scenario::Scenario h100 = fetching();
  const TwoTokenMachine& own = *std::find_if(plan.machines.begin(), plan.machines.end(),
                                             [](const TwoTokenMachine& m) { return m.gpu == "h100-sxm"; });
  const StepEstimate one = estimate(h100.serving, average_requests(plan.traffic, 1));
  const models::TwoTokenWork work{one.attention_bytes_per_request, static_cast<double>(plan.context)};
  EXPECT_GE(models::two_token_cost(step_timer(h100.serving), work, static_cast<double>(*own.not_free.first)),
            kFreeShare);
  EXPECT_EQ(own.fits, plan.own.memory.batch);
  // 16 GB of weights do not fit into half of 24 GB.
  for (const TwoTokenMachine& m : plan.machines) EXPECT_NE(m.gpu, "rtx-4090");
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
