// Which points a design has: grids in row-major order, Latin hypercubes with one point in every stratum.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "models/schema/decimal.h"
#include "models/schema/error.h"
#include "planner/sweep/design.h"

namespace kvsim::planner::sweep::KVSIM_FILE {
namespace {

std::vector<AxisSpec> specs(const std::vector<std::string>& assignments) {
  std::vector<AxisSpec> result;
  for (const std::string& assignment : assignments) result.push_back(parse_axis(assignment));
  return result;
}

double number(const std::string& text) {
  return *schema::to_double(schema::split_number(text)->number, {});
}

TEST(SweepDesign, AGridGoesThroughTheLastAxisFirst) {
  const Design grid = Design::grid(specs({"a=1,2", "b=x,y,z"}));
  ASSERT_EQ(grid.size(), 6U);
  std::vector<std::string> points;
  for (std::size_t i = 0; i < grid.size(); ++i) points.push_back(grid.describe(i));
  EXPECT_EQ(points, (std::vector<std::string>{"a=1, b=x", "a=1, b=y", "a=1, b=z", "a=2, b=x", "a=2, b=y", "a=2, b=z"}));
}

TEST(SweepDesign, AGridRefusesIntervalsAndTooManyPoints) {
  EXPECT_THROW(Design::grid(specs({"a=1:9"})), schema::InputError);
  EXPECT_THROW(Design::grid(specs({"a=1:1000:1", "b=1:1001:1"})), schema::InputError);
  EXPECT_EQ(Design::grid(specs({"a=1:1000:1", "b=1:1000:1"})).size(), kMostPoints);
}

TEST(SweepDesign, ChangesNameTheirOption) {
  const auto changes = Design::grid(specs({"a.b=1,2"})).changes(1);
  ASSERT_EQ(changes.size(), 1U);
  EXPECT_EQ(changes[0].path, "a.b");
  EXPECT_EQ(changes[0].value, "2");
  EXPECT_EQ(changes[0].origin.str(), "--vary a.b");
}

TEST(SweepDesign, AHypercubeSpreadsListsEvenly) {
  const Design design = Design::latin_hypercube(specs({"a=x,y,z"}), 9, 4);
  std::map<std::string, int> times;
  for (std::size_t i = 0; i < design.size(); ++i) ++times[design.value(i, 0)];
  EXPECT_EQ(times, (std::map<std::string, int>{{"x", 3}, {"y", 3}, {"z", 3}}));
}

TEST(SweepDesign, WholeThingsAreSampledWhole) {
  const Design design =
      Design::latin_hypercube(specs({"decode.draft_length=1:8", "workload.context=1k tokens:9k tokens"}), 8, 1);
  std::set<std::string> lengths;
  for (std::size_t i = 0; i < design.size(); ++i) {
    lengths.insert(design.value(i, 0));
    EXPECT_EQ(design.value(i, 1).find('.'), std::string::npos);
    EXPECT_TRUE(design.value(i, 1).ends_with(" tokens"));
  }
  EXPECT_EQ(lengths.size(), 8U);  // eight strata of one number each
}

TEST(SweepDesign, ASeedDrawsTheSamePointsAgainAndAnAxisKeepsItsDraws) {
  const auto one = specs({"decode.keep_ratio=0.1:0.9"});
  const auto two = specs({"b=0:1", "decode.keep_ratio=0.1:0.9"});
  EXPECT_EQ(Design::latin_hypercube(one, 20, 7), Design::latin_hypercube(one, 20, 7));
  EXPECT_FALSE(Design::latin_hypercube(one, 20, 7) == Design::latin_hypercube(one, 20, 8));
  const Design a = Design::latin_hypercube(one, 20, 7), b = Design::latin_hypercube(two, 20, 7);
  for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(a.value(i, 0), b.value(i, 1));
}

// McKay, Beckman and Conover's property: in each projection every stratum holds exactly one point.
RC_GTEST_PROP(SweepDesignProperty, EveryStratumOfEveryAxisHoldsOnePoint, ()) {
  const auto points = *rc::gen::inRange<std::size_t>(1, 400);
  const auto dimensions = *rc::gen::inRange<int>(1, 6);
  const auto seed = *rc::gen::arbitrary<std::uint64_t>();
  std::vector<std::string> assignments;
  std::vector<std::pair<double, double>> ends;
  for (int d = 0; d < dimensions; ++d) {
    const double low = *rc::gen::inRange(-1000, 1000) / 100.0;
    const double width = *rc::gen::element(1e-3, 0.5, 1.0, 7.0, 1e4, 1e9);
    assignments.push_back("k" + std::to_string(d) + "=" + std::to_string(low) + ":" + std::to_string(low + width));
    ends.emplace_back(number(std::to_string(low)), number(std::to_string(low + width)));
  }
  const Design design = Design::latin_hypercube(specs(assignments), points, seed);
  RC_ASSERT(design.size() == points);
  for (std::size_t d = 0; d < ends.size(); ++d) {
    const auto [low, high] = ends[d];
    std::vector<int> hits(points);
    for (std::size_t i = 0; i < points; ++i) {
      const double value = number(design.value(i, d));
      RC_ASSERT(value >= low && value < high);
      // A value may lie on the border that two strata share: rounding the division may not move it.
      const double share = (value - low) / (high - low) * static_cast<double>(points);
      auto stratum = static_cast<std::size_t>(share);
      const double border = low + static_cast<double>(stratum + 1) * ((high - low) / static_cast<double>(points));
      if (value >= border) ++stratum;
      if (value < low + static_cast<double>(stratum) * ((high - low) / static_cast<double>(points))) --stratum;
      ++hits.at(stratum);
    }
    RC_ASSERT(std::all_of(hits.begin(), hits.end(), [](int n) { return n == 1; }));
  }
}

}  // namespace
}  // namespace kvsim::planner::sweep::KVSIM_FILE
