// Computing tokens of reused chunks again: every published figure that is judged.
#include <gtest/gtest.h>

#include <string>

#include "tests/validation/figures_once.h"
#include "tools/validation/group.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

TEST(SelectiveReuseFigures, ThatArePublishedPass) {
  std::size_t judged = 0, skipped = 0;
  for (const Figure& f : testing::figures_once("selective-reuse")) {
    EXPECT_NE(f.verdict(), Verdict::outside) << f.id << ": " << f.simulated << " against " << f.expected;
    judged += f.verdict() == Verdict::pass ? 1 : 0;
    skipped += f.verdict() == Verdict::skipped ? 1 : 0;
    // A published range is the middle, give or take half its width: never wider than published.
    if (f.id.find("/ttft.") != std::string::npos) {
      EXPECT_GE(f.expected * (1 - f.tolerance), 2.17) << f.id;
      EXPECT_LE(f.expected * (1 + f.tolerance), 3.95) << f.id;
    }
  }
  EXPECT_EQ(judged, 14U);
  EXPECT_EQ(skipped, 1U);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
