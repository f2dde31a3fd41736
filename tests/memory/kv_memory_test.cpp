#include "sim/memory/kv_memory.h"

#include <gtest/gtest.h>

#include "sim/engine/invariant.h"
#include "sim/engine/simulator.h"
#include "tests/memory/chains.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using engine::InvariantViolation;
using memory::KvForm;
using memory::KvMemory;
using memory::MemoryClaim;

constexpr std::int64_t kBlock = 10;  // bytes

class KvMemoryTest : public ::testing::Test {
 protected:
  MemoryClaim claim(const Chain& chain, std::int64_t private_bytes = 0, KvForm form = KvForm::full) {
    MemoryClaim c;
    EXPECT_TRUE(memory_.try_claim(c, chain, form, kBlock, private_bytes));
    return c;
  }
  /// Claims, loads and releases: what a request leaves behind.
  void use(const Chain& chain) {
    MemoryClaim c = claim(chain);
    memory_.loaded(c);
    memory_.release(c);
  }
  void TearDown() override { memory_.check_conservation(); }

  engine::Simulator simulator_;
  KvMemory memory_{simulator_, "node", 100};
};

TEST_F(KvMemoryTest, AClaimWithoutBlocksIsAReservation) {
  MemoryClaim a = claim({}, 60);
  EXPECT_EQ(memory_.reserved(), 60);
  EXPECT_TRUE(memory_.complete(a));
  MemoryClaim b;
  EXPECT_FALSE(memory_.try_claim(b, {}, KvForm::full, kBlock, 41));
  EXPECT_TRUE(b.empty());
  EXPECT_TRUE(memory_.try_claim(b, {}, KvForm::full, kBlock, 40));
  EXPECT_EQ(memory_.reserved(), 100);
  memory_.release(a);
  memory_.release(b);
  EXPECT_EQ(memory_.reserved(), 0);
  EXPECT_EQ(memory_.pool().high_water(), 100);
}

TEST_F(KvMemoryTest, AClaimMayShrink) {
  MemoryClaim a = claim({}, 60);
  memory_.shrink(a, 25);
  EXPECT_EQ(a.private_bytes, 25);
  EXPECT_EQ(memory_.reserved(), 25);
  EXPECT_EQ(memory_.private_bytes(), 25);
  EXPECT_THROW(memory_.shrink(a, 26), InvariantViolation);
  MemoryClaim b = claim({}, 75);
  memory_.release(a);
  memory_.release(b);
}

TEST_F(KvMemoryTest, TwoClaimsOfOneChainShareItsBytes) {
  MemoryClaim a = claim(chain_of({1, 2, 3}), 5);
  EXPECT_EQ(a.missing, 3);
  EXPECT_EQ(memory_.need(chain_of({1, 2, 4}), KvForm::full, kBlock, 7), 7 + 10);
  MemoryClaim b = claim(chain_of({1, 2, 4}), 7);
  EXPECT_EQ(memory_.reserved(), 5 + 30 + 7 + 10);
  memory_.loaded(a);
  memory_.loaded(b);
  memory_.release(a);
  EXPECT_EQ(memory_.reserved(), 7 + 30);  // blocks 1, 2 and 4
  EXPECT_EQ(memory_.cached(), 10);        // block 3
  memory_.release(b);
  EXPECT_EQ(memory_.cached(), 40);
}

TEST_F(KvMemoryTest, AJoinedBlockIsThereOnceItsLoaderHasIt) {
  MemoryClaim a = claim(chain_of({1, 2}));
  MemoryClaim b = claim(chain_of({1, 2, 3}));
  EXPECT_EQ(b.missing, 1);
  EXPECT_EQ(b.joined, 2);
  EXPECT_EQ(b.present, 0);
  memory_.loaded(b);
  EXPECT_FALSE(memory_.complete(b));
  EXPECT_FALSE(memory_.complete(a));
  EXPECT_TRUE(memory_.complete_but_own(a));
  EXPECT_FALSE(memory_.complete_but_own(b));
  memory_.loaded(a);
  EXPECT_TRUE(memory_.complete(a));
  EXPECT_TRUE(memory_.complete(b));
  MemoryClaim c = claim(chain_of({1, 2, 3}));
  EXPECT_EQ(c.present, 3);
  EXPECT_TRUE(memory_.complete(c));
}

