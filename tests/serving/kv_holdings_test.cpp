#include "sim/serving/kv_holdings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <vector>

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
  EXPECT_EQ(memory_.gpu().pool().high_water(), 100);
}

/// Blocks of 10 bytes.
class SharedBlocksTest : public ::testing::Test {
 protected:
  /// It holds 35 bytes, whose whole blocks are these.
  void compute(Residence& r, const std::vector<std::uint64_t>& blocks) {
    r.name_blocks(blocks);
    ASSERT_TRUE(memory_.resize(r, 35));
    memory_.tell(r, 3);
  }

  engine::Simulator simulator_;
  KvHoldings memory_{simulator_, "group", 100, 0, nullptr, 10};
  Residence a_, b_, c_;
};

TEST_F(SharedBlocksTest, AreThereOnce) {
  compute(a_, {1, 2, 3});
  b_.name_blocks({1, 2, 7});
  ASSERT_EQ(memory_.there(b_, 3), 2);
  EXPECT_EQ(memory_.there(b_, 1), 1);
  EXPECT_EQ(memory_.in_use(b_, 2), 20);
  memory_.share(b_, 2);
  ASSERT_TRUE(memory_.resize(b_, 35));
  EXPECT_EQ(b_.shared(), 20);
  EXPECT_EQ(memory_.gpu().reserved(), 50);
  memory_.check_conservation(70, 0);
  memory_.leave_gpu(a_);  // what b refers to stays in use
  EXPECT_EQ(memory_.gpu().reserved(), 35);
  memory_.check_conservation(35, 0);
}

TEST_F(SharedBlocksTest, StayUntilTheirRoomIsTakenAndGoFromTheirEnd) {
  compute(a_, {1, 2, 3});
  memory_.leave_gpu(a_);
  EXPECT_EQ(memory_.available(), 100);
  b_.name_blocks({1, 2, 3});
  EXPECT_EQ(memory_.there(b_, 3), 3);
  EXPECT_EQ(memory_.in_use(b_, 3), 0);  // nobody refers to them: it needs room for all
  ASSERT_TRUE(memory_.resize(c_, 75));
  EXPECT_EQ(memory_.there(b_, 3), 2);
  ASSERT_TRUE(memory_.resize(c_, 81));
  EXPECT_EQ(memory_.there(b_, 3), 1);
  memory_.check_conservation(81, 0);
}

TEST_F(SharedBlocksTest, ComputedByTwoAtOnceAreEachOnesOwn) {
  compute(a_, {1, 2, 3});
  compute(b_, {1, 2, 9});
  EXPECT_EQ(b_.shared(), 10);
  EXPECT_EQ(memory_.gpu().reserved(), 70);
  memory_.check_conservation(70, 0);
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
  EXPECT_EQ(memory_.staged_level().peak(), 50);
  memory_.check_conservation(70, 0);
}

TEST_F(KvHoldingsTest, WhatIsKeptIsHeld) {
  ASSERT_TRUE(memory_.resize(a_, 30));
  ASSERT_TRUE(memory_.stage(a_, 20, 0));
  memory_.keep_staged(a_);
  EXPECT_EQ(a_.held(), 50);
  EXPECT_EQ(memory_.staged(), 0);
  memory_.leave_gpu(a_);
  EXPECT_EQ(memory_.gpu().reserved(), 0);
}

TEST_F(KvHoldingsTest, HostMemoryIsReservedOnce) {
  EXPECT_TRUE(memory_.hold_in_host(a_, 30));
  EXPECT_TRUE(memory_.hold_in_host(a_, 40)) << "it has its place";
  EXPECT_EQ(a_.in_host(), 30);
  EXPECT_FALSE(memory_.hold_in_host(b_, 21));
  memory_.leave_host(a_);
  EXPECT_TRUE(memory_.hold_in_host(b_, 50));
  EXPECT_EQ(memory_.host().high_water(), 50);
}

TEST_F(KvHoldingsTest, MemoryOfNobodyInParticularIsNoRequests) {
  EXPECT_TRUE(memory_.reserve_beside(80));
  EXPECT_FALSE(memory_.resize(a_, 21));
  memory_.check_conservation(0, 0);
  EXPECT_THROW(memory_.check_conservation(1, 0), engine::InvariantViolation);
  memory_.release_beside(80);
  EXPECT_EQ(memory_.gpu().reserved(), 0);
}

