// Horizontal bars: where their parts begin and end. The area is 196 to 478 across, 30 down for each bar.
#include "tools/plot/chart.h"

#include <gtest/gtest.h>

#include "tests/plot/pictures.h"
#include "tests/support/hostile.h"
#include "tests/support/well_formed.h"

namespace kvsim::plot::KVSIM_FILE {
namespace {

Bars bars() {
  Bars b;
  b.title = "Memory";
  b.description = "What it shows";
  b.x_title = "GB";
  return b;
}

std::string drawn(const Bars& b) {
  std::string svg = to_svg(b, "p");
  EXPECT_EQ(testing::xml_fault(svg), "");
  return svg;
}

TEST(Bars, HaveATitleAndADescriptionForScreenReaders) {
  const std::string svg = drawn(bars());
  EXPECT_TRUE(has(svg, "role=\"img\" aria-labelledby=\"p-title p-description\""));
  EXPECT_TRUE(has(svg, "<title id=\"p-title\">Memory</title>"));
  EXPECT_TRUE(has(svg, "<desc id=\"p-description\">What it shows</desc>"));
  EXPECT_TRUE(has(svg, ">GB</text>"));
}

TEST(Bars, PartsLieFromTheirBeginningToTheirEnd) {
  Bars b = bars();
  b.bars = {{"stacked", {{0, 2, 0, "a"}, {2, 8, 1, "b"}}, "8 GB"}, {"a step", {{2, 4, 2, "c"}}, ""}};
  // 0 to 8, 35.25 each.
  const std::string svg = drawn(b);
  EXPECT_TRUE(has(svg, "x=\"196\" y=\"13\" width=\"70.5\" height=\"20\" data-tip=\"a\""));
  EXPECT_TRUE(has(svg, "x=\"266.5\" y=\"13\" width=\"211.5\" height=\"20\" data-tip=\"b\""));
  EXPECT_TRUE(has(svg, "x=\"266.5\" y=\"43\" width=\"70.5\" height=\"20\" data-tip=\"c\""));
  EXPECT_TRUE(has(svg, "series s0") && has(svg, "series s1") && has(svg, "series s2"));
  EXPECT_TRUE(has(svg, "class=\"value\" x=\"486\"") && has(svg, ">8 GB</text>"));
  EXPECT_EQ(count(svg, "class=\"value\""), 1);
}

TEST(Bars, LeaveRoomForTheLongestText) {
  Bars b = bars();
  b.bars = {{"published", {{0, 8, 0, "a"}}, "2.000 to 3.600"}, {"simulated", {{0, 4, 0, "b"}}, "4.000"}};
  // 0 to 8, 31.75 each: 14 letters stand between 458 and the end, at 560.
  const std::string svg = drawn(b);
  EXPECT_TRUE(has(svg, "x=\"196\" y=\"13\" width=\"254\" height=\"20\" data-tip=\"a\""));
  EXPECT_TRUE(has(svg, "class=\"value\" x=\"458\""));
  EXPECT_TRUE(has(svg, "x=\"196\" y=\"43\" width=\"127\" height=\"20\" data-tip=\"b\""));
}

TEST(Bars, BelowZeroTheyReachToTheLeft) {
  Bars b = bars();
  b.bars = {{"gain", {{0, 5, 0, "more"}}, ""}, {"loss", {{0, -5, 0, "less"}}, "-5"}};
  // -6 to 6, 23.5 each, 0 at 337.
  const std::string svg = drawn(b);
  EXPECT_TRUE(has(svg, "x=\"337\" y=\"13\" width=\"117.5\" height=\"20\" data-tip=\"more\""));
  EXPECT_TRUE(has(svg, "x=\"219.5\" y=\"43\" width=\"117.5\" height=\"20\" data-tip=\"less\""));
  EXPECT_TRUE(has(svg, "class=\"value\" x=\"345\""));  // behind the zero line, where nothing is drawn
}

TEST(Bars, TheirTextStandsBehindTheLongestPartWhicheverComesLast) {
  Bars b = bars();
  b.bars = {{"stacked", {{2, 8, 1, "b"}, {0, 2, 0, "a"}}, "8 GB"}};
  EXPECT_TRUE(has(drawn(b), "class=\"value\" x=\"486\""));
}

TEST(Bars, ALongLabelIsShortened) {
  Bars b = bars();
  b.bars = {{std::string(28, 'a'), {{0, 1, 0, ""}}, ""}};
  EXPECT_TRUE(has(drawn(b), ">" + std::string(26, 'a') + "\u2026</text>"));
  b.bars[0].label = std::string(27, 'a');
  EXPECT_TRUE(has(drawn(b), ">" + b.bars[0].label + "</text>"));
}

TEST(Bars, WithoutPartsThereAreLabelsAlone) {
  Bars b = bars();
  b.bars = {{"nothing known", {}, ""}};
  EXPECT_EQ(count(drawn(b), "class=\"mark"), 0);
  EXPECT_TRUE(has(drawn(b), ">nothing known</text>"));
}

TEST(Bars, AreWellFormedWhateverTheirNamesAre) {
  for (const std::string& name : testing::hostile_names()) {
    Bars b = bars();
    b.title = b.description = b.x_title = name;
    b.bars = {{name, {{0, 1, 0, name}}, name}};
    EXPECT_FALSE(has(drawn(b), "<script") || has(drawn(b), "<img")) << name;
  }
}

}  // namespace
}  // namespace kvsim::plot::KVSIM_FILE
