// Efficiency curves and all-reduce tables by hand.
#include "models/kernels/profile.h"

#include <gtest/gtest.h>

#include <cmath>

#include "models/catalogue/catalogue.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

TEST(EfficiencyCurve, IsLinearInTheLogarithmOfTheSizeAndConstantOutside) {
  const EfficiencyCurve curve{{{10, 0.2}, {1000, 0.6}}, {}};
  EXPECT_DOUBLE_EQ(curve.at(1), 0.2);
  EXPECT_DOUBLE_EQ(curve.at(10), 0.2);
  EXPECT_NEAR(curve.at(100), 0.4, 1e-12);  // half-way in log(size)
  EXPECT_NEAR(curve.at(10 * std::sqrt(10)), 0.3, 1e-12);
  EXPECT_NEAR(curve.at(1000), 0.6, 1e-12);
  EXPECT_DOUBLE_EQ(curve.at(1e9), 0.6);
}

TEST(EfficiencyCurve, MeetsEveryGivenPoint) {
  const EfficiencyCurve curve{{{512, 0.83}, {1024, 0.85}, {2048, 0.81}}, {}};
  for (const EfficiencyPoint& p : curve.points) EXPECT_NEAR(curve.at(p.size), p.efficiency, 1e-12);
}

TEST(EfficiencyCurve, OnePointIsAConstantAndNoneIsThePeak) {
  const EfficiencyCurve constant{{{512, 0.7}}, {}};
  EXPECT_DOUBLE_EQ(constant.at(1), 0.7);
  EXPECT_DOUBLE_EQ(constant.at(4096), 0.7);
  EXPECT_DOUBLE_EQ(EfficiencyCurve{}.at(100), 1.0);
}

TEST(Profiles, WorkGrowsFasterThanEfficiency) {
  // A larger step never takes less arithmetic time: size / efficiency ascends.
  const Catalogue catalogue = Catalogue::built_in();
  for (const auto& line : catalogue.list(EntryKind::profile)) {
    const KernelProfile p = catalogue.profile(line.name);
    for (const EfficiencyCurve* curve : {&p.linear_compute_efficiency, &p.attention_compute_efficiency}) {
      double before = 0;
      for (double size = 1; size < 1e6; size *= 1.1) {
        EXPECT_GT(size / curve->at(size), before) << line.name << " at " << size;
        before = size / curve->at(size);
      }
    }
  }
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
