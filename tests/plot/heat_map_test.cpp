// Grids of cells: shades, hatches, the frame around the best, and labels where there is room.
#include "tools/plot/chart.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/plot/pictures.h"
#include "tests/support/hostile.h"
#include "tests/support/well_formed.h"

namespace kvsim::plot::KVSIM_FILE {
namespace {

HeatMap map_of(const std::vector<std::vector<std::optional<double>>>& values) {
  HeatMap map;
  map.title = "Tokens";
  map.description = "What it shows";
  map.x_title = "x";
  map.y_title = "c";
  for (std::size_t c = 0; c < values.front().size(); ++c) map.x_labels.push_back("x" + std::to_string(c));
  for (std::size_t r = 0; r < values.size(); ++r) {
    map.y_labels.push_back("y" + std::to_string(r));
    std::vector<HeatCell> row;
    for (const auto& value : values[r]) row.push_back({value, value ? std::to_string(*value) : "-", "tip"});
    map.rows.push_back(std::move(row));
  }
  return map;
}

std::string drawn(const HeatMap& map) {
  std::string svg = to_svg(map, "p");
  EXPECT_EQ(testing::xml_fault(svg), "");
  return svg;
}

TEST(HeatMap, HasATitleAndADescriptionForScreenReaders) {
  const std::string svg = drawn(map_of({{1.0}}));
  EXPECT_TRUE(has(svg, "role=\"img\" aria-labelledby=\"p-title p-description\""));
  EXPECT_TRUE(has(svg, "<title id=\"p-title\">Tokens</title>"));
  EXPECT_TRUE(has(svg, "<desc id=\"p-description\">What it shows</desc>"));
}

TEST(HeatMap, ShadesFollowTheValuesBetweenLeastAndMost) {
  // Ten shades over 100 to 200: 155 is in the sixth.
  const std::string svg = drawn(map_of({{100.0, 155.0, 200.0}}));
  EXPECT_TRUE(has(svg, "cell hit h0\" x=\"78\""));
  EXPECT_TRUE(has(svg, "cell hit h5\" x=\"235.33\""));
  EXPECT_TRUE(has(svg, "cell hit h9\" x=\"392.67\""));
}

TEST(HeatMap, WhatCannotBeIsHatchedAndHasNoShade) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::string svg = drawn(map_of({{1.0, std::nullopt}, {nan, 2.0}}));
  EXPECT_EQ(count(svg, "cell hit infeasible"), 2);
  EXPECT_EQ(count(svg, "class=\"hatch\""), 2);
  // The second cell, 314 to 550 across and 10 to 54 down: a line every 9, slanted by half of the height, and the last
  // one cut where the cell ends.
  EXPECT_TRUE(has(svg, "d=\"M318.5,54L340.5,10M327.5,54L349.5,10M"));
  EXPECT_TRUE(has(svg, "M543.5,54L550,41\""));
  EXPECT_EQ(count(svg, "cell hit h0") + count(svg, "cell hit h9"), 2);
}

TEST(HeatMap, TheBestIsFramed) {
  HeatMap map = map_of({{1.0, 2.0}, {3.0, 0.0}});
  EXPECT_EQ(count(drawn(map), "class=\"best\""), 0);
  map.best = {1, 0};
  EXPECT_TRUE(has(drawn(map), "class=\"best\" x=\"78\" y=\"54\" width=\"236\" height=\"44\""));
}

TEST(HeatMap, AnotherChosenCellIsFramedByItself) {
  HeatMap map = map_of({{1.0, 2.0}, {3.0, 0.0}});
  map.best = {1, 0};
  map.chosen = {0, 1};
  const std::string svg = drawn(map);
  EXPECT_TRUE(has(svg, "class=\"best chosen\" x=\"314\" y=\"10\" width=\"236\" height=\"44\""));
  EXPECT_EQ(count(svg, "class=\"best\""), 1);
}

TEST(HeatMap, FewRowsAreTallAndManyAreLow) {
  const auto rows = [](std::size_t count) {
    return drawn(map_of(std::vector<std::vector<std::optional<double>>>(count, {1.0})));
  };
  EXPECT_TRUE(has(rows(3), "height=\"44\" data-tip"));
  EXPECT_TRUE(has(rows(4), "height=\"26\" data-tip") && has(rows(12), "height=\"26\" data-tip"));
  EXPECT_TRUE(has(rows(13), "height=\"16\" data-tip"));
}

TEST(HeatMap, WhereLessIsBetterTheLowestHasTheBrightestShade) {
  HeatMap map = map_of({{100.0, 155.0, 200.0}});
  map.less_is_better = true;
  const std::string svg = drawn(map);
  EXPECT_TRUE(has(svg, "cell hit h9\" x=\"78\""));
  EXPECT_TRUE(has(svg, "cell hit h4\" x=\"235.33\""));
  EXPECT_TRUE(has(svg, "cell hit h0\" x=\"392.67\""));
}

TEST(HeatMap, ShadesSpanWhatSeveralMapsShare) {
  HeatMap map = map_of({{5.0, 10.0}});
  map.shaded = {HeatCell{0.0, "0", ""}, HeatCell{10.0, "10", ""}};
  const std::string svg = drawn(map);
  EXPECT_EQ(count(svg, "cell hit h5"), 1);
  EXPECT_EQ(count(svg, "cell hit h9"), 1);
}

TEST(HeatMap, OneCellAndEqualCellsHaveTheHighestShade) {
  EXPECT_EQ(count(drawn(map_of({{5.0}})), "cell hit h9"), 1);
  EXPECT_EQ(count(drawn(map_of({{5.0, 5.0}})), "cell hit h9"), 2);
}

TEST(HeatMap, LabelsOfManyColumnsAreThinnedOut) {
  // 60 columns of 7.87 pixels, 34 pixels a label: every fifth. Beside them the label of the row.
  const HeatMap map = map_of({std::vector<std::optional<double>>(60, 1.0)});
  const std::string svg = drawn(map);
  EXPECT_EQ(count(svg, "class=\"tick\""), 12 + 1);
  EXPECT_TRUE(has(svg, ">x0</text>") && has(svg, ">x5</text>") && has(svg, ">x55</text>"));
  EXPECT_FALSE(has(svg, ">x1</text>"));
  EXPECT_EQ(count(svg, "cell-text"), 0);  // no room for words in the cells either
  EXPECT_EQ(count(svg, "data-tip=\"tip\""), 60);
}

TEST(HeatMap, CellsSayTheirValueWhereThereIsRoom) {
  EXPECT_TRUE(has(drawn(map_of({{1.0, 2.0}})), "class=\"cell-text h0\""));
}

TEST(HeatMap, WithoutCellsThereIsAPictureStill) {
  const std::string svg = drawn(HeatMap{});
  EXPECT_EQ(count(svg, "class=\"mark"), 0);
}

TEST(HeatMap, IsWellFormedWhateverItsNamesAre) {
  for (const std::string& name : testing::hostile_names()) {
    HeatMap map = map_of({{1.0, std::nullopt}});
    map.title = map.description = map.x_title = map.y_title = name;
    map.x_labels = {name, name};
    map.y_labels = {name};
    for (HeatCell& cell : map.rows[0]) cell.text = cell.tip = name;
    EXPECT_FALSE(has(drawn(map), "<script") || has(drawn(map), "<img")) << name;
  }
}

}  // namespace
}  // namespace kvsim::plot::KVSIM_FILE
