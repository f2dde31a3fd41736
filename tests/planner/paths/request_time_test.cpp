// One request alone, by hand.
#include "tests/planner/paths/request_time.h"

#include <gtest/gtest.h>

#include "tests/planner/paths/problems.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

TEST(RequestTime, AsPrinted) {
  // A draft alone: 20 + 0.5 = 20.5 ms, x = 8 of them 0.164 s, more than the 0.1 s of KV/BW_h; T_fwd = 23 ms: cycles of
  // 0.187 s. K/(x g) = 60/(8 x 0.75) = 10 of them after 0.25 s.
  const testing::RequestTime t = testing::request_time_as_printed(testing::steps_by_hand());
  EXPECT_NEAR(t.cycle_s, 0.187, 1e-12);
  EXPECT_NEAR(t.rounds, 10, 1e-12);
  EXPECT_NEAR(t.total_s, 0.25 + 1.87, 1e-12);
}

TEST(RequestTime, AsPrintedWaitsForTheLinkWhereThatTakesLonger) {
  PathProblem p = testing::steps_by_hand();
  p.steps->local_full.link_s = 0.5;
  EXPECT_NEAR(testing::request_time_as_printed(p).cycle_s, 0.523, 1e-12);
}

TEST(RequestTime, OfDecodingAlone) {
  EXPECT_NEAR(testing::request_time(testing::steps_by_hand(), Path::B1).total_s, 0.11 + 60 * 0.021, 1e-12);
  EXPECT_NEAR(testing::request_time(testing::steps_by_hand(), Path::B2).total_s, 1.02 + 60 * 0.021, 1e-12);
}

TEST(RequestTime, OfDraftingCountsMessagesLatencyAndDecompression) {
  // 0.27 s of load, 0.05 of decompression; 10 rounds of 8 x 20.5 + 4 + 23 ms.
  const testing::RequestTime t = testing::request_time(testing::steps_by_hand(), Path::P1_stateless);
  EXPECT_NEAR(t.load_s, 0.32, 1e-12);
  EXPECT_NEAR(t.cycle_s, 0.191, 1e-12);
  EXPECT_NEAR(t.total_s, 0.32 + 1.91, 1e-12);
}

TEST(RequestTime, StatelessWaitsForItsReloadAndCachedOnlyForTheFirst) {
  // Rereads of 0.31 s against 0.164 s of drafting; a first load of 1.01 s against 0.32 + 0.164.
  PathProblem p = testing::steps_by_hand();
  p.steps->local_reread.link_s = 0.3;
  p.steps->local_full.link_s = 1;
  EXPECT_NEAR(testing::request_time(p, Path::P1_stateless).total_s, 0.32 + 10 * (0.31 + 0.027), 1e-12);
  EXPECT_NEAR(testing::request_time(p, Path::P1_cached).total_s, 0.32 + (1.01 - 0.484) + 10 * 0.191, 1e-12);
}

TEST(RequestTime, OnP2DecodesOnceTheRestHasArrived) {
  // The rest takes 0.77 s of 1.91 s of rounds.
  const double share = 0.77 / 1.91;
  EXPECT_NEAR(testing::request_time(testing::steps_by_hand(), Path::P2_cached).total_s,
              0.32 + 0.77 + (1 - share) * 60 * 0.021, 1e-12);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
