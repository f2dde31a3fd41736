// Drafters and sparse self-speculation beside drafts on compressed KV: what is published of them.
#include <gtest/gtest.h>

#include "tests/validation/figures_once.h"
#include "tools/validation/group.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

TEST(BaselinesFigures, OrdersAndAcceptedLengthsArePublished) {
  std::size_t judged = 0, predicted = 0, accepted = 0;
  for (const Figure& f : testing::figures_once("baselines")) {
    EXPECT_NE(f.verdict(), Verdict::outside) << f.id << ": " << f.simulated << " against " << f.expected;
    judged += f.verdict() == Verdict::pass ? 1 : 0;
    predicted += f.verdict() == Verdict::prediction ? 1 : 0;
    if (f.id.find("/accepted.") == std::string::npos) continue;
    accepted += 1;
    EXPECT_LE(f.tolerance, 0.05) << f.id;  // enough rounds for the mean to say something
  }
  EXPECT_EQ(judged, 21U);
  EXPECT_EQ(predicted, 13U);
  EXPECT_EQ(accepted, 6U);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
