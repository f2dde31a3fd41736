// Fixed points of maps that jump, where iterating them goes round in circles.
#include "planner/paths/consistent_batches.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvsim::planner::KVSIM_FILE {
namespace {

/// Occupancies as a function of batches; rates that tell which branch was taken.
ConsistencySearch search(Batches top, std::function<BatchResponse(const Batches&)> respond) {
  const auto never = [](const ConsistentBatches&) {
    return false;  // refine to the end
  };
  return {top, std::move(respond), never};
}

TEST(ConsistentBatches, OfASmoothMapAreItsFixedPoint) {
  // B = 1 + 2/B: B = 2.
  const auto found = find_consistent_batches(search({8, 0}, [](const Batches& b) {
    return BatchResponse{{1 + 2 / std::max(1.0, b[0]), 0}, {}};
  }));
  ASSERT_EQ(found.size(), 1);
  EXPECT_NEAR(found.front().at[0], 2, 1e-9);
}

TEST(ConsistentBatches, AtAJumpMixTheTwoSides) {
  // Below 3 the occupancy is 5, above it 1: iterating gives 5, 1, 5, 1. At 3 half of each gives 3.
  const ConsistencySearch jump = search({8, 0}, [](const Batches& b) {
    const bool low = b[0] < 3;
    return BatchResponse{{low ? 5.0 : 1.0, 0}, {low ? 1.0 : 0.0, low ? 0.0 : 1.0}};
  });
  for (const ConsistentBatches& found : {find_consistent_batches(jump).front(), *nested_bisection(jump, 0)}) {
    EXPECT_NEAR(found.at[0], 3, 1e-9);
    EXPECT_NEAR(found.occupancy[0], 3, 1e-9);
    EXPECT_NEAR(found.n[0], 0.5, 1e-9);
    EXPECT_NEAR(found.n[1], 0.5, 1e-9);
    EXPECT_LE(found.width, 1e-11);
  }
}

TEST(ConsistentBatches, OfTwoPoolsThatChaseEachOtherAreWhereAllFourSidesMeet) {
  // The remote occupancy wants to be low where the local batch is high, the local one high where the remote batch is:
  // iteration goes round the point (2, 3) for ever.
  const ConsistencySearch chase = search({8, 8}, [](const Batches& b) {
    return BatchResponse{{b[1] > 3 ? 6.0 : 1.0, b[0] > 2 ? 1.0 : 6.0}, {}};
  });
  std::vector<ConsistentBatches> found = find_consistent_batches(chase);
  ASSERT_FALSE(found.empty());
  for (const ConsistentBatches& point : found) {
    EXPECT_NEAR(point.at[0], 2, 1e-8);
    EXPECT_NEAR(point.at[1], 3, 1e-8);
    EXPECT_NEAR(point.occupancy[0], 2, 1e-8);
    EXPECT_NEAR(point.occupancy[1], 3, 1e-8);
  }
}

TEST(ConsistentBatches, OfSeveralFixedPointsAllThatShowAreFound) {
  // B^2/4 below 4, clamped to [0.5, 8]: fixed at 0.5, 4 and 8.
  const auto found = find_consistent_batches(search({8, 0}, [](const Batches& b) {
    return BatchResponse{{std::clamp(b[0] * b[0] / 4, 0.5, 8.0), 0}, {}};
  }));
  std::vector<double> at;
  for (const ConsistentBatches& point : found) at.push_back(point.at[0]);
  std::sort(at.begin(), at.end());
  ASSERT_GE(at.size(), 3);
  EXPECT_NEAR(at.front(), 0.5, 1e-9);
  EXPECT_NEAR(at.back(), 8, 1e-9);
}

TEST(ConsistentBatches, ReachBothEndsOfTheirRange) {
  const auto full = find_consistent_batches(search({4, 4}, [](const Batches&) { return BatchResponse{{4, 0}, {}}; }));
  ASSERT_FALSE(full.empty());
  EXPECT_NEAR(full.front().at[0], 4, 1e-9);
  EXPECT_NEAR(full.front().at[1], 0, 1e-9);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
