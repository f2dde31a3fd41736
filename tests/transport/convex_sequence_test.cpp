#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <vector>

#include "sim/transport/planned_link.h"

namespace KVSIM_FILE {

using kvsim::transport::ConvexSequence;

namespace {

/// The sequence written out.
struct Written {
  ConvexSequence sequence;
  std::vector<std::int64_t> values;
};

Written drawn() {
  const auto length = *rc::gen::inRange<std::int64_t>(1, 40);
  const auto lines = *rc::gen::inRange(1, 6);
  Written w{ConvexSequence(length), std::vector<std::int64_t>(static_cast<std::size_t>(length), -1'000'000)};
  for (int i = 0; i < lines; ++i) {
    const auto start = *rc::gen::inRange<std::int64_t>(-500, 500);
    const auto step = *rc::gen::inRange<std::int64_t>(0, 60);
    w.sequence.add({start, step});
    for (std::int64_t j = 0; j < length; ++j) {
      auto& value = w.values[static_cast<std::size_t>(j)];
      value = std::max(value, start + j * step);
    }
  }
  return w;
}

TEST(ConvexSequence, AnEmptyOneHasNoValues) {
  EXPECT_TRUE(ConvexSequence().empty());
  EXPECT_TRUE(ConvexSequence(5).empty());
}

TEST(ConvexSequence, ALineBelowAnotherIsDropped) {
  ConvexSequence s(10);
  s.add({100, 5});
  s.add({90, 6});  // ends at 144, the other at 145
  EXPECT_EQ(s.lines().size(), 1u);
  s.add({90, 7});
  EXPECT_EQ(s.lines().size(), 2u);
  s.add({200, 0});
  EXPECT_EQ(s.lines().size(), 1u);
}

RC_GTEST_PROP(ConvexSequenceProperty, IsTheLargestOfItsLines, ()) {
  Written w = drawn();
  const auto by = *rc::gen::inRange<std::int64_t>(-100, 100);
  w.sequence.shift(by);
  for (std::size_t j = 0; j < w.values.size(); ++j) {
    RC_ASSERT(w.sequence.at(static_cast<std::int64_t>(j)) == w.values[j] + by);
  }
  RC_ASSERT(w.sequence.first() == w.values.front() + by);
  RC_ASSERT(w.sequence.last() == w.values.back() + by);
}

RC_GTEST_PROP(ConvexSequenceProperty, KnowsWhereItBecomesFasterAndItsSum, ()) {
  const Written w = drawn();
  const auto step = *rc::gen::inRange<std::int64_t>(-5, 70);
  std::size_t first = 1;
  while (first < w.values.size() && w.values[first] - w.values[first - 1] <= step) ++first;
  RC_ASSERT(w.sequence.first_faster_than(step) == static_cast<std::int64_t>(first));
  std::int64_t sum = 0;
  for (const std::int64_t v : w.values) sum += v - w.values.front();
  RC_ASSERT(w.sequence.sum_above_first() == sum);
}

}  // namespace
}  // namespace KVSIM_FILE
