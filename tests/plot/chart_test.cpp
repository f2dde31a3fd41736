// Lines, steps, points and areas: what lies where. The area is 66 to 546 across and 280 up to 12.
#include "tools/plot/chart.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/plot/pictures.h"
#include "tests/support/hostile.h"
#include "tests/support/well_formed.h"

namespace kvsim::plot::KVSIM_FILE {
namespace {

Chart chart(std::vector<Point> points, Shape shape = Shape::line) {
  Chart c;
  c.title = "Load";
  c.description = "What it shows";
  c.x_title = "time in s";
  c.y_title = "requests";
  c.shape = shape;
  c.series.push_back({"one", std::move(points)});
  return c;
}

std::string drawn(const Chart& c) {
  std::string svg = to_svg(c, "p");
  EXPECT_EQ(testing::xml_fault(svg), "");
  return svg;
}

TEST(Chart, HasATitleAndADescriptionForScreenReaders) {
  const std::string svg = drawn(chart({{0, 1}, {1, 2}}));
  EXPECT_TRUE(has(svg, "role=\"img\" aria-labelledby=\"p-title p-description\""));
  EXPECT_TRUE(has(svg, "<title id=\"p-title\">Load</title>"));
  EXPECT_TRUE(has(svg, "<desc id=\"p-description\">What it shows</desc>"));
  EXPECT_TRUE(has(svg, ">time in s</text>") && has(svg, ">requests</text>"));
}

TEST(Chart, ALineBreaksAtAGap) {
  // 0 to 4 across: 120 a second. 0 to 10 up: 26.8 each.
  const Chart c = chart({{0, 0}, {1, 5}, {2, kNan}, {3, 10}, {4, 0}});
  EXPECT_TRUE(has(drawn(c), "d=\"M66,280L186,146M426,12L546,280\""));
}

TEST(Chart, StepsHoldTheirValueUntilTheNextPoint) {
  const Chart c = chart({{0, 0}, {1, 5}, {2, kNan}, {3, 10}, {4, 0}}, Shape::steps);
  EXPECT_TRUE(has(drawn(c), "d=\"M66,280H186V146M426,12H546V280\""));
}

TEST(Chart, AreasStandOnThoseBefore) {
  Chart c = chart({{0, 1}, {1, 2}}, Shape::stacked_areas);
  c.series.push_back({"two", {{0, 3}, {1, kNan}}});  // a gap adds nothing
  // Sums of 4 and 2, 67 a unit: 1 at 213, 2 at 146, 4 at 12.
  const std::string svg = drawn(c);
  EXPECT_TRUE(has(svg, "d=\"M66,213L546,146L546,280L66,280Z\""));
  EXPECT_TRUE(has(svg, "d=\"M66,12L546,146L546,146L66,213Z\""));
}

TEST(Chart, AnIntervalReachesHalfItsWidthToBothSides) {
  Chart c = chart({{0, 0}, {1, 4}}, Shape::points);
  c.series[0].half_widths = {kNan, 1};
  // The axis holds the interval: 0 to 5, 53.6 a unit, so from 3 at 119.2 to 5 at 12.
  const std::string svg = drawn(c);
  EXPECT_EQ(count(svg, "class=\"interval\""), 1);
  EXPECT_TRUE(has(svg, "d=\"M546,119.2V12\""));
}

TEST(Chart, PointsHaveMarksAndLinesHaveNone) {
  const std::vector<Point> points{{0, 1}, {1, kNan}, {2, 2}};
  EXPECT_EQ(count(drawn(chart(points)), "mark point"), 0);
  EXPECT_EQ(count(drawn(chart(points, Shape::points)), "mark point"), 2);
  EXPECT_EQ(count(drawn(chart(points, Shape::points)), "mark line"), 0);
  EXPECT_EQ(count(drawn(chart(points, Shape::marked_line)), "mark point"), 2);
  EXPECT_EQ(count(drawn(chart(points, Shape::marked_line)), "mark line"), 1);
}

TEST(Chart, AZoneCoversWhatLiesBeyondItsLevel) {
  Chart c = chart({{0, 0}, {1, 20}});
  c.zones = {{10, true, "too slow"}};
  EXPECT_TRUE(has(drawn(c), "class=\"zone\" x=\"66\" y=\"12\" width=\"480\" height=\"134\""));
  EXPECT_TRUE(has(drawn(c), ">too slow</text>"));
  c.zones = {{10, false, "too few"}};
  EXPECT_TRUE(has(drawn(c), "class=\"zone\" x=\"66\" y=\"146\" width=\"480\" height=\"134\""));
}

TEST(Chart, AZoneBeyondThePointsIsOnTheAxis) {
  Chart c = chart({{0, 0}, {1, 1}});
  c.zones = {{10, true, "too slow"}};
  // 10 and some of what lies beyond, 11.5, on 0 to 12: 10 at 280 - 268 x 10 / 12.
  EXPECT_TRUE(has(drawn(c), "y=\"12\" width=\"480\" height=\"44.67\""));
}

TEST(Chart, RulesLieAtTheirPlaceAndSayWhatTheyAre) {
  Chart c = chart({{0, 0}, {4, 10}});
  c.rules = {{3, true, "end"}, {5, false, "capacity"}};
  const std::string svg = drawn(c);
  EXPECT_TRUE(has(svg, "class=\"rule\" d=\"M426,12V280\""));
  EXPECT_TRUE(has(svg, "class=\"rule\" d=\"M66,146H546\""));
  EXPECT_TRUE(has(svg, ">end</text>") && has(svg, ">capacity</text>"));
}

TEST(Chart, WhatLiesOutsideAFixedAxisIsDrawnAtItsEnd) {
  Chart c = chart({{0, -3}, {1, 0.5}, {2, 7}});
  c.y_least = 0;
  c.y_most = 1;
  EXPECT_TRUE(has(drawn(c), "d=\"M66,280L306,146L546,12\""));
}

TEST(Chart, ALogarithmicAxisHasDecadesOfEqualWidth) {
  Chart c = chart({{1, 1}, {10, 1}, {100, 1}});
  c.x_scale = ScaleKind::logarithmic;
  // From 1 / 1.12 to 112: the middle of the logarithms is 10, in the middle of the area.
  EXPECT_TRUE(has(drawn(c), "L306,12L"));
}

TEST(Chart, EverythingAtOneTimeIsSaidOnABandAroundIt) {
  Chart c = chart({{0, 0}, {4, 10}});
  c.hovers = {{0, "first"}, {2, "second"}, {4, "third"}};
  // Borders half way between: 186 and 426.
  const std::string svg = drawn(c);
  EXPECT_TRUE(has(svg, "x=\"66\" y=\"12\" width=\"120\" height=\"268\" data-tip=\"first\""));
  EXPECT_TRUE(has(svg, "x=\"186\" y=\"12\" width=\"240\" height=\"268\" data-tip=\"second\""));
  EXPECT_TRUE(has(svg, "x=\"426\" y=\"12\" width=\"120\" height=\"268\" data-tip=\"third\""));
}

TEST(Chart, AGapSaysNothing) {
  Chart c = chart({{0, 1}, {1, kNan}, {2, 2}});
  c.series[0].tips = {"a", "b", "c", "more tips than points"};
  const std::string svg = drawn(c);
  EXPECT_TRUE(has(svg, "data-tip=\"a\"") && has(svg, "data-tip=\"c\""));
  EXPECT_FALSE(has(svg, "data-tip=\"b\"") || has(svg, "more tips"));
}

TEST(Chart, SeriesOfDifferentLengthsStack) {
  Chart c = chart({{0, 1}, {1, 1}, {2, 1}}, Shape::stacked_areas);
  c.series.push_back({"short", {{0, 1}}});
  c.series.push_back({"none", {}});
  EXPECT_EQ(count(drawn(c), "mark area"), 2);
}

TEST(Chart, WithoutDataThereAreAxesAlone) {
  for (const Shape shape : {Shape::line, Shape::steps, Shape::points, Shape::marked_line, Shape::stacked_areas}) {
    Chart empty = chart({}, shape);
    EXPECT_FALSE(has(drawn(empty), "class=\"mark"));
    EXPECT_TRUE(has(drawn(empty), "class=\"axis\""));
    empty.series.clear();
    EXPECT_TRUE(has(drawn(empty), "class=\"axis\""));
    EXPECT_FALSE(has(drawn(chart({{kNan, kNan}}, shape)), "nan"));
  }
}

TEST(Chart, IsWellFormedWhateverItsNamesAre) {
  for (const std::string& name : testing::hostile_names()) {
    Chart c = chart({{0, 1}, {1, 2}}, Shape::marked_line);
    c.title = c.description = c.x_title = c.y_title = c.series[0].label = name;
    c.series[0].tips = {name, name};
    c.zones = {{1, true, name}};
    c.rules = {{1, true, name}, {1, false, name}};
    c.hovers = {{0, name}};
    EXPECT_FALSE(has(drawn(c), "<script") || has(drawn(c), "<img")) << name;
  }
}

TEST(Chart, ADiagonalJoinsTheCornersOfEqualScales) {
  Chart c = chart({{0, 3}, {10, 5}}, Shape::points);
  c.diagonal = true;
  const std::string svg = drawn(c);
  EXPECT_TRUE(has(svg, "class=\"rule\" d=\"M66,280L546,12\""));
  // Both axes reach 10, the y axis not only 5: 5 is half-way up.
  EXPECT_TRUE(has(svg, point_path(546, 146, 0)));
}

TEST(Chart, InAFilePointsAreNamedByTheirMarks) {
  Chart c = chart({{0, 3}, {10, 5}}, Shape::points);
  c.series.push_back({"two", {{1, 1}}});
  const std::string svg = to_svg_file(c, "");
  EXPECT_EQ(testing::xml_fault(svg), "");
  EXPECT_FALSE(has(svg, "class=\"leader\""));
  EXPECT_TRUE(has(svg, ">two</text>"));
  EXPECT_TRUE(has(svg, point_path(606, 64, 0)));
  EXPECT_TRUE(has(svg, point_path(606, 79, 1)));
}

TEST(Chart, ASeriesMayHaveAShapeOfItsOwn) {
  Chart chart;
  chart.shape = Shape::marked_line;
  chart.series = {{"simulated", {{1, 1}, {2, 2}}}, {"published", {{1, 1.5}, {2, 2.5}}}};
  const auto lines = [&chart] {
    const std::string svg = to_svg(chart, "c");
    return svg.find("mark line") == svg.rfind("mark line") ? 1 : 2;
  };
  EXPECT_EQ(lines(), 2);
  chart.series[1].shape = Shape::points;
  EXPECT_EQ(lines(), 1);
}

}  // namespace
}  // namespace kvsim::plot::KVSIM_FILE
