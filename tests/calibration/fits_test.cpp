// Fits find what generated the rows, through noise and outliers.
#include <gtest/gtest.h>

#include "models/calibration/calibrate.h"
#include "models/calibration/fit_problem.h"
#include "models/catalogue/catalogue.h"
#include "tests/calibration/synthetic.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

constexpr DecodeKind kSplit{NumberFormat::bf16, true};

TEST(Fits, DecodeTimesComeBackThroughNoiseAndOutliers) {
  const DecodeForm truth = testing::decode_truth();
  const FitProblem problem = decode_problem(testing::decode_rows(truth, true), kSplit, testing::machine());
  const Solution found = fit(problem, all_rows(problem));
  EXPECT_NEAR(decode_form(kSplit, found.values).stream.bandwidth_efficiency, truth.stream.bandwidth_efficiency, 0.03);
  const FitProblem clean = decode_problem(testing::decode_rows(truth, false), kSplit, testing::machine());
  const ErrorSummary e = summarise(errors(clean, found, all_rows(clean)));
  EXPECT_LT(e.median, 0.01);
  EXPECT_LT(e.p90, 0.03);
}

TEST(Fits, ACorrectionMakesGoodWhatAFormMissesOverARegion) {
  std::vector<LinearSample> rows;
  const FitProblem shape = linear_problem({}, NumberFormat::bf16, testing::machine());
  std::vector<double> truth;
  for (const Parameter& p : shape.parameters) truth.push_back(p.start);
  const LinearForm form = linear_form(NumberFormat::bf16, truth);
  for (double n = 256; n <= 16384; n *= 1.5) {
    for (double k = 256; k <= 16384; k *= 1.5) {
      for (double m = 1; m <= 4096; m *= 2) {
        LinearSample row{{}, NumberFormat::bf16, m, n, k, form.time(m, n, k, testing::machine()).seconds};
        if (m <= 16) row.seconds *= 1.2;  // a kernel for few tokens that the form knows nothing of
        rows.push_back(row);
        // Bound by launches, wildly off and no evidence on kernels.
        row.run.launched = true;
        row.seconds = 1;
        if (m == 64) rows.push_back(row);
      }
    }
  }
  FitProblem problem = linear_problem(rows, NumberFormat::bf16, testing::machine());
  Solution s{truth, 0};
  s.values[15] = s.values[16] = 1e6;  // launches of a second
  s.correction = fit_correction(problem, s.values, all_rows(problem));
  ASSERT_FALSE(s.correction.empty());
  EXPECT_NEAR(s.correction.at({4, 2000, 2000}), 1.2, 0.01);
  EXPECT_NEAR(s.correction.at({2048, 2000, 2000}), 1, 0.01);
  // One that may not fall with the tokens cannot say that.
  problem.rising_axes = 1;
  const Correction rising = fit_correction(problem, s.values, all_rows(problem));
  const std::size_t block = rising.factors.size() / rising.axes[0].size();
  for (std::size_t i = block; i < rising.factors.size(); ++i) {
    EXPECT_GE(rising.factors[i], rising.factors[i - block]) << i;
  }
  EXPECT_GT(rising.at({2048, 2000, 2000}), s.correction.at({2048, 2000, 2000}) + 0.01);
}

TEST(Fits, AxesOfACorrectionReachAroundTheRows) {
  EXPECT_EQ(axis_around({64, 128, 256}, 128, 128), std::vector<double>{128});
  EXPECT_EQ(axis_around({64, 128, 256}, 100, 128), (std::vector<double>{64, 128}));
  EXPECT_EQ(axis_around({64, 128, 256}, 1, 1000), (std::vector<double>{64, 128, 256}));
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
  const ErrorSummary e = summarise(errors(problem, fit(problem, all_rows(problem)), all_rows(problem)));
  EXPECT_LT(e.median, 0.015);
  EXPECT_NEAR(e.bias, 0, 0.01);
}

TEST(Fits, AreTheSameEveryTime) {
  const FitProblem problem =
      decode_problem(testing::decode_rows(testing::decode_truth(), true), kSplit, testing::machine());
  EXPECT_EQ(fit(problem, all_rows(problem)).values, fit(problem, all_rows(problem)).values);
}

TEST(Fits, ValuesCarryFourDigits) {
  EXPECT_DOUBLE_EQ(rounded(0.123456), 0.1235);
  EXPECT_DOUBLE_EQ(rounded(98765.4), 98770);
}

