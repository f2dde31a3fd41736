#include "sim/engine/row.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace kvsim::engine::KVSIM_FILE {
namespace {

/// Cannot be moved; counts those that are there.
struct Counted {
  Counted(int& there_, int value_) : there(there_), value(value_) { ++there; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --there; }
  int& there;
  int value;
};

TEST(Row, ThingsAreMadeSideBySideAndEndWithIt) {
  int there = 0;
  {
    Row<Counted> row(3);
    const Counted* first = &row.add(there, 10);
    row.add(there, 11);
    EXPECT_EQ(there, 2);
    EXPECT_EQ(&row[0], first);
    EXPECT_EQ(&row[1], first + 1);
    EXPECT_EQ(row[1].value, 11);
    EXPECT_EQ(row.made().size(), 2U);
    EXPECT_FALSE(row.full());
    const Row<Counted> moved = std::move(row);
    EXPECT_EQ(&moved[0], first) << "the row moves, its things do not";
    EXPECT_EQ(there, 2);
  }
  EXPECT_EQ(there, 0);
}

TEST(Row, HasNoMoreThanThereIsRoomFor) {
  int there = 0;
  Row<Counted> row(1);
  row.add(there, 1);
  EXPECT_TRUE(row.full());
  EXPECT_THROW(row.add(there, 2), InvariantViolation);
  EXPECT_EQ(there, 1);
}

TEST(Row, OfMegabytesStartsOnAHugePage) {
  constexpr std::size_t kBytes = std::size_t{3} << 19U;  // one and a half megabytes
  const Row<char> row(kBytes);
  Row<char> small(100);
  small.add('a');
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(row.made().data()) % (std::size_t{1} << 21U), 0U);
  EXPECT_EQ(small[0], 'a');
}

}  // namespace
}  // namespace kvsim::engine::KVSIM_FILE
