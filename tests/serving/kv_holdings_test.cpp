#include "sim/serving/kv_holdings.h"

#include <gtest/gtest.h>

#include <array>

#include <rapidcheck/gtest.h>

#include "sim/engine/invariant.h"

namespace kvsim::serving {
namespace KVSIM_FILE {

class KvHoldingsTest : public ::testing::Test {
 protected:
  engine::Simulator simulator_;
  KvHoldings memory_{simulator_, "group", 100, 50, nullptr};
  Residence a_, b_;
};

TEST_F(KvHoldingsTest, NothingIsHeldThatDoesNotFit) {
  EXPECT_TRUE(memory_.resize(a_, 60));
  EXPECT_FALSE(memory_.resize(b_, 41));
  EXPECT_EQ(b_.held(), 0);
  EXPECT_TRUE(memory_.resize(b_, 40));
  EXPECT_FALSE(memory_.resize(a_, 61));
  EXPECT_EQ(a_.held(), 60);
  EXPECT_TRUE(memory_.resize(a_, 10));
  EXPECT_EQ(memory_.available(), 50);
  memory_.check_conservation(50, 0);
  EXPECT_EQ(memory_.reserved_peak(), 100);
}

TEST_F(KvHoldingsTest, FullKvTakesThePlaceOfItsCompressedCopyAndGivesItBack) {
  ASSERT_TRUE(memory_.resize(a_, 70));
  EXPECT_FALSE(memory_.stage(a_, 50, 19)) << "30 are free, and 19";
  EXPECT_EQ(a_.held(), 70);
  ASSERT_TRUE(memory_.stage(a_, 50, 20));
  EXPECT_EQ(a_.held(), 50);
  EXPECT_EQ(a_.staged(), 50);
  EXPECT_EQ(memory_.available(), 0);
  memory_.unstage(a_);
  EXPECT_EQ(a_.held(), 70);
  EXPECT_EQ(a_.staged(), 0);
  EXPECT_EQ(memory_.staged_peak(), 50);
  memory_.check_conservation(70, 0);
}

TEST_F(KvHoldingsTest, WhatIsKeptIsHeld) {
  ASSERT_TRUE(memory_.resize(a_, 30));
  ASSERT_TRUE(memory_.stage(a_, 20, 0));
  memory_.keep_staged(a_);
  EXPECT_EQ(a_.held(), 50);
  EXPECT_EQ(memory_.staged(), 0);
  memory_.leave_gpu(a_);
  EXPECT_EQ(memory_.reserved(), 0);
}

TEST_F(KvHoldingsTest, HostMemoryIsReservedOnce) {
  EXPECT_TRUE(memory_.hold_in_host(a_, 30));
  EXPECT_TRUE(memory_.hold_in_host(a_, 40)) << "it has its place";
  EXPECT_EQ(a_.in_host(), 30);
  EXPECT_FALSE(memory_.hold_in_host(b_, 21));
  memory_.leave_host(a_);
  EXPECT_TRUE(memory_.hold_in_host(b_, 50));
  EXPECT_EQ(memory_.host_peak(), 50);
}

TEST_F(KvHoldingsTest, MemoryOfNobodyInParticularIsNoRequests) {
  EXPECT_TRUE(memory_.reserve_beside(80));
  EXPECT_FALSE(memory_.resize(a_, 21));
  memory_.check_conservation(0, 0);
  EXPECT_THROW(memory_.check_conservation(1, 0), engine::InvariantViolation);
  memory_.release_beside(80);
  EXPECT_EQ(memory_.reserved(), 0);
}

/// Whatever is asked for in whatever order: requests hold what they were given, and nothing is lost.
RC_GTEST_PROP(KvHoldingsProperty, NothingIsLost, ()) {
  engine::Simulator simulator;
  KvHoldings memory(simulator, "group", 1000, 1000, nullptr);
  std::array<Residence, 4> requests;
  for (int step = 0; step < 60; ++step) {
    Residence& r = requests.at(*rc::gen::inRange<std::size_t>(0, requests.size()));
    const auto bytes = *rc::gen::inRange<std::int64_t>(0, 600);
    const std::int64_t held = r.held(), staged = r.staged(), free = memory.available();
    switch (*rc::gen::inRange(0, 4)) {
      case 0: {
        const bool fits = memory.resize(r, bytes);
        RC_ASSERT(fits == (bytes - held <= free));
        RC_ASSERT(r.held() == (fits ? bytes : held));
        break;
      }
      case 1: {
        if (staged > 0) break;
        const std::int64_t replaced = std::min(held, bytes / 2);
        RC_ASSERT(memory.stage(r, bytes, replaced) == (bytes <= free + replaced));
        break;
      }
      case 2:
        memory.unstage(r);
        RC_ASSERT(r.staged() == 0);
        break;
      default:
        memory.leave_gpu(r);
        RC_ASSERT(r.held() == 0 && r.staged() == 0);
    }
    std::int64_t all_held = 0, all_staged = 0;
    for (const Residence& each : requests) {
      all_held += each.held();
      all_staged += each.staged();
    }
    memory.check_conservation(all_held, all_staged);
  }
}

}  // namespace KVSIM_FILE
}  // namespace kvsim::serving
