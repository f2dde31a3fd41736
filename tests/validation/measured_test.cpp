// Against measured data, which is not part of the project: it is looked for as `kvsim validate` does, from the
// repository on. Without it these tests are skipped.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tools/validation/groups/groups.h"
#include "tools/validation/measured_folder.h"

namespace kvsim::validation {
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

TEST_F(Measured, EveryTransferHasARuleAndThoseOfOneTransferAreMet) {
  // Row 15, 8 KiB merged into 128 KiB pieces, is not: a link serves the setup of a transfer and its bytes one after the
  // other, hardware overlaps them.
  for (const Figure& f : transfer_figures(inputs_)) {
    EXPECT_EQ(f.skipped.find("no rule"), std::string::npos) << described(f);
    EXPECT_TRUE(f.verdict() != Verdict::outside || f.id == "transfers/row15") << described(f);
  }
}

TEST_F(Measured, EveryRequestOfTheServingRunCompletes) {
  const auto figures = serving_figures(inputs_);
  EXPECT_EQ(find(figures, "serving/completed").verdict(), Verdict::pass);
}

// The scheduler decides who runs when, the profile how long it takes. Where the second is right, so must be the first.
TEST_F(Measured, WhereIterationsTakeTheRecordedTimeSoDoRequests) {
  const auto figures = serving_figures(inputs_);
  const Figure& tpot = find(figures, "serving/tpot.mean");
  if (tpot.verdict() != Verdict::pass) {
    GTEST_SKIP() << fmt::format("the profile's iterations are not those of the run: mean TPOT is {:+.1f} % off",
                                tpot.error() * 100);
  }
  for (const Figure& f : figures) EXPECT_NE(f.verdict(), Verdict::outside) << described(f);
}

}  // namespace
}  // namespace kvsim::validation
