#include "sim/machine/gpu_group.h"

#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace kvsim::machine {
namespace KVSIM_FILE {

using engine::Duration;
using engine::SimTime;

constexpr Duration kSecond{1'000'000'000};

/// Runs the steps it is told to, one after another.
class Steps : public StepOwner {
 public:
  void begin_step() override {
    looked_at.push_back(simulator.now());
    idle_for.push_back(gpus.idle_for());
    if (next >= steps.size()) return;
    const auto& [step, length] = steps[next++];
    gpus.start(step, length);
  }
  void end_step() override {
    waited.push_back(gpus.waited());
    if (at_end) at_end();
  }

  void wake_at(std::int64_t s) {
    simulator.schedule_at({kSecond.ns * s}, engine::Callback::to<&GpuGroup::wake>(&gpus));
  }
  /// Its time after `s` seconds.
  GpuTime time_at(std::int64_t s) {
    simulator.run_until({kSecond.ns * s});
    const GpuTime time = gpus.time();
    EXPECT_EQ((time.computing() + time.link + time.idle).ns, simulator.now().ns) << "the parts add up";
    return time;
  }

  engine::Simulator simulator;
  engine::Sample iteration_s;
  std::int64_t extrapolated = 0;
  GpuGroup gpus{{simulator, 0.5, nullptr, iteration_s, extrapolated}, *this, "group"};
  std::vector<std::pair<Step, Duration>> steps;
  std::size_t next = 0;
  std::vector<SimTime> looked_at;
  std::vector<Duration> idle_for, waited;
  std::function<void()> at_end;
};

Step computes(std::int64_t s) {
  return {kSecond * s};
}

TEST(GpuGroup, LooksForWorkOnceAnInstantAndAfterEachStep) {
  Steps g;
  g.steps = {{computes(2), kSecond * 2}, {computes(3), kSecond * 3}};
  g.wake_at(1);
  g.wake_at(1);  // the same instant
  g.wake_at(2);  // while it computes
  g.simulator.run();
  EXPECT_EQ(g.looked_at, (std::vector<SimTime>{{kSecond.ns}, {kSecond.ns * 3}, {kSecond.ns * 6}}));
  EXPECT_EQ(g.idle_for, (std::vector<Duration>{kSecond, {}, {}}));
  EXPECT_TRUE(g.gpus.idle());
}

TEST(GpuGroup, AStepThatEndsLooksForWorkAfterEverythingElseOfItsInstantWhereSomebodyWokeIt) {
  Steps g;
  g.steps = {{computes(2), kSecond * 2}, {computes(1), kSecond}};
  g.wake_at(0);
  bool other = false;
  g.at_end = [&] {
    if (g.next > 1) return;
    g.simulator.schedule_in({}, {[](void* o, std::uint64_t) { *static_cast<bool*>(o) = true; }, &other});
    g.gpus.wake();
    EXPECT_FALSE(g.gpus.computing());
  };
  g.simulator.run_until({kSecond.ns * 2});
  EXPECT_TRUE(other);
  EXPECT_TRUE(g.gpus.computing());
  EXPECT_EQ(g.looked_at.size(), 2U) << "once, not twice";
}

TEST(GpuGroup, TimeIsComputingFirstThenTheLinkAndIdleTimeIsWhatItWaitsFor) {
  Steps g;
  Step by_compute = computes(1);
  by_compute.memory_bound = false;
  g.steps = {{computes(2), kSecond * 5}, {by_compute, kSecond}};
  g.wake_at(1);
  EXPECT_EQ(g.time_at(2).hbm_bandwidth, kSecond);
  EXPECT_EQ(g.time_at(4).link, kSecond) << "in the step, behind computing";
  EXPECT_EQ(g.time_at(7).compute, kSecond);
  EXPECT_EQ(g.waited, (std::vector<Duration>{kSecond * 3, {}}));
  EXPECT_EQ(g.time_at(8).idle, kSecond * 2) << "before the first step and after the last";
  g.gpus.wait_for_link(true);
  EXPECT_EQ(g.time_at(10).link, kSecond * 5) << "from then on, not for the second before";
  g.gpus.wait_for_link(false);
  const GpuTime end = g.time_at(11);
  EXPECT_EQ(end.idle, kSecond * 3);
  EXPECT_EQ(end.link, kSecond * 5);
}

TEST(GpuGroup, WhatIsMeasuredBeginsInTheMiddleOfAStep) {
  Steps g;
  g.steps = {{computes(4), kSecond * 6}};
  g.wake_at(1);
  g.gpus.use_memory(500);
  g.time_at(3);
  g.gpus.use_memory(100);
  g.gpus.start_measuring();
  g.time_at(6);
  g.gpus.use_memory(400);
  g.time_at(8);
  const GpuTime measured = g.gpus.measured_time();
  EXPECT_EQ(measured.hbm_bandwidth, kSecond * 2);
  EXPECT_EQ(measured.link, kSecond * 2);
  EXPECT_EQ(measured.idle, kSecond);
  EXPECT_EQ(g.gpus.measured(), kSecond * 5);
  EXPECT_EQ(g.gpus.used_peak(), 400);
  EXPECT_DOUBLE_EQ(g.gpus.used_mean(), (3 * 100 + 2 * 400) / 5.0);
}

TEST(GpuGroup, TheExpectedIterationFollowsThoseThatDecode) {
  Steps g;
  Step prefills = computes(10);
  prefills.decodes = false;
  prefills.within_domain = false;
  g.steps = {{computes(1), kSecond}, {prefills, kSecond * 10}};
  EXPECT_EQ(g.gpus.iteration_s(), 0.5);
  g.wake_at(0);
  g.simulator.run();
  EXPECT_DOUBLE_EQ(g.gpus.iteration_s(), 0.8 * 0.5 + 0.2 * 1);
  EXPECT_EQ(g.iteration_s.count(), 2U);
  EXPECT_EQ(g.extrapolated, 1);
}

}  // namespace KVSIM_FILE
}  // namespace kvsim::machine
