// The closed form of a repeating step, by hand and against the simulator's pipeline.
#include "planner/prefetch/step_estimate.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

namespace KVSIM_FILE {

using namespace kvsim;
using engine::Callback;
using planner::FetchTimes;
using planner::Pace;
using planner::steady_step;
using serving::FetchTime;
using serving::LayerPipelineConfig;
using serving::LayerStep;

namespace {

LayerStep step_of(std::int64_t before, std::int64_t attention, std::int64_t after, std::int64_t tail) {
  LayerStep s;
  s.before = {before};
  s.attention = {attention};
  s.scoring = {attention / 2};
  s.after = {after};
  s.tail = {tail};
  s.fetch_bytes = 1;
  s.waits = true;
  return s;
}

/// Runs the same step again and again on the simulator's planned pipeline.
class Repeated {
 public:
  Repeated(const LayerStep& step, const LayerPipelineConfig& config, const FetchTimes& fetch)
      : step_(step),
        to_gpu_(simulator_, nullptr, lane(fetch), 1e9),
        to_host_(simulator_, nullptr, lane({}), 1e9),
        layers_(serving::make_planned_layers(simulator_, config, to_gpu_, to_host_)) {
    step_.fetch_bytes = static_cast<std::int64_t>(fetch.flowing_ns);  // 1 byte/ns
  }

  /// Mean length of the last `counted` of `steps` steps, in ns.
  double mean_ns(std::size_t steps, std::size_t counted) {
    steps_ = steps;
    begin();
    simulator_.run();
    return static_cast<double>(ends_.back() - ends_[ends_.size() - 1 - counted]) / static_cast<double>(counted);
  }

 private:
  static transport::LaneConfig lane(const FetchTimes& fetch) {
    return {.group = "links",
            .name = "link",
            .route = {},
            .latency = {static_cast<std::int64_t>(fetch.latency_ns)},
            .setup = {static_cast<std::int64_t>(fetch.setup_ns)}};
  }
  void begin() { layers_->start(step_, Callback::to<&Repeated::on_end>(this)); }
  void on_end() {
    ends_.push_back(simulator_.now().ns);
    if (ends_.size() < steps_) begin();
  }

