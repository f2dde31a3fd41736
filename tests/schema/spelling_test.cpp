#include "models/schema/spelling.h"

#include <vector>

#include <gtest/gtest.h>

namespace kvsim::schema::KVSIM_FILE {
namespace {

const std::vector<std::string> keys{"memory", "memory_bandwidth", "read", "write"};

TEST(Spelling, ASwapOfNeighboursIsOneEdit) {
  EXPECT_EQ(edit_distance("wirte", "write"), 1U);
  EXPECT_EQ(edit_distance("memory", "memory"), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Spelling, CaseAndHyphensCountOnce) {
  EXPECT_EQ(edit_distance("READ", "read"), 1U);
  EXPECT_EQ(edit_distance("memory-bandwidth", "memory_bandwidth"), 1U);
}

TEST(Spelling, FindsTheNearestAndNothingFarAway) {
  EXPECT_EQ(nearest("memroy", keys), "memory");
  EXPECT_EQ(nearest("Memory-Bandwidth", keys), "memory_bandwidth");
  EXPECT_EQ(nearest("colour", keys), "");
  EXPECT_EQ(nearest("x", keys), "");
  EXPECT_EQ(nearest(std::string(100'000, 'x'), keys), "");
}

TEST(Spelling, SuggestsOrLists) {
  EXPECT_EQ(suggest("raed", keys), "; did you mean \"read\"?");
  EXPECT_EQ(suggest("colour", keys), "; expected one of memory, memory_bandwidth, read, write");
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
