// What is stated of an answer's error: by hand, and of the points that kvsim ships the errors of.
#include "planner/stated_error.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

#include "planner/backtest/backtest.h"

namespace kvsim::planner::KVSIM_FILE {
namespace {

/// A group whose ratios are e^x at all shares, x from `low` to `high`.
ErrorGroup group(std::string model, std::string engine, double low, double high, ModelKind kind = ModelKind::dense) {
  ErrorGroup g{std::move(model), "h100", std::move(engine), kind, false, 25, {}};
  std::vector<double> ratios;
  for (const double share : kErrorShares) ratios.push_back(std::exp(low + share * (high - low)));
  g.ratios = {ratios, ratios, ratios};
  return g;
}

StatedErrors errors_of(std::vector<ErrorGroup> groups) {
  StatedErrors e;
  e.groups = std::move(groups);
  e.widening = {{1}, {1}, {1}};
  e.pairs = {{1.1, 1.2, 1.3, 1.4}, {1.1, 1.2, 1.3, 1.4}, {1.1, 1.2, 1.3, 1.4}};
  return e;
}

/// The ratio up to which this share of a group's points lies, linear in logarithms between what is kept.
double ratio_at(const std::vector<double>& ratios, double share) {
  const auto above = std::upper_bound(kErrorShares.begin(), kErrorShares.end(), share) - kErrorShares.begin();
  const auto n = static_cast<std::size_t>(above);
  const double part = (share - kErrorShares[n - 1]) / (kErrorShares[n] - kErrorShares[n - 1]);
  return ratios[n - 1] * std::pow(ratios[n] / ratios[n - 1], part);
}

/// The mean over groups, each weighing the root of its points, of what an interval stated without them costs: its
/// width, and 2 / (1 - confidence) times what lies outside, in natural logarithms (the interval score of Gneiting and
/// Raftery 2007). Smaller is better.
double interval_score(const StatedErrors& errors, double confidence) {
  double sum = 0, all = 0;
  for (const ErrorGroup& g : errors.groups) {
    const ErrorInterval i = stated_error(errors.without(g), g, confidence).tpot;
    const double low = std::log(i.low), high = std::log(i.high), weight = std::sqrt(static_cast<double>(g.points));
    constexpr int kSteps = 100;
    double outside = 0;
    for (int k = 0; k < kSteps; ++k) {
      const double x = std::log(ratio_at(g.ratios.tpot, (k + 0.5) / kSteps));
      outside += std::max({0.0, low - x, x - high}) / kSteps;
    }
    sum += weight * (high - low + 2 / (1 - confidence) * outside);
    all += weight;
  }
  return sum / all;
}

TEST(StatedErrorOf, AUniformGroupIsItsQuantiles) {
  StatedErrors errors = errors_of({group("m", "vllm", -1, 1)});
  const StatedError e = stated_error(errors, group("m", "vllm", 0, 0), 0.8);
  EXPECT_NEAR(std::log(e.tpot.low), -0.8, 1e-9);
  EXPECT_NEAR(std::log(e.tpot.middle), 0, 1e-9);
  EXPECT_NEAR(std::log(e.e2e.high), 0.8, 1e-9);
  EXPECT_EQ(e.points, 25);
  EXPECT_EQ(e.confidence, 0.8);
  errors.widening.ttft = {1.5};
  EXPECT_NEAR(std::log(stated_error(errors, group("m", "vllm", 0, 0), 0.8).ttft.low), -1.2, 1e-9);
}

TEST(StatedErrorOf, GroupsAreMixed) {
  // Half of the mixture uniform on [-1, 0], half on [0, 3]: its quarter is at -0.5, three quarters at 1.5.
  const StatedErrors errors = errors_of({group("a", "x", -1, 0), group("b", "x", 0, 3)});
  const StatedError e = stated_error(errors, group("other", "y", 0, 0), 0.5);
  EXPECT_EQ(e.group, "all points");
  EXPECT_NEAR(std::log(e.tpot.low), -0.5, 1e-9);
  EXPECT_NEAR(std::log(e.tpot.high), 1.5, 1e-9);
}

TEST(StatedErrorOf, ADraftedAnswerIsThatOfDraftedPoints) {
  StatedErrors errors = errors_of({group("a", "vllm", -1, 1)});
  errors.drafted = {group("a", "vllm", 2, 3), group("b", "sglang", 4, 5), group("c", "sglang", 4, 5)};
  ErrorGroup question = group("a", "vllm", 0, 0);
  EXPECT_EQ(stated_error(errors, question, 0.8).group, "a on h100, vllm, KV memory not full") << "nothing drafts";
  question.drafted = true;
  const StatedError own = stated_error(errors, question, 0.8);
  EXPECT_EQ(own.group, "a on h100, vllm, with a drafter");
  EXPECT_NEAR(std::log(own.tpot.middle), 2.5, 1e-9);
  EXPECT_NEAR(std::log(own.e2e.middle), 2.5, 1e-9);
  EXPECT_NEAR(std::log(own.ttft.middle), 0, 1e-9);
  question.engine = "sglang";
  EXPECT_EQ(stated_error(errors, question, 0.8).group, "sglang with drafters");
  question.engine = "trtllm";
  EXPECT_EQ(stated_error(errors, question, 0.8).points, 75) << "all drafted ones";
  EXPECT_FALSE(StatedErrors::built_in().drafted.empty());
}

TEST(StatedErrorOf, TheNearestThatHasEnoughSpeaks) {
  StatedErrors errors = errors_of({group("a", "vllm", 0, 1), group("b", "vllm", 0, 1), group("c", "vllm", 0, 1),
                                   group("d", "vllm", 0, 1, ModelKind::experts), group("e", "sglang", 0, 1)});
  const auto says = [&errors](const ErrorGroup& question) { return stated_error(errors, question, 0.9).group; };
  EXPECT_EQ(says(group("a", "vllm", 0, 0)), "a on h100, vllm, KV memory not full");
  EXPECT_EQ(says(group("z", "vllm", 0, 0)), "vllm, dense models, KV memory not full");
  EXPECT_EQ(says(group("z", "vllm-0.19", 0, 0)), "vllm, dense models, KV memory not full");
  EXPECT_EQ(says(group("z", "vllm", 0, 0, ModelKind::latent)), "vllm, KV memory not full");
  EXPECT_EQ(says(group("z", "sglang", 0, 0)), "all engines, KV memory not full");
  EXPECT_EQ(says(group("z", "", 0, 0)), "all engines, dense models, KV memory not full");
  EXPECT_EQ(says(group("z", "of-somebody", 0, 0)), "all engines, dense models, KV memory not full");
  ErrorGroup full = group("a", "vllm", 0, 0);
  full.memory_full = true;
  EXPECT_EQ(says(full), "all points");
  errors.groups[0].points = 9;  // too few of its own
  EXPECT_EQ(says(group("a", "vllm", 0, 0)), "vllm, dense models, KV memory not full");
}

TEST(StatedErrorOf, RatiosOfTwoPredictionsAreEvenUpToWhatPairsMissedBy) {
  const StatedErrors errors = errors_of({});
  EXPECT_EQ(even_below(errors, &FigureErrors::tpot, 0.3), 1.1);
  EXPECT_NEAR(even_below(errors, &FigureErrors::tpot, 0.65), 1.15, 1e-12);
  EXPECT_EQ(even_below(errors, &FigureErrors::tpot, 0.9), 1.3);
  EXPECT_EQ(even_below(errors, &FigureErrors::tpot, 0.99), 1.4);
}

TEST(StatedErrorOf, WhatLiesInTheIntervalOfTheOthersIsCovered) {
  // Each of the two is uniform: on [0, 1] and [0, 2]. The second has half of its points in the 100 % interval of the
  // first, the first all of them in that of the second.
  const StatedErrors errors = errors_of({group("a", "x", 0, 1), group("b", "x", 0, 2)});
  EXPECT_NEAR(coverage(errors, &FigureErrors::tpot, 1 - 1e-9), 0.75, 1e-6);
  EXPECT_GT(interval_score(errors_of({group("a", "x", 0, 1), group("b", "x", 5, 6)}), 0.9),
            interval_score(errors_of({group("a", "x", 0, 1), group("b", "x", 0, 1)}), 0.9));
}

// What kvsim ships.

TEST(ShippedErrors, IntervalsOfGroupsLeftOutHoldWhatTheySay) {
  for (const ErrorFigure figure : kErrorFigures) {
    const double held = coverage(StatedErrors::built_in(), figure, 0.9);
    EXPECT_GE(held, 0.85);
    EXPECT_LE(held, 0.97);
  }
}

TEST(ShippedErrors, HoldWhatTheySayWhereTheWideningHasNotSeenTheGroupEither) {
  const StatedErrors& errors = StatedErrors::built_in();
  double inside = 0, all = 0;
  for (const ErrorGroup& g : errors.groups) {
    StatedErrors others = errors.without(g);
    others.widening = widening_for(others, 0.9);
    const ErrorInterval i = stated_error(others, g, 0.9).tpot;
    for (int k = 0; k < 100; ++k) {  // of the group's points, one in a hundred each
      const double ratio = ratio_at(g.ratios.tpot, (k + 0.5) / 100);
      inside += ratio >= i.low && ratio <= i.high ? static_cast<double>(g.points) / 100 : 0;
    }
    all += static_cast<double>(g.points);
  }
  RecordProperty("held", std::to_string(inside / all));
  EXPECT_GE(inside / all, 0.85);
  EXPECT_LE(inside / all, 0.97);
}

TEST(ShippedErrors, GrowWhereNamesOfGroupsAreShuffled) {
  const StatedErrors& errors = StatedErrors::built_in();
  const double in_order = interval_score(errors, 0.9);
  std::mt19937 random(1);
  double shuffled = 0;
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) {
    StatedErrors other = errors;
    std::vector<FigureErrors> ratios;
    for (const ErrorGroup& g : errors.groups) ratios.push_back(g.ratios);
    for (std::size_t k = ratios.size() - 1; k > 0; --k) std::swap(ratios[k], ratios[random() % (k + 1)]);
    for (std::size_t k = 0; k < ratios.size(); ++k) other.groups[k].ratios = ratios[k];
    shuffled += interval_score(other, 0.9) / kTimes;
  }
  EXPECT_GT(shuffled, in_order);
}

TEST(ShippedErrors, AreReadBackAsTheyAreWritten) {
  const schema::ConfigNode written = stated_errors_schema().dump(StatedErrors::built_in());
  const StatedErrors again = stated_errors_schema().parse(written);
  EXPECT_EQ(again.groups.size(), StatedErrors::built_in().groups.size());
  EXPECT_EQ(again.groups.back().ratios.e2e, StatedErrors::built_in().groups.back().ratios.e2e);
}

// From a backtest.

backtest::BacktestPoint point(const std::string& model, double tpot, double ttft, double memory_short) {
  backtest::BacktestPoint p;
  p.group = {model, "h100", "vllm", "fp8", "tp1"};
  p.point.tpot_s = 0.02;
  p.point.ttft_s = 0.2;
  p.predicted.emplace();
  p.predicted->tpot_s = tpot;
  p.predicted->ttft_s = ttft;
  p.predicted->output_tokens = 11;
  p.predicted->memory_short = memory_short;
  return p;
}

TEST(ErrorsOfABacktest, AreRatiosByModelGpuEngineAndMemory) {
  backtest::Backtest b;
  b.points = {point("a", 0.04, 0.2, 0), point("a", 0.02, 0.2, 0), point("a", 0.01, 0.2, 0), point("a", 0.02, 0.1, 0.5)};
  b.points.emplace_back();  // not simulated
  const StatedErrors errors = stated_errors_of(b);
  ASSERT_EQ(errors.groups.size(), 2U);
  EXPECT_EQ(errors.groups[0].points, 3);
  EXPECT_FALSE(errors.groups[0].memory_full);
  EXPECT_TRUE(errors.groups[1].memory_full);
  EXPECT_EQ(errors.groups[0].ratios.tpot.front(), 0.5);
  EXPECT_EQ(errors.groups[0].ratios.tpot[3], 1);
  EXPECT_EQ(errors.groups[0].ratios.tpot.back(), 2);
  EXPECT_EQ(errors.groups[1].ratios.ttft[3], 2);
  // 0.2 + 10 x 0.02 = 0.4 s measured; 0.2 + 10 x 0.04 = 0.6 s predicted: 0.667 in three digits.
  EXPECT_EQ(errors.groups[0].ratios.e2e.front(), 0.667);
  // One launch: differences of ln 2, ln 2, ln 4, and the point with full memory.
  EXPECT_GE(errors.pairs.tpot.front(), 2);
  EXPECT_EQ(errors.pairs.tpot.back(), 4);
}

}  // namespace
}  // namespace kvsim::planner::KVSIM_FILE
