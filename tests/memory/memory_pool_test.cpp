#include "sim/memory/memory_pool.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <utility>
#include <vector>

#include "sim/engine/invariant.h"

namespace KVSIM_FILE {
namespace {

using namespace kvsim::engine;
using namespace kvsim::memory;

TEST(MemoryPool, aReservationThatDoesNotFitChangesNothing) {
  Simulator simulator;
  MemoryPool pool(simulator, "hbm", 100);
  EXPECT_TRUE(pool.try_reserve(60));
  EXPECT_FALSE(pool.try_reserve(41));
  EXPECT_EQ(pool.reserved(), 60);
  EXPECT_TRUE(pool.try_reserve(40));
  EXPECT_TRUE(pool.try_reserve(0));
  EXPECT_EQ(pool.available(), 0);
  pool.check_conservation();
}

TEST(MemoryPool, returningMoreThanIsReservedIsAnInvariantViolation) {
  Simulator simulator;
  MemoryPool pool(simulator, "hbm", 100);
  ASSERT_TRUE(pool.try_reserve(10));
  EXPECT_THROW(pool.release(11), InvariantViolation);
  EXPECT_THROW(pool.release(-1), InvariantViolation);
  EXPECT_THROW(static_cast<void>(pool.try_reserve(-1)), InvariantViolation);
  EXPECT_EQ(pool.reserved(), 10);
}

TEST(MemoryPool, theMeanWeighsLevelsByTime) {
  // 10 bytes for 1 s, then 40 for 3 s: (10 + 120) / 4 = 32.5.
  Simulator simulator;
  MemoryPool pool(simulator, "hbm", 100);
  ASSERT_TRUE(pool.try_reserve(10));
  simulator.run_until({1'000'000'000});
  ASSERT_TRUE(pool.try_reserve(30));
  simulator.run_until({4'000'000'000});
  EXPECT_DOUBLE_EQ(pool.mean_reserved(), 32.5);
  EXPECT_EQ(pool.high_water(), 40);
}

TEST(MemoryPool, resettingStatisticsForgetsTheWarmUpButNotTheReservations) {
  Simulator simulator;
  MemoryPool pool(simulator, "hbm", 100);
  ASSERT_TRUE(pool.try_reserve(90));
  simulator.run_until({1'000'000'000});
  pool.release(70);
  pool.reset_statistics();
  simulator.run_until({2'000'000'000});
  EXPECT_EQ(pool.high_water(), 20);
  EXPECT_DOUBLE_EQ(pool.mean_reserved(), 20);
  EXPECT_EQ(pool.lifetime_reserved() - pool.lifetime_released(), 20);
}

RC_GTEST_PROP(MemoryPoolProperty, neverHoldsMoreThanItsCapacity, ()) {
  Simulator simulator;
  const std::int64_t capacity = *rc::gen::inRange(0, 1000);
  MemoryPool pool(simulator, "hbm", capacity);
  std::int64_t model = 0;
  for (const auto& [reserve, bytes] : *rc::gen::container<std::vector<std::pair<bool, int>>>(
           rc::gen::pair(rc::gen::arbitrary<bool>(), rc::gen::inRange(0, 400)))) {
    if (reserve) {
      const bool fits = model + bytes <= capacity;
      RC_ASSERT(pool.try_reserve(bytes) == fits);
      if (fits) model += bytes;
    } else if (bytes <= model) {
      pool.release(bytes);
      model -= bytes;
    } else {
      RC_ASSERT_THROWS_AS(pool.release(bytes), InvariantViolation);
    }
    RC_ASSERT(pool.reserved() == model);
    RC_ASSERT(pool.reserved() >= 0 && pool.reserved() <= capacity);
    pool.check_conservation();
  }
}

}  // namespace
}  // namespace KVSIM_FILE
