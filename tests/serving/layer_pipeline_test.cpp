// The pipeline of layers in closed form against the one simulated step by step, and both against arithmetic by hand.
#include "sim/serving/layer_pipeline.h"
#include "tests/transport/own_link.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

namespace KVSIM_FILE {

using namespace kvsim;
using engine::Callback;
using engine::Duration;
using engine::SimTime;
using serving::FetchTime;
using serving::LayerPipeline;
using serving::LayerPipelineConfig;
using serving::LayerStep;

namespace {

/// A step, a pause after it, and a load that enters the link between the two.
struct Turn {
  LayerStep step;
  std::int64_t pause_ns = 0;
  std::int64_t load_bytes = -1;  // below 0: none
};

struct Outcome {
  std::vector<std::int64_t> ends, offloads, loads;
  transport::LinkStatistics to_gpu, to_host;
};

/// Runs steps one after the other, each begun when the one before is over and its pause is.
class Machine {
 public:
  Machine(const transport::LinkConfig& link, const LayerPipelineConfig& config, bool planned, std::vector<Turn> turns)
      : turns_(std::move(turns)) {
    if (planned) {
      auto a = std::make_unique<transport::PlannedLink>(simulator_, nullptr, link.lane(), link.bytes_per_s);
      auto b = std::make_unique<transport::PlannedLink>(simulator_, nullptr, link.lane(), link.bytes_per_s);
      layers_ = serving::make_planned_layers(simulator_, config, *a, *b);
      to_gpu_ = std::move(a);
      to_host_ = std::move(b);
    } else {
      to_gpu_ = transport::make_link(simulator_, link);
      to_host_ = transport::make_link(simulator_, link);
      layers_ = serving::make_simulated_layers(gpus_, config, *to_gpu_, *to_host_);
    }
  }

