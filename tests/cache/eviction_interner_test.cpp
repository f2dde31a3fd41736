#include "sim/cache/eviction/replay.h"

#include <gtest/gtest.h>

#include <map>

#include "sim/engine/random.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

TEST(Interner, NumbersKeysInTheOrderInWhichTheyCome) {
  Interner interner;
  EXPECT_EQ(interner.intern(77), 0U);
  EXPECT_EQ(interner.intern(0), 1U) << "any value is a key";
  EXPECT_EQ(interner.intern(UINT64_MAX), 2U);
  EXPECT_EQ(interner.intern(0), 1U);
  EXPECT_EQ(interner.intern(77), 0U);
  EXPECT_EQ(interner.size(), 3U);
}

TEST(Interner, AgreesWithAMapWhileItGrows) {
  engine::RandomStream random(1, "keys");
  std::vector<std::uint64_t> keys(100'000);
  for (std::uint64_t& key : keys) key = random.below(2) == 0 ? random.below(20'000) : random.next_u64() << 40;
  std::vector<ObjectId> ids(keys.size());
  Interner interner;
  interner.intern(keys, ids);
  std::map<std::uint64_t, ObjectId> expected;
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto id = expected.try_emplace(keys[i], static_cast<ObjectId>(expected.size())).first->second;
    ASSERT_EQ(ids[i], id) << i;
  }
  EXPECT_EQ(interner.size(), expected.size());
}

TEST(Interner, RoomMadeBeforeChangesNothing) {
  Interner small, large(10'000);
  for (std::uint64_t key = 0; key < 10'000; ++key) {
    ASSERT_EQ(small.intern(key * key), large.intern(key * key));
  }
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
