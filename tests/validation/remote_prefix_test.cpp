// Remote prefix caching: the published speedup, and what it depends on.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/validation/figures_once.h"
#include "tools/validation/group.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

class RemotePrefixFigures : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { figures_ = testing::figures_once("remote-prefix"); }

  static double simulated(const std::string& name) {
    const auto named = [&](const Figure& f) { return f.id == "remote-prefix/" + name; };
    const auto found = std::find_if(figures_.begin(), figures_.end(), named);
    EXPECT_NE(found, figures_.end()) << name;
    return found->simulated;
  }

  static inline std::vector<Figure> figures_;
};

TEST_F(RemotePrefixFigures, ThatAreJudgedPass) {
  std::size_t judged = 0;
  for (const Figure& f : figures_) {
    EXPECT_NE(f.verdict(), Verdict::outside) << f.id << ": " << f.simulated;
    judged += f.skipped.empty() ? 1 : 0;
  }
  EXPECT_EQ(judged, 6U);
}

TEST_F(RemotePrefixFigures, RiseToARatioOfRemoteToLocalNodesAndFallBeyondIt) {
  const int peak = 4;
  for (int nodes = 1; nodes < 32; nodes *= 2) {
    const double here = simulated(fmt::format("nodes.{}", nodes)), next = simulated(fmt::format("nodes.{}", 2 * nodes));
    EXPECT_EQ(here < next, nodes < peak) << nodes;
  }
  EXPECT_LT(simulated("nodes.1"), 1.2);
  EXPECT_LT(simulated("nodes.32"), 1.2);
  EXPECT_GT(simulated("nodes.4"), 1.6);
}

TEST_F(RemotePrefixFigures, FallAsDecodingOutweighsTheFirstTransfer) {
  EXPECT_LT(simulated("output.40"), simulated("output.80"));
  EXPECT_GT(simulated("output.80"), simulated("output.160"));
  EXPECT_GT(simulated("output.160"), simulated("output.320"));
  EXPECT_NEAR(simulated("output.1280"), 1, 0.05);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
