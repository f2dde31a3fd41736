#include "sim/machine/gpu_work.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/machine/gpu_group.h"

namespace kvsim::machine::KVSIM_FILE {
namespace {

using engine::Duration;
using engine::SimTime;

class Slowed : public ::testing::Test {
 protected:
  void slow(std::uint64_t percent) { work.slow(static_cast<double>(percent) / 100); }
  void slow_at(std::int64_t ns, std::uint64_t percent) {
    simulator.schedule_at({ns}, engine::Callback::to<&Slowed::slow>(this, percent));
  }
  void on_end() { ends.push_back(simulator.now()); }
  /// A piece of this length, half of it decided by memory, from now on.
  void run(std::int64_t ns, std::int64_t least = 0) {
    work.begin_step(0.5);
    work.run({ns}, engine::Callback::to<&Slowed::on_end>(this), {least});
    simulator.run();
  }

  engine::Simulator simulator;
  GpuWork work{simulator};
  std::vector<SimTime> ends;
};

TEST_F(Slowed, NothingSlowsAPieceOfItsOwnLength) {
  run(1001);
  EXPECT_EQ(ends, std::vector<SimTime>{{1001}});
  EXPECT_EQ(work.added().ns, 0);
  EXPECT_EQ(work.length({1001}, 0.5).ns, 1001);
}

TEST_F(Slowed, OnlyWhatMemoryDecidesTakesLonger) {
  work.slow(0.4);
  EXPECT_EQ(work.length({1000}, 0.5).ns, 1200);
  EXPECT_EQ(work.length({1000}, 0).ns, 1000);
  run(1000);
  EXPECT_EQ(ends, std::vector<SimTime>{{1200}});
  EXPECT_EQ(work.added().ns, 200);
}

TEST_F(Slowed, FromWhereItIsSlowedToWhereItIsNot) {
  slow_at(400, 100);  // at 1.5 ns a ns
  slow_at(700, 0);    // 200 of the piece later
  run(1000);
  EXPECT_EQ(ends, std::vector<SimTime>{{1100}});
  EXPECT_EQ(work.added().ns, 100);
}

TEST_F(Slowed, ItEndsNoEarlierThanWhatItWaitsFor) {
  slow_at(100, 20);  // 900 more take 990
  run(1000, 1050);
  EXPECT_EQ(ends, std::vector<SimTime>{{1090}});
  run(1000, 5000);
  EXPECT_EQ(ends.back(), SimTime{6090});
}

TEST_F(Slowed, AShareThatChangesBetweenTwoPiecesCountsForTheSecond) {
  run(10);
  work.slow(1);
  run(10);
  EXPECT_EQ(ends, (std::vector<SimTime>{{10}, {25}}));
}

}  // namespace
}  // namespace kvsim::machine::KVSIM_FILE