TEST_F(KvHoldingsTest, WhoIsPushedOutIsFoundUntilItsRoomIsTakenFromItsEnd) {
  ASSERT_TRUE(memory_.resize(a_, 40));
  ASSERT_TRUE(memory_.resize(b_, 60));
  memory_.push_out(a_);
  EXPECT_EQ(memory_.available(), 40);
  EXPECT_EQ(memory_.found(a_, 30), 30);
  ASSERT_TRUE(memory_.resize(b_, 70));
  EXPECT_EQ(memory_.found(a_, 30), 30) << "the 10 at its end are gone, of no use anyway";
  ASSERT_TRUE(memory_.resize(b_, 85));
  EXPECT_EQ(memory_.found(a_, 30), 15);
  EXPECT_EQ(memory_.take_back(a_, 30), 15);
  ASSERT_TRUE(memory_.resize(a_, 15));
  EXPECT_EQ(memory_.found(a_, 30), 0) << "it is held now";
}

TEST_F(KvHoldingsTest, WhatFellFreeFirstIsTakenFirst) {
  Residence c;
  ASSERT_TRUE(memory_.resize(a_, 40));
  ASSERT_TRUE(memory_.resize(b_, 30));
  ASSERT_TRUE(memory_.resize(c, 20));
  memory_.leave_gpu(b_);  // free, in this order: 10 of nobody, b's 30
  memory_.push_out(a_);   // and a's 40
  ASSERT_TRUE(memory_.resize(c, 60));
  EXPECT_EQ(memory_.found(a_, 40), 40);
  ASSERT_TRUE(memory_.resize(c, 65));
  EXPECT_EQ(memory_.found(a_, 40), 35);
}

TEST_F(KvHoldingsTest, WhatIsTakenBackLeavesWhatFellFreeBefore) {
  ASSERT_TRUE(memory_.resize(a_, 40));
  ASSERT_TRUE(memory_.resize(b_, 60));
  memory_.push_out(a_);
  memory_.push_out(b_);
  EXPECT_EQ(memory_.take_back(b_, 60), 60);
  ASSERT_TRUE(memory_.resize(b_, 70));  // 60 of its own, and 10 of a's
  EXPECT_EQ(memory_.found(a_, 40), 30);
}

/// Against a list of free bytes, each with who left it there and where it was: requests are pushed out and come back
/// last in first out, as they wait.
RC_GTEST_PROP(KvHoldingsProperty, FoundIsWhatAListOfFreeBytesHolds, ()) {
  constexpr std::int64_t capacity = 60;
  engine::Simulator simulator;
  KvHoldings memory(simulator, "group", capacity, 0, nullptr);
  struct Byte {
    int owner;
    std::int64_t at;
  };
  std::deque<Byte> free(capacity, Byte{-1, 0});
  std::array<Residence, 5> requests;
  std::array<std::int64_t, 5> findable{};
  std::vector<int> out;  // waiting, the latest at the end
  const auto left_of = [&](int owner) {
    const auto beyond = findable.at(static_cast<std::size_t>(owner));
    return std::count_if(free.begin(), free.end(), [&](const Byte& b) { return b.owner == owner && b.at < beyond; });
  };
  const auto found = [&](int owner) {
    const auto i = static_cast<std::size_t>(owner);
    return memory.found(requests.at(i), findable.at(i));
  };
  for (int step = 0; step < 80; ++step) {
    const int who = *rc::gen::inRange(0, 5);
    Residence& r = requests.at(static_cast<std::size_t>(who));
    const bool waits = std::find(out.begin(), out.end(), who) != out.end();
    if (waits && out.back() != who) continue;
    const auto bytes = *rc::gen::inRange<std::int64_t>(0, 30);
    if (!waits && *rc::gen::inRange(0, 3) == 0) {
      findable.at(static_cast<std::size_t>(who)) = std::min(bytes, r.held());
      for (std::int64_t at = r.held(); at-- > 0;) free.push_back({who, at});
      memory.push_out(r);
      out.push_back(who);
    } else {
      std::int64_t more = bytes - r.held();
      if (waits) {
        const std::int64_t there = found(who);
        RC_ASSERT(there == left_of(who));
        if (bytes < there || bytes > memory.available()) continue;
        RC_ASSERT(memory.take_back(r, findable.at(static_cast<std::size_t>(who))) == there);
        std::erase_if(
            free, [&](const Byte& b) { return b.owner == who && b.at < findable.at(static_cast<std::size_t>(who)); });
        for (Byte& b : free) b.owner = b.owner == who ? -1 : b.owner;
        out.pop_back();
        more -= there;
      }
      if (!memory.resize(r, bytes)) continue;
      for (; more > 0; --more) free.pop_front();
      for (; more < 0; ++more) free.push_back({-1, 0});
    }
    RC_ASSERT(static_cast<std::int64_t>(free.size()) == memory.available());
    for (const int each : out) RC_ASSERT(found(each) == left_of(each));
  }
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
