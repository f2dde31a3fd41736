// Fits find what generated the rows, through noise and outliers.
#include <gtest/gtest.h>

#include "models/calibration/cross_validation.h"
#include "tests/calibration/synthetic.h"

namespace kvsim::models {
namespace {

TEST(Fits, DecodeParametersComeBackThroughNoiseAndOutliers) {
  const DecodeForm truth = testing::decode_truth();
  const FitProblem problem = decode_problem(testing::decode_rows(truth, true), testing::machine());
  const DecodeForm found = decode_form(NumberFormat::bf16, fit(problem, all_rows(problem)).values);
  EXPECT_NEAR(found.t0_s, truth.t0_s, 0.5e-6);
  EXPECT_NEAR(found.per_doubling_s, truth.per_doubling_s, 0.15e-6);
  EXPECT_NEAR(found.per_head_s, truth.per_head_s, 1e-9);
  EXPECT_NEAR(found.stream.bandwidth_efficiency, truth.stream.bandwidth_efficiency, 0.01);
  EXPECT_NEAR(found.stream.l2_share, truth.stream.l2_share, 0.1);
}

TEST(Fits, LinearTimesComeBackThroughNoiseAndOutliers) {
  // Tiles that the rows seldom need have no one efficiency: times are what counts.
  const FitProblem shape = linear_problem({}, NumberFormat::bf16, testing::machine());
  std::vector<double> truth;
  for (const Parameter& p : shape.parameters) truth.push_back(p.start);
  const LinearForm form = linear_form(NumberFormat::bf16, truth);
  const FitProblem problem = linear_problem(testing::linear_rows(form), NumberFormat::bf16, testing::machine());
  const LinearForm found = linear_form(NumberFormat::bf16, fit(problem, all_rows(problem)).values);
  EXPECT_NEAR(found.bandwidth_efficiency, form.bandwidth_efficiency, 0.03);
  const ErrorSummary e = summarise(errors(problem, fit(problem, all_rows(problem)).values, all_rows(problem)));
  EXPECT_LT(e.median, 0.015);
  EXPECT_NEAR(e.bias, 0, 0.01);
}

TEST(Fits, AreTheSameEveryTime) {
  const FitProblem problem = decode_problem(testing::decode_rows(testing::decode_truth(), true), testing::machine());
  EXPECT_EQ(fit(problem, all_rows(problem)).values, fit(problem, all_rows(problem)).values);
}

TEST(Fits, ValuesCarryFourDigits) {
  EXPECT_DOUBLE_EQ(rounded(0.123456), 0.1235);
  EXPECT_DOUBLE_EQ(rounded(98765.4), 98770);
}

TEST(Fits, NeedTwiceAsManyRowsAsParametersThatAreFree) {
  const FitProblem prefill = tiled_problem({}, {NumberFormat::bf16, 128, false}, testing::machine());
  EXPECT_EQ(free_parameters(prefill), 7U);  // of 13: the others are for mixed batches
  EXPECT_FALSE(enough_rows(prefill, 13));
  EXPECT_TRUE(enough_rows(prefill, 14));
}

TEST(CrossValidation, ErrorsOfAShapeLeftOutComeFromAFitWithoutIt) {
  // One shape is three times slower than the form allows: the others' fit must not know of it.
  std::vector<DecodeSample> rows = testing::decode_rows(testing::decode_truth(), false);
  for (DecodeSample& row : rows) {
    if (row.shape.heads == 64) row.seconds *= 3;
  }
  const FitProblem problem = decode_problem(rows, testing::machine());
  const std::vector<double> e = leave_out_shapes(problem);
  std::vector<double> slow;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].shape.heads == 64) slow.push_back(e[i]);
  }
  EXPECT_NEAR(summarise(slow).bias, 1.0 / 3 - 1, 0.05);
}

TEST(Skew, ShareOfUnevenLengthsIsTheWeightedMedian) {
  // Shares 0.1, 0.1 and a wild 5 with a narrow range.
  EXPECT_DOUBLE_EQ(uneven_share({{{}, 1, 2, 1.1}, {{}, 1, 3, 1.2}, {{}, 1, 1.01, 1.05}}), 0.1);
  EXPECT_DOUBLE_EQ(uneven_share({}), 0);
}

}  // namespace
}  // namespace kvsim::models
