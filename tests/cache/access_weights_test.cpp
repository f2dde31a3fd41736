#include "sim/cache/placement/utility_placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "sim/engine/random.h"

namespace KVSIM_FILE {
namespace {

using namespace kvsim;
using namespace kvsim::cache;
using models::FrequencyKind;

TEST(AccessWeights, ACountIsOneWhenever) {
  const AccessWeights weights(FrequencyKind::count, 10);
  EXPECT_EQ(weights.of_access(engine::SimTime{0}), 1);
  EXPECT_EQ(weights.of_access(engine::SimTime{INT64_MAX}), 1);
  EXPECT_EQ(weights.excess(engine::SimTime{INT64_MAX}), 0);
}

TEST(AccessWeights, AnAccessOneHalfLifeLaterWeighsTwice) {
  const AccessWeights weights(FrequencyKind::decayed, 10);
  const double first = weights.of_access({engine::from_seconds(3).ns});
  EXPECT_DOUBLE_EQ(weights.of_access({engine::from_seconds(13).ns}) / first, 2);
}

TEST(AccessWeights, NoTimeOverflowsThem) {
  AccessWeights weights(FrequencyKind::decayed, 1e-3);
  for (const std::int64_t s : std::vector<std::int64_t>{0, 1, 100, 1'000'000'000, 9'000'000'000}) {
    const engine::SimTime now{s * 1'000'000'000};
    if (const auto excess = weights.excess(now); excess > 0) weights.rebased(excess);
    EXPECT_EQ(weights.excess(now), 0);
    EXPECT_GE(weights.of_access(now), 1);
    EXPECT_LT(weights.of_access(now), 0x1p513);
  }
}

}  // namespace
}  // namespace KVSIM_FILE