  Outcome run() {
    begin();
    simulator_.run();
    simulator_.run_until({simulator_.now().ns + 1'000'000'000});
    to_gpu_->check_conservation();
    to_host_->check_conservation();
    outcome_.to_gpu = to_gpu_->statistics();
    outcome_.to_host = to_host_->statistics();
    return outcome_;
  }

 private:
  void begin() {
    const Turn& turn = turns_[next_];
    if (turn.load_bytes >= 0) {
      to_gpu_->submit({.bytes = turn.load_bytes, .on_complete = Callback::to<&Machine::on_load>(this)});
    }
    LayerStep step = turn.step;
    step.on_offloaded = Callback::to<&Machine::on_offloaded>(this);
    layers_->start(step, Callback::to<&Machine::on_end>(this));
  }
  void on_end() {
    outcome_.ends.push_back(simulator_.now().ns);
    const std::int64_t pause = turns_[next_].pause_ns;
    if (++next_ == turns_.size()) return;
    if (pause == 0) {
      begin();
    } else {
      simulator_.schedule_in({pause}, Callback::to<&Machine::begin>(this));
    }
  }
  void on_load() { outcome_.loads.push_back(simulator_.now().ns); }
  void on_offloaded() { outcome_.offloads.push_back(simulator_.now().ns); }

  engine::Simulator simulator_;
  machine::GpuWork gpus_{simulator_};
  std::unique_ptr<transport::Link> to_gpu_, to_host_;
  std::unique_ptr<LayerPipeline> layers_;
  std::vector<Turn> turns_;
  std::size_t next_ = 0;
  Outcome outcome_;
};

transport::LinkConfig link(std::int64_t setup = 0, std::int64_t latency = 0) {
  return {.name = "link", .bytes_per_s = 1e9, .latency = {latency}, .setup = {setup}};
}

LayerStep step_of(std::int64_t before, std::int64_t attention, std::int64_t after, std::int64_t tail,
                  std::int64_t fetch) {
  LayerStep s;
  s.before = {before};
  s.attention = {attention};
  s.scoring = {attention / 2};
  s.after = {after};
  s.tail = {tail};
  s.fetch_bytes = fetch;
  s.waits = true;
  return s;
}

LayerStep drawn_step() {
  LayerStep s = step_of(*rc::gen::inRange<std::int64_t>(0, 60), *rc::gen::inRange<std::int64_t>(0, 90),
                        *rc::gen::inRange<std::int64_t>(0, 120), *rc::gen::inRange<std::int64_t>(0, 300),
                        *rc::gen::element<std::int64_t>(0, 1, 40, 150, 400) + *rc::gen::inRange<std::int64_t>(0, 20));
  s.fetch_slowdown = *rc::gen::element(1.0, 1.7);
  s.waits = *rc::gen::inRange(0, 5) > 0;
  s.offload_bytes = *rc::gen::element<std::int64_t>(0, 10, 300);
  return s;
}

std::vector<std::int64_t> ends(const LayerPipelineConfig& config, const transport::LinkConfig& link,
                               const std::vector<Turn>& turns) {
  const Outcome planned = Machine(link, config, true, turns).run();
  const Outcome simulated = Machine(link, config, false, turns).run();
  EXPECT_EQ(planned.ends, simulated.ends);
  return planned.ends;
}

// Random machines, several steps each, with batches that change, pauses, and loads on the same link.
RC_GTEST_PROP(LayerPipelineProperty, TheClosedFormIsTheStepByStepOneToTheNanosecond, ()) {
  LayerPipelineConfig config;
  config.layers = *rc::gen::inRange<std::int64_t>(1, 14);
  config.fetches = *rc::gen::element(FetchTime::next_step, FetchTime::next_layers, FetchTime::on_demand);
  config.layers_ahead = *rc::gen::inRange<std::int64_t>(1, config.layers + 1);
  std::vector<Turn> turns;
  const auto count = *rc::gen::inRange(1, 9);
  for (int i = 0; i < count; ++i) {
    turns.push_back({drawn_step(), *rc::gen::element<std::int64_t>(0, 0, 37, 2000),
                     *rc::gen::element<std::int64_t>(-1, -1, 0, 90, 3000)});
  }
  const transport::LinkConfig l = link(*rc::gen::inRange<std::int64_t>(0, 80), *rc::gen::inRange<std::int64_t>(0, 40));
  const Outcome planned = Machine(l, config, true, turns).run();
  const Outcome simulated = Machine(l, config, false, turns).run();
  RC_ASSERT(planned.ends == simulated.ends);
  RC_ASSERT(planned.loads == simulated.loads);
  RC_ASSERT(planned.offloads == simulated.offloads);
  for (const auto& [a, b] : {std::pair{planned.to_gpu, simulated.to_gpu}, {planned.to_host, simulated.to_host}}) {
    RC_ASSERT(a.bytes_delivered == b.bytes_delivered);
    RC_ASSERT(a.transfers_completed == b.transfers_completed);
    RC_ASSERT(std::abs(a.busy_s - b.busy_s) < 1e-13);
    RC_ASSERT(std::abs(a.total_wait_s - b.total_wait_s) < 1e-12);
  }
}

// More bandwidth, that is shorter fetches, never delays a step.
RC_GTEST_PROP(LayerPipelineProperty, ShorterFetchesAreNeverSlower, ()) {
  LayerPipelineConfig config;
  config.layers = *rc::gen::inRange<std::int64_t>(1, 14);
  config.fetches = *rc::gen::element(FetchTime::next_step, FetchTime::next_layers, FetchTime::on_demand);
  config.layers_ahead = *rc::gen::inRange<std::int64_t>(1, config.layers + 1);
  std::vector<Turn> slow, fast;
  for (int i = 0; i < 5; ++i) {
    LayerStep s = drawn_step();
    slow.push_back({s});
    s.fetch_bytes = s.fetch_bytes * 2 / 3;
    fast.push_back({s});
  }
  const Outcome a = Machine(link(5, 3), config, true, slow).run();
  const Outcome b = Machine(link(5, 3), config, true, fast).run();
  for (std::size_t i = 0; i < a.ends.size(); ++i) RC_ASSERT(b.ends[i] <= a.ends[i]);
}

// A step behind many like it takes what the formula says, to the rounding of its times.
RC_GTEST_PROP(LayerPipelineProperty, AStepAmongStepsLikeItTakesTheStatedTime, ()) {
  LayerPipelineConfig config;
  config.layers = *rc::gen::inRange<std::int64_t>(2, 14);
  config.fetches = *rc::gen::element(FetchTime::next_step, FetchTime::next_layers, FetchTime::on_demand);
  config.layers_ahead = *rc::gen::inRange<std::int64_t>(1, std::min<std::int64_t>(config.layers, 3) + 1);
  const LayerStep s = step_of(*rc::gen::inRange<std::int64_t>(0, 60), *rc::gen::inRange<std::int64_t>(0, 90),
                              *rc::gen::inRange<std::int64_t>(1, 120), *rc::gen::inRange<std::int64_t>(0, 300),
                              *rc::gen::inRange<std::int64_t>(1, 500));
  const Outcome o = Machine(link(), config, true, std::vector<Turn>(400, Turn{s})).run();
  constexpr std::int64_t kCycle = 50;  // steps; some cycles of lengths are longer than a step
  const double mean_ns = static_cast<double>(o.ends.back() - o.ends[o.ends.size() - 1 - kCycle]) / kCycle;
  const double fetch_ns = static_cast<double>(s.fetch_bytes);  // at 1 GB/s
  const double stated_ns = 1e9 * serving::steady_step_s(config, s, fetch_ns / 1e9, 1);
  const bool approximate = config.fetches == FetchTime::next_layers && config.layers_ahead > 1;
  const double layer_ns = static_cast<double>((s.before + s.attention + s.after).ns);
  const double within = approximate ? static_cast<double>(config.layers_ahead) * std::max(layer_ns, fetch_ns) : 0;
  RC_ASSERT(std::abs(stated_ns - mean_ns) <= within + 1e-3 * mean_ns);
}

TEST(LayerPipeline, AFetchThatFitsIntoAStepIsHidden) {
  // 4 layers of 100 ns and a tail of 40: 440. Fetches of 110 each fill the link for a whole step.
  const std::vector<Turn> turns(4, Turn{step_of(20, 30, 50, 40, 110)});
  EXPECT_EQ(ends({4, FetchTime::next_step, 4}, link(), turns), (std::vector<std::int64_t>{440, 880, 1320, 1760}));
}

TEST(LayerPipeline, AFetchLongerThanAStepPacesIt) {
  // Fetches of 150: the link needs 600 a step, and the first is asked for at 50, when layer 0 has attended.
  const std::vector<Turn> turns(4, Turn{step_of(20, 30, 50, 40, 150)});
  const auto e = ends({4, FetchTime::next_step, 4}, link(), turns);
  // Step 2 still finds each layer's fetch in time: the last arrives at 50 + 4 x 150 = 650, its layer begins at 760. The
  // link is busy until then, so step 3's arrive at 800, 950, 1100 and 1250: 1250 + 30 + 50 + 40.
  EXPECT_EQ(e, (std::vector<std::int64_t>{440, 880, 1370, 1970}));
}

TEST(LayerPipeline, FetchingOnDemandAddsEveryFetch) {
  // A layer: 20 + 15 scores, fetch 5 + 150 + 3, 15 + 50; four of them and the tail.
  const std::vector<Turn> turns(2, Turn{step_of(20, 30, 50, 40, 150)});
  EXPECT_EQ(ends({4, FetchTime::on_demand, 4}, link(5, 3), turns), (std::vector<std::int64_t>{1072, 2144}));
}

TEST(LayerPipeline, StreamingTheWholeKvIsAsSlowAsItsLink) {
  // Two layers ahead, fetches of 300 against layers of 100: 4 x 300 a step once the pipe is full.
  const std::vector<Turn> turns(4, Turn{step_of(20, 30, 50, 40, 300)});
  const auto e = ends({4, FetchTime::next_layers, 2}, link(), turns);
  EXPECT_EQ(e[2] - e[1], 1200);
  EXPECT_EQ(e[3] - e[2], 1200);
}

TEST(LayerPipeline, PromptsLeaveWhileTheyAreComputed) {
  LayerStep s = step_of(20, 30, 50, 40, 0);
  s.offload_bytes = 60;  // shorter than a layer: only the last one's copy outlives its attention
  const Outcome o = Machine(link(), {4, FetchTime::next_step, 4}, true, {Turn{s}}).run();
  EXPECT_EQ(o.offloads, (std::vector<std::int64_t>{350 + 60}));
  s.offload_bytes = 200;  // the link is the bottleneck from the first layer on
  const Outcome slow = Machine(link(), {4, FetchTime::next_step, 4}, true, {Turn{s}}).run();
  EXPECT_EQ(slow.offloads, (std::vector<std::int64_t>{50 + 4 * 200}));
  EXPECT_EQ(slow.ends, o.ends);
}

TEST(SimulatedLayers, OnGpusThatCopiesSlowEveryPieceTakesLonger) {
  // Two layers of 10 + 5 + 10 and a tail of 20: 70, twice as long where memory decides all of it.
  struct Done {
    int times = 0;
    void over() { ++times; }
  };
  for (const double share : {0.0, 1.0}) {
    Done done;
    engine::Simulator simulator;
    machine::GpuWork gpus(simulator);
    gpus.slow(1);
    gpus.begin_step(share);
    const auto to_gpu = transport::make_link(simulator, link());
    const auto to_host = transport::make_link(simulator, link());
    const auto layers = serving::make_simulated_layers(gpus, {2, FetchTime::next_step, 2}, *to_gpu, *to_host);
    LayerStep step;
    step.before = step.after = {10};
    step.attention = {5};
    step.tail = {20};
    layers->start(step, Callback::to<&Done::over>(&done));
    simulator.run();
    EXPECT_EQ(done.times, 1);
    EXPECT_EQ(simulator.now().ns, 70 * (1 + static_cast<std::int64_t>(share)));
    EXPECT_EQ(gpus.added().ns, simulator.now().ns - 70);
  }
}

}  // namespace
}  // namespace KVSIM_FILE
