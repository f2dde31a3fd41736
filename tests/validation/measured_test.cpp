// Against measured data, which is not part of the project: it is looked for as `kvsim validate` does, from the
// repository on. Without it these tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tools/validation/group.h"
#include "tools/validation/measured_data.h"

namespace kvsim::validation::KVSIM_FILE {
namespace {

class Measured : public ::testing::Test {
 protected:
  void SetUp() override {
    inputs_.measured = measured_folder("", KVSIM_SOURCE_DIR);
    if (inputs_.measured.empty()) GTEST_SKIP() << kNoMeasuredData;
  }

  static const Figure& find(const std::vector<Figure>& figures, const std::string& id) {
    return *std::find_if(figures.begin(), figures.end(), [&](const Figure& f) { return f.id == id; });
  }

  static std::string described(const Figure& f) {
    return fmt::format("{}: expected {}, simulated {} {}", f.id, f.expected, f.simulated, f.unit);
  }

  Inputs inputs_;
};

TEST_F(Measured, EveryTransferHasARuleAndIsMet) {
  for (const Figure& f : find_group("transfers").figures(inputs_)) {
    EXPECT_EQ(f.skipped.find("no rule"), std::string::npos) << described(f);
    EXPECT_NE(f.verdict(), Verdict::outside) << described(f);
  }
}

TEST_F(Measured, EveryKernelTableIsMetByItsProfile) {
  for (const Figure& f : find_group("measured-kernels").figures(inputs_))
    EXPECT_NE(f.verdict(), Verdict::outside) << described(f);
}

TEST_F(Measured, PublicServingPointsAreMissedByNoMoreThanIsSaid) {
  for (const Figure& f : find_group("backtest").figures(inputs_)) EXPECT_EQ(f.verdict(), Verdict::pass) << described(f);
}

TEST_F(Measured, EveryRequestOfTheServingRunCompletes) {
  const auto figures = find_group("serving").figures(inputs_);
  EXPECT_EQ(find(figures, "serving/completed").verdict(), Verdict::pass);
}

TEST_F(Measured, TheServingRunIsMet) {
  for (const Figure& f : find_group("serving").figures(inputs_))
    EXPECT_NE(f.verdict(), Verdict::outside) << described(f);
}

}  // namespace
}  // namespace kvsim::validation::KVSIM_FILE
