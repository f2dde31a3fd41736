// How sensitive contexts are taken to be: by their data set, or without one.
#include <gtest/gtest.h>

#include <algorithm>

#include "models/placement/quality_curves.h"
#include "tests/placement/pools.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

// Those whose loss is published: six data sets, each there with the lengths of two tables. All others are taken to lose
// as much as contexts without a data set.
TEST(Sensitivities, WithoutADatasetAreTheMedianOfThoseThatArePublished) {
  std::vector<double> medians;
  for (const auto& line : shipped().list(EntryKind::dataset)) {
    const DatasetSpec& dataset = shipped().dataset(line.name);
    EXPECT_EQ(dataset.loss_cv.value, default_sensitivity.loss_cv);
    if (dataset.sensitivity.source.kind == schema::SourceKind::publication) {
      medians.push_back(dataset.sensitivity.value);
    } else {
      EXPECT_EQ(dataset.sensitivity.value, default_sensitivity.median_loss) << line.name;
    }
  }
  std::sort(medians.begin(), medians.end());
  ASSERT_EQ(medians.size(), 12U);
  EXPECT_NEAR(default_sensitivity.median_loss, (medians[5] + medians[6]) / 2, 1e-12);
}

TEST(Sensitivities, OfPrefixesFollowTheirDatasetsInTurn) {
  const SharedPrefixSpec spec{.count = 3, .datasets = {shipped().dataset("samsum"), shipped().dataset("triviaqa")}};
  const std::vector<Sensitivity> of = prefix_sensitivities(spec);
  ASSERT_EQ(of.size(), 3U);
  EXPECT_EQ(of[0].median_loss, 0.676);
  EXPECT_EQ(of[1].median_loss, 0.392);
  EXPECT_EQ(of[2].median_loss, 0.676);
  EXPECT_EQ(prefix_sensitivities({2, 1, {}}).at(1).median_loss, default_sensitivity.median_loss);
}

TEST(Sensitivities, OfBlocksShareCurves) {
  EXPECT_EQ(block_sensitivities({}).size(), block_curves);
  EXPECT_EQ(block_sensitivities({})[7].median_loss, default_sensitivity.median_loss);
  const std::vector<DatasetSpec> datasets{shipped().dataset("samsum"), shipped().dataset("triviaqa")};
  EXPECT_EQ(block_sensitivities(datasets)[7].median_loss, 0.392);
}

TEST(Sensitivities, SayWhatIsAssumedOfTheirDatasets) {
  const std::vector<DatasetSpec> one{shipped().dataset("samsum")};
  const auto said = quality_assumptions({}, one);
  ASSERT_EQ(said.size(), 6U);
  EXPECT_EQ(
      said[5],
      "Losses within samsum spread by 0.2 of their median (EvicPress publishes 0.08 to 0.39 over its data sets and "
      "not which has which).");
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
