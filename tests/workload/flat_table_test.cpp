#include "models/workload/flat_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <unordered_map>

namespace kvsim::models::KVSIM_FILE {
namespace {

TEST(FlatTable, HoldsWhatAnUnorderedMapDoes) {
  FlatTable<std::int32_t> flat;
  std::unordered_map<std::uint64_t, std::int32_t> map;
  std::uint64_t key = 1;
  for (std::int32_t i = 0; i < 200'000; ++i) {
    key = key * 6364136223846793005U + 1442695040888963407U;
    const std::uint64_t one = i % 3 == 0 ? key >> 47U : key;  // some again and again
    const auto [value, fresh] = flat.try_emplace(one, i);
    ASSERT_EQ(fresh, map.try_emplace(one, i).second);
    ASSERT_EQ(*value, map.at(one));
    if (i % 5 == 0) *value = map[one] = -i;
  }
  EXPECT_EQ(flat.size(), map.size());
  for (const auto& [one, value] : map) {
    ASSERT_NE(flat.find(one), nullptr);
    EXPECT_EQ(*flat.find(one), value);
  }
  EXPECT_EQ(flat.find(key + 1), nullptr);
  std::int64_t sum = 0, expected = 0;
  flat.for_each([&](std::int32_t value) { sum += value; });
  for (const auto& [one, value] : map) expected += value;
  EXPECT_EQ(sum, expected);
}

/// The key that mixed_hash makes 0 of, which marks free slots.
constexpr std::uint64_t of_zero() {
  const auto unshift = [](std::uint64_t x, unsigned by) {
    std::uint64_t whole = x;
    for (unsigned bits = by; bits < 64; bits += by) whole = x ^ (whole >> by);
    return whole;
  };
  const auto inverse = [](std::uint64_t odd) {
    std::uint64_t x = odd;
    for (int i = 0; i < 6; ++i) x *= 2 - odd * x;
    return x;
  };
  std::uint64_t x = unshift(0, 31) * inverse(0x94D049BB133111EBU);
  x = unshift(x, 27) * inverse(0xBF58476D1CE4E5B9U);
  return unshift(x, 30) - 0x9E3779B97F4A7C15U;
}
static_assert(mixed_hash(of_zero()) == 0);

TEST(FlatTable, HoldsTheKeyThatMarksFreeSlots) {
  FlatTable<std::int32_t> flat;
  EXPECT_EQ(flat.find(of_zero()), nullptr);
  EXPECT_TRUE(flat.try_emplace(of_zero(), 7).second);
  EXPECT_FALSE(flat.try_emplace(of_zero(), 8).second);
  EXPECT_EQ(*flat.find(of_zero()), 7);
  EXPECT_EQ(flat.size(), 1U);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
