// Joint compression and eviction: every published figure that is judged.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/validation/figures_once.h"
#include "tools/validation/group.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

bool mentions(const Figure& figure, const char* words) {
  return std::any_of(figure.assumptions.begin(), figure.assumptions.end(),
                     [&](const std::string& a) { return a.find(words) != std::string::npos; });
}

TEST(TieredEvictionFigures, ThatArePublishedPass) {
  std::size_t judged = 0, predicted = 0;
  for (const Figure& f : testing::figures_once("tiered-eviction")) {
    EXPECT_NE(f.verdict(), Verdict::outside) << f.id << ": " << f.simulated << " against " << f.expected;
    EXPECT_TRUE(mentions(f, "generated")) << f.id;
    EXPECT_TRUE(mentions(f, "alpha")) << f.id;
    judged += f.verdict() == Verdict::pass ? 1 : 0;
    predicted += f.verdict() == Verdict::prediction ? 1 : 0;
  }
  EXPECT_EQ(judged, 17U);
  EXPECT_EQ(predicted, 3U);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
