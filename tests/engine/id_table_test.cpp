// Things by ascending numbers: the same as in a map, and no more memory than the most that were there at once take.
#include "sim/engine/id_table.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <vector>

#include "tests/engine/allocation_count.h"

namespace kvsim::engine::KVSIM_FILE {
namespace {

TEST(IdTable, WhatIsErasedIsGoneAndNewOnesAreFresh) {
  IdTable<int> table;
  table.add(3) = 30;
  table.add(5) = 50;
  EXPECT_EQ(*table.find(3), 30);
  EXPECT_EQ(table.find(4), nullptr);
  EXPECT_EQ(table.find(1000), nullptr);
  EXPECT_EQ(table.end(), 6U);
  table.erase(3);
  table.erase(3);
  EXPECT_EQ(table.find(3), nullptr);
  EXPECT_EQ(table.add(6), 0) << "its place was used before";
  EXPECT_EQ(table[5], 50);
  EXPECT_EQ(table.size(), 2U);
}

TEST(IdTable, AThingStaysWhereItIsWhileOthersCome) {
  IdTable<std::uint64_t> table;
  std::vector<std::uint64_t*> at;
  for (std::uint64_t id = 0; id < 10'000; ++id) at.push_back(&(table.add(id) = id));
  for (std::uint64_t id = 0; id < 10'000; ++id) {
    ASSERT_EQ(table.find(id), at[id]);
    ASSERT_EQ(*at[id], id);
  }
}

// One stays from the first to the last, a hundred come and go: a million numbers, and nothing is allocated after the
// first few thousand.
TEST(IdTable, MemoryFollowsWhoIsThereNotWhoWas) {
  IdTable<std::uint64_t> table;
  std::size_t allocations = 0;
  table.add(0) = 7;
  for (std::uint64_t id = 1; id < 1'000'000; ++id) {
    table.add(id) = id;
    if (id > 100) table.erase(id - 100);
    if (id == 5000) allocations = allocation_count();
  }
  EXPECT_EQ(allocation_count(), allocations);
  EXPECT_EQ(table[0], 7U);
  EXPECT_EQ(table.size(), 101U);
}

RC_GTEST_PROP(IdTableProperty, IsAMapInOrderOfNumbers, ()) {
  IdTable<std::uint64_t> table;
  std::map<std::uint64_t, std::uint64_t> twin;
  std::map<std::uint64_t, const std::uint64_t*> places;
  std::uint64_t next = 0;
  const auto steps = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
  const int adds = *rc::gen::inRange(30, 70);  // of a hundred steps
  const auto step = [&](int what, std::uint64_t which) {
    if (what < adds) {
      next += what % 4 == 0 ? 3 : 1;  // some numbers are left out
      table.add(next) = next * 7;
      twin[next] = next * 7;
      places[next] = table.find(next);
    } else if (!twin.empty()) {
      // Mostly the older ones go; the first few stay long.
      auto gone = twin.begin();
      std::advance(gone, which % std::min<std::size_t>(twin.size(), 1 + static_cast<std::size_t>(what) / 4));
      table.erase(gone->first);
      twin.erase(gone);
    }
  };
  for (std::size_t i = 0; i < steps.size() * 8; ++i) {
    step((steps[i % steps.size()] + static_cast<int>(i / steps.size()) * 13) % 100, i * 31);
  }
  RC_ASSERT(table.size() == twin.size());
  for (std::uint64_t id = 0; id <= next; ++id) {
    const std::uint64_t* found = table.find(id);
    const auto known = twin.find(id);
    RC_ASSERT((found != nullptr) == (known != twin.end()));
    if (found) RC_ASSERT(*found == known->second);
    if (found) RC_ASSERT(found == places[id]);
  }
  std::vector<std::uint64_t> visited, expected;
  table.for_each([&](std::uint64_t value) { visited.push_back(value); });
  for (const auto& [id, value] : twin) expected.push_back(value);
  RC_ASSERT(visited == expected);
}

}  // namespace
}  // namespace kvsim::engine::KVSIM_FILE