  engine::Simulator simulator_;
  LayerStep step_;
  transport::PlannedLink to_gpu_, to_host_;
  std::unique_ptr<serving::LayerPipeline> layers_;
  std::vector<std::int64_t> ends_;
  std::size_t steps_ = 0;
};

/// To the nanosecond: all times are whole, and steps repeat after two at the latest.
void expect_step(const LayerStep& step, const LayerPipelineConfig& config, const FetchTimes& fetch, double ns,
                 Pace pace) {
  const planner::SteadyStep steady = steady_step(step, config, fetch);
  EXPECT_EQ(steady.step_ns, ns);
  EXPECT_EQ(steady.pace, pace);
  EXPECT_EQ(Repeated(step, config, fetch).mean_ns(40, 2), ns);
}

// Four layers of 20 + 30 + 50 ns and a tail of 40: 440 ns of computing.
TEST(SteadyStep, AFetchThatFitsIsHidden) {
  expect_step(step_of(20, 30, 50, 40), {4, FetchTime::next_step, 4}, {110, 5, 3}, 440, Pace::gpu);
}

TEST(SteadyStep, ALinkThatIsNeverIdlePacesTheStep) {
  expect_step(step_of(20, 30, 50, 40), {4, FetchTime::next_step, 4}, {150, 5, 3}, 600, Pace::link);
  // Setups are done while the one before flows, unless they are longer.
  expect_step(step_of(20, 30, 50, 40), {4, FetchTime::next_step, 4}, {90, 120, 3}, 480, Pace::link);
}

TEST(SteadyStep, AFetchMustFitIntoTheStepBeforeItsAttention) {
  // 30 + 5 + 100 + 400.
  expect_step(step_of(20, 30, 50, 40), {4, FetchTime::next_step, 4}, {100, 5, 400}, 535, Pace::window);
}

TEST(SteadyStep, WhereTheTailAndTheLatencyAreLongTheStepsAlternate) {
  // Two layers of 5 and a tail of 20, fetches of 10, x = 2 + 10 + 18 = 30 = computing; (5 + 20 + 30 + 10) / 2 = 32.5.
  expect_step(step_of(2, 2, 1, 20), {2, FetchTime::next_step, 2}, {10, 0, 18}, 32.5, Pace::window);
}

TEST(SteadyStep, OnDemandEveryLayerWaitsForItsFetch) {
  // 440 + 4 (5 + 150 + 3).
  expect_step(step_of(20, 30, 50, 40), {4, FetchTime::on_demand, 4}, {150, 5, 3}, 1072, Pace::window);
}

TEST(SteadyStep, LayersAheadAreAWindowOfSoManyLayers) {
  // Of two layers ahead: 4 x 300 on the link; then 4 / 2 x (30 + 100 + 140) where the latency is long.
  expect_step(step_of(20, 30, 50, 40), {4, FetchTime::next_layers, 2}, {300, 0, 0}, 1200, Pace::link);
  expect_step(step_of(20, 30, 50, 0), {4, FetchTime::next_layers, 2}, {100, 0, 140}, 540, Pace::window);
}

TEST(SteadyStep, WithoutAFetchOrANeedForOneItIsTheComputing) {
  LayerStep s = step_of(20, 30, 50, 40);
  s.fetch_bytes = 0;
  EXPECT_EQ(steady_step(s, {4, FetchTime::on_demand, 4}, {150, 5, 3}).step_ns, 440);
  s = step_of(20, 30, 50, 40);
  s.waits = false;
  EXPECT_EQ(steady_step(s, {4, FetchTime::next_step, 4}, {150, 5, 3}).step_ns, 440);
}

TEST(SteadyStep, TheLongestHiddenFetchIsWhereTheLinkIsBusyAllStep) {
  const LayerStep s = step_of(20, 30, 50, 40);
  const LayerPipelineConfig config{4, FetchTime::next_step, 4};
  EXPECT_NEAR(planner::longest_hidden_ns(s, config, {0, 5, 3}), 110 * (1 + planner::kHiddenShare), 1e-6);
  // Latency leaves 440.44 - 30 - 5 - 380.
  EXPECT_NEAR(planner::longest_hidden_ns(s, config, {0, 5, 380}), 25.44, 1e-6);
  EXPECT_LT(planner::longest_hidden_ns(s, config, {0, 5, 500}), 0);
}

// 1000 steps: what has not settled by then differs by less than a nanosecond a step or so.
RC_GTEST_PROP(SteadyStepProperty, IsWhatTheSimulatorsPipelineComesTo, ()) {
  LayerPipelineConfig config;
  config.layers = *rc::gen::inRange<std::int64_t>(1, 14);
  config.fetches = *rc::gen::element(FetchTime::next_step, FetchTime::next_layers, FetchTime::on_demand);
  config.layers_ahead = *rc::gen::inRange<std::int64_t>(1, config.layers + 1);
  const LayerStep step = step_of(*rc::gen::inRange<std::int64_t>(0, 60), *rc::gen::inRange<std::int64_t>(1, 90),
                                 *rc::gen::inRange<std::int64_t>(0, 120), *rc::gen::inRange<std::int64_t>(0, 600));
  const FetchTimes fetch{static_cast<double>(*rc::gen::inRange(1, 400)), static_cast<double>(*rc::gen::inRange(0, 80)),
                         static_cast<double>(*rc::gen::element(0, 3, 100, 700))};
  const double simulated = Repeated(step, config, fetch).mean_ns(1000, 500);
  RC_ASSERT(std::abs(simulated - steady_step(step, config, fetch).step_ns) < 4);
}

RC_GTEST_PROP(SteadyStepProperty, AFasterLinkIsNeverSlower, ()) {
  const LayerPipelineConfig config{
      *rc::gen::inRange<std::int64_t>(1, 14),
      *rc::gen::element(FetchTime::next_step, FetchTime::next_layers, FetchTime::on_demand), 1};
  const LayerStep step = step_of(*rc::gen::inRange<std::int64_t>(0, 60), *rc::gen::inRange<std::int64_t>(1, 90),
                                 *rc::gen::inRange<std::int64_t>(0, 120), *rc::gen::inRange<std::int64_t>(0, 600));
  const double slow = *rc::gen::inRange(1, 400);
  const double fast = slow * *rc::gen::element(0.1, 0.5, 0.99);
  RC_ASSERT(steady_step(step, config, {fast, 5, 30}).step_ns <= steady_step(step, config, {slow, 5, 30}).step_ns);
}

}  // namespace
}  // namespace KVSIM_FILE