TEST(Fits, NeedTwiceAsManyRowsAsParametersThatAreFree) {
  const FitProblem prefill = tiled_problem({}, {NumberFormat::bf16, 128, false}, testing::machine());
  EXPECT_EQ(free_parameters(prefill), 10U);  // of 18: the others are for mixed batches and rows of other kinds
  EXPECT_FALSE(enough_rows(prefill, 19));
  EXPECT_TRUE(enough_rows(prefill, 20));
}

TEST(CrossValidation, ErrorsOfAShapeLeftOutComeFromAFitWithoutIt) {
  // One shape is three times slower than the form allows: the others' fit must not know of it.
  std::vector<DecodeSample> rows = testing::decode_rows(testing::decode_truth(), false);
  for (DecodeSample& row : rows) {
    if (row.shape.heads == 64) row.seconds *= 3;
  }
  const FitProblem problem = decode_problem(rows, kSplit, testing::machine());
  const std::vector<double> e = leave_out_shapes(problem, fit(problem, all_rows(problem)));
  std::vector<double> slow;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].shape.heads == 64) slow.push_back(e[i]);
  }
  EXPECT_NEAR(summarise(slow).bias, 1.0 / 3 - 1, 0.05);
}

/// Prefill of a machine whose kernel has the tiles `tile_rows`; lengths between the tiles' multiples tell them apart.
std::vector<TiledSample> prefill_rows(const GpuSpec& gpu, double tile_rows) {
  TiledForm form;
  form.tile_rows = tile_rows;
  form.t0_s = 12e-6;
  form.efficiency = 0.65;
  form.overhead_tokens = 200;
  form.longest_factor = 1;
  form.wave_quantisation = 0;
  form.blend_power = 3;
  form.io_efficiency = 0.8;
  form.empty_tile_s = 0;
  form.decode_overhead_tokens = 0;
  form.stream.bandwidth_efficiency = 0.9;
  std::vector<TiledSample> rows;
  for (const double heads : {8.0, 16.0, 32.0}) {
    for (const double tokens : {40.0, 60.0, 130.0, 190.0, 260.0, 700.0, 1030.0, 2100.0}) {
      TiledSample row;
      row.from.gpu = gpu.name;
      row.from.framework = "vllm";
      row.shape = {heads, heads / 4, 128};
      row.tokens = tokens;
      row.chunks = 4;
      TiledCall call;
      for (double n = 0; n < row.chunks; ++n) form.add_chunk(call, tokens, 0, row.shape);
      row.seconds = form.time(call, row.shape, Machine::of(gpu)).seconds;
      rows.push_back(row);
    }
  }
  return rows;
}

TEST(CrossValidation, TheTileOfAHeldOutMachineIsChosenOnItsOwnRows) {
  const Catalogue catalogue = Catalogue::built_in();
  const GpuSpec here = catalogue.gpu("h100-sxm");
  const GpuSpec there = catalogue.gpu("a100");
  const std::vector<TiledSample> here_rows = prefill_rows(here, 128);
  const std::vector<TiledSample> there_rows = prefill_rows(there, 64);
  Readings readings;
  readings.samples.prefill = here_rows;
  readings.samples.prefill.insert(readings.samples.prefill.end(), there_rows.begin(), there_rows.end());
  CalibrationOptions options;
  options.leave_out_shapes = options.leave_out_models = false;
  const Calibration c = calibrate(readings, here, {here, there}, {}, options);
  ASSERT_EQ(c.operators.size(), 1U);
  ASSERT_EQ(c.operators[0].machines.size(), 1U);
  const auto expected = [&](double tile_rows) {
    const TiledKind kind{NumberFormat::bf16, tile_rows, false, false};
    const FitProblem theirs = tiled_problem(there_rows, kind, Machine::of(there));
    const FitProblem ours = tiled_problem(here_rows, kind, Machine::of(here));
    return summarise(errors(ours, fit(theirs, all_rows(theirs)), all_rows(ours))).median;
  };
  ASSERT_NE(expected(64), expected(128));
  EXPECT_EQ(c.profile.fitted.prefill_attention.at(0).tile_rows, 128);
  EXPECT_DOUBLE_EQ(c.operators[0].machines[0].errors.median, expected(64));
}

TEST(Skew, ShareOfUnevenLengthsIsTheWeightedMedian) {
  // Shares 0.1, 0.1 and a wild 5 with a narrow range.
  EXPECT_DOUBLE_EQ(uneven_share({{{}, 1, 2, 1.1}, {{}, 1, 3, 1.2}, {{}, 1, 1.01, 1.05}}), 0.1);
  EXPECT_DOUBLE_EQ(uneven_share({}), 0);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
