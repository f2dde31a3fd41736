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
class Steps : public StepListener {
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
    const GpuTime time = gpus.spent().all();
    EXPECT_EQ((time.computing + time.link + time.front_end + time.idle).ns, simulator.now().ns) << "the parts add up";
    return time;
  }

  engine::Simulator simulator;
  engine::Sample iteration_s;
  std::int64_t extrapolated = 0, launched = 0;
  engine::ServerPool front_end{simulator, 1};
  GpuGroup gpus{{simulator, 0.5, nullptr, iteration_s, extrapolated, launched, &front_end}, *this, "group"};
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
    EXPECT_FALSE(g.gpus.spent().computing());
  };
  g.simulator.run_until({kSecond.ns * 2});
  EXPECT_TRUE(other);
  EXPECT_TRUE(g.gpus.spent().computing());
  EXPECT_EQ(g.looked_at.size(), 2U) << "once, not twice";
}

TEST(GpuGroup, TimeIsComputingFirstThenTheLinkAndIdleTimeIsWhatItWaitsFor) {
  Steps g;
  g.steps = {{computes(2), kSecond * 5}, {computes(1), kSecond}};
  g.wake_at(1);
  EXPECT_EQ(g.time_at(2).computing, kSecond);
  EXPECT_EQ(g.time_at(4).link, kSecond) << "in the step, behind computing";
  EXPECT_EQ(g.time_at(7).computing, kSecond * 3);
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
  const GpuTime measured = g.gpus.spent().measured();
  EXPECT_EQ(measured.computing, kSecond * 2);
  EXPECT_EQ(measured.link, kSecond * 2);
  EXPECT_EQ(measured.idle, kSecond);
  EXPECT_EQ(g.gpus.spent().measured_length(), kSecond * 5);
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

/// A share of each resource, and what twice of it saves.
models::StepAccount account(std::uint64_t cell, models::PerResource bound, models::PerResource saved) {
  return {.bound = bound, .saved = saved, .launched_for_size = cell == 2, .cell = cell};
}

TEST(GpuGroup, EveryStepIsCountedByItsOwnAccount) {
  // 2 s at 50 % HBM and 25 % compute, 4 s launched kernel by kernel, 1 s of fixed times.
  const models::StepAccount streams = account(1, {0.5, 0.25}, {0.25, 0.125}),
                            launches = account(2, {0, 0, 0, 1}, {0, 0, 0, 0.5});
  Step a = computes(2), b = computes(4);
  a.account = &streams;
  b.account = &launches;
  Steps g;
  g.steps = {{a, kSecond * 2}, {b, kSecond * 4}, {computes(1), kSecond}};
  g.wake_at(0);
  EXPECT_EQ(g.time_at(1).bound_s, (models::PerResource{0.5, 0.25, 0, 0, 0})) << "as far as it has come";
  EXPECT_EQ(g.time_at(4).bound_s, (models::PerResource{1, 0.5, 0, 2, 0}));
  const GpuTime end = g.time_at(9);
  EXPECT_EQ(end.bound_s, (models::PerResource{1, 0.5, 0, 4, 0}));
  EXPECT_EQ(end.saved_s, (models::PerResource{0.5, 0.25, 0, 2, 0}));
  EXPECT_DOUBLE_EQ(end.fixed_s(), 0.5 + 1);
  EXPECT_EQ(g.launched, 1);
}

TEST(GpuGroup, WaitsForTheFrontEndWhileNoThreadOfItIsFree) {
  // Idle from 0 to 10 s but for a step from 4 to 6 s; the thread is at work from 1 to 5 s.
  Steps g;
  g.steps = {{computes(2), kSecond * 2}};
  g.wake_at(4);
  g.time_at(1);
  g.front_end.submit(kSecond * 4, {[](void*, std::uint64_t) {}, nullptr});
  EXPECT_EQ(g.time_at(2).front_end, kSecond);
  const GpuTime end = g.time_at(10);
  EXPECT_EQ(end.front_end, kSecond * 3);
  EXPECT_EQ(end.idle, kSecond * 5);
}

TEST(Overlap, KeepsHowFarTwoThingsRunBesideEachOther) {
  // 6 s of computing and 4 s of transfers. Beside each other: 6 s, none waited for. One after the other: 10 s.
  const Overlap beside(6, 4, 0), after(6, 4, 4), half(6, 4, 2);
  EXPECT_DOUBLE_EQ(beside.length(), 6);
  EXPECT_DOUBLE_EQ(beside.length(3, 4), 4) << "twice as fast, the transfers bind";
  EXPECT_DOUBLE_EQ(after.length(3, 4), 7);
  EXPECT_DOUBLE_EQ(after.length(6, 2), 8);
  EXPECT_DOUBLE_EQ(half.length(), 8);
  EXPECT_DOUBLE_EQ(half.length(6, 2), 7);
  // Transfers of 10 s that computing of 6 s hides as far as it goes.
  EXPECT_DOUBLE_EQ(Overlap(6, 10, 4).length(), 10);
  EXPECT_DOUBLE_EQ(Overlap(6, 10, 4).length(6, 5), 6);
}

}  // namespace KVSIM_FILE
}  // namespace kvsim::machine