TEST_F(KvMemoryTest, OneThatOnlyJoinedCanLeaveFirst) {
  MemoryClaim a = claim(chain_of({1, 2}));
  MemoryClaim b = claim(chain_of({1}));
  EXPECT_EQ(b.joined, 1);
  memory_.release(b);
  EXPECT_EQ(memory_.cached(), 0);
  EXPECT_THROW(memory_.release(a), InvariantViolation);  // still loading
  memory_.loaded(a);
  memory_.release(a);
  EXPECT_EQ(memory_.cached(), 20);
}

TEST_F(KvMemoryTest, TheFormsOfABlockAreTwoBlocks) {
  use(chain_of({1, 2}));
  EXPECT_EQ(memory_.need(chain_of({1, 2}), KvForm::full, kBlock, 0), 0);
  EXPECT_EQ(memory_.need(chain_of({1, 2}), KvForm::compressed, 3, 0), 6);
  MemoryClaim c;
  ASSERT_TRUE(memory_.try_claim(c, chain_of({1, 2}), KvForm::compressed, 3, 0));
  EXPECT_EQ(c.missing, 2);
  EXPECT_EQ(memory_.reserved(), 6);
  EXPECT_EQ(memory_.cached(), 20);
}

TEST_F(KvMemoryTest, EvictsTheChainUsedLongestAgoItsSuffixFirst) {
  use(chain_of({1, 2, 3}));
  use(chain_of({4, 5, 6}));
  use(chain_of({1, 2}));
  // 60 bytes cached; oldest first: 3, 6, 5, 4, 2, 1. 75 more leave 25: two blocks.
  MemoryClaim c = claim({}, 75);
  EXPECT_EQ(memory_.blocks().evictions(), 4U);
  EXPECT_EQ(memory_.need(chain_of({1, 2, 3}), KvForm::full, kBlock, 0), 10);
  EXPECT_EQ(memory_.need(chain_of({4}), KvForm::full, kBlock, 0), 10);
}

TEST_F(KvMemoryTest, DoesNotEvictWhatTheClaimItselfRefersTo) {
  use(chain_of({1, 2, 3}));  // the oldest
  use(chain_of({4, 5, 6}));
  // 60 of 100 bytes are cached. 1-2-3 takes 30, 40 more beside it leave 30: block 4-5-6 stays. 70 more: it goes.
  EXPECT_TRUE(memory_.fits(chain_of({1, 2, 3}), KvForm::full, kBlock, 70));
  EXPECT_FALSE(memory_.fits(chain_of({1, 2, 3}), KvForm::full, kBlock, 71));
  EXPECT_TRUE(memory_.fits(chain_of({1, 2, 3}), KvForm::full, kBlock, 50, 20));
  EXPECT_FALSE(memory_.fits(chain_of({1, 2, 3}), KvForm::full, kBlock, 50, 21));
  MemoryClaim too_much;
  EXPECT_FALSE(memory_.try_claim(too_much, chain_of({1, 2, 3}), KvForm::full, kBlock, 71));
  EXPECT_TRUE(too_much.empty());
  EXPECT_EQ(memory_.cached(), 60);
  MemoryClaim c = claim(chain_of({1, 2, 3}), 70);
  EXPECT_EQ(c.present, 3);
  EXPECT_EQ(memory_.reserved(), 100);
  EXPECT_EQ(memory_.cached(), 0);
}

TEST_F(KvMemoryTest, CachedBlocksAreNotInUse) {
  use(chain_of({1, 2}));
  EXPECT_EQ(memory_.reserved(), 0);
  EXPECT_EQ(memory_.available(), 100);
  simulator_.run_until({1'000'000'000});
  MemoryClaim c = claim({}, 40);
  memory_.reset_statistics();
  simulator_.run_until({2'000'000'000});
  EXPECT_DOUBLE_EQ(memory_.pool().mean_reserved(), 40);
  EXPECT_EQ(memory_.pool().high_water(), 40);
}

TEST_F(KvMemoryTest, AHashTwiceInAChainIsOneBlock) {
  MemoryClaim c = claim({5, 5, 6});
  EXPECT_EQ(c.missing, 2);
  EXPECT_EQ(memory_.reserved(), 20);
  memory_.loaded(c);
  memory_.release(c);
  EXPECT_EQ(memory_.cached(), 20);
  c = claim({5, 5});
  EXPECT_EQ(memory_.reserved(), 10);
  memory_.release(c);
}

TEST_F(KvMemoryTest, AClaimIsMadeOnce) {
  MemoryClaim c = claim({}, 1);
  EXPECT_THROW(static_cast<void>(memory_.try_claim(c, {}, KvForm::full, kBlock, 1)), InvariantViolation);
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
