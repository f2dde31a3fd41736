// Charts: what is drawn where, and that it is XML whatever the labels are.
#include "tools/plot/log_chart.h"

#include <gtest/gtest.h>

#include "tests/support/well_formed.h"
#include "tools/plot/svg.h"

namespace kvsim::plot::KVSIM_FILE {
namespace {

using testing::xml_fault;

LogChart chart() {
  LogChart c;
  c.title = "Rates & <links>";
  c.description = "What \"hides\" what";
  c.x = {"k", 10, 1000};
  c.y = {"GB/s", 1, 100};
  c.curve = {{10, 1}, {100, 10}, {1000, 100}};
  c.curve_label = "least";
  c.above = "hidden";
  c.below = "not hidden";
  c.levels = {{25, "pcie4", false}, {55, "pcie5", true}};
  c.markers = {{{100, 55}, "here"}};
  return c;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

TEST(LogChart, IsWellFormedWithTitleAndDescription) {
  const std::string svg = to_svg(chart());
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, "<title id=\"title\">Rates &amp; &lt;links&gt;</title>"));
  EXPECT_TRUE(has(svg, "<desc id=\"description\">What &quot;hides&quot; what</desc>"));
  EXPECT_TRUE(has(svg, ">not hidden</text>"));
  EXPECT_TRUE(has(svg, ">GB/s</text>"));
  EXPECT_FALSE(has(svg, "href"));  // needs nothing else
}

TEST(LogChart, PointsLieWhereTheirLogarithmsDo) {
  // The area is 74 to 596 across and 430 up to 64: the middle of both decades is the middle of the area.
  EXPECT_TRUE(has(to_svg(chart()), "points=\"74,430 335,247 596,64\""));
}

TEST(LogChart, WhatLiesOutsideIsDrawnAtTheEdge) {
  LogChart c = chart();
  c.curve = {{1, 0.1}, {10000, 5000}};
  EXPECT_TRUE(has(to_svg(c), "points=\"74,430 596,64\""));
}

TEST(LogChart, LabelsOfLevelsDoNotOverlap) {
  LogChart c = chart();
  c.levels = {{1.0, "a", false}, {1.01, "b", false}, {1.02, "c", false}};
  const std::string svg = to_svg(c);
  for (const char* y : {"y=\"430\"", "y=\"415\"", "y=\"400\""}) EXPECT_TRUE(has(svg, y)) << y;
  EXPECT_EQ(xml_fault(svg), "");
}

TEST(LogChart, FurtherCurvesDifferAndAreNamedBesideLevels) {
  LogChart c = chart();
  c.further = {{{{10, 1}, {1000, 25}}, "one <more>"}, {{{10, 10}, {100, 10}}, "short"}, {{}, "nowhere"}};
  const std::string svg = to_svg(c);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, ">one &lt;more&gt;</text>"));
  EXPECT_TRUE(has(svg, "points=\"74,247 335,247\""));
  EXPECT_TRUE(has(svg, "stroke-dasharray=\"2 3\"") && has(svg, "stroke-dasharray=\"6 3\""));
  EXPECT_FALSE(has(svg, "nowhere"));
  // pcie4 and the curve that ends at the same height: 430 - 366 log(25) / log(100) = 174.18, and a line below.
  EXPECT_TRUE(has(svg, "y=\"174.18\"") && has(svg, "y=\"189.18\""));
}

TEST(LogChart, ALongSubtitleIsCutBetweenCharacters) {
  LogChart c = chart();
  for (int i = 0; i < 200; ++i) c.subtitle += "\u00e9";
  const std::string svg = to_svg(c);
  EXPECT_TRUE(has(svg, "\u00e9\u2026</text>"));
  EXPECT_FALSE(has(svg, ">" + c.subtitle));
  c.subtitle = "short";
  EXPECT_TRUE(has(to_svg(c), ">short</text>"));
}

TEST(LogChart, WithoutACurveThereAreNoRegions) {
  LogChart c = chart();
  c.curve.clear();
  const std::string svg = to_svg(c);
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_FALSE(has(svg, "polygon"));
  EXPECT_FALSE(has(svg, ">hidden<"));
}

TEST(LogChart, TicksAreOneTwoAndFive) {
  EXPECT_EQ(log_ticks(2, 100), (std::vector<double>{2, 5, 10, 20, 50, 100}));
  EXPECT_EQ(log_ticks(1, 1e5), (std::vector<double>{1, 10, 100, 1000, 10000, 100000}));
}

TEST(Svg, TextIsEscaped) {
  EXPECT_EQ(xml_escaped("<a href=\"x\">&'"), "&lt;a href=&quot;x&quot;&gt;&amp;&#39;");
  EXPECT_EQ(xml_escaped(std::string_view("a\x01\tb", 4)), "a\xEF\xBF\xBD\tb");
}

TEST(Svg, CoordinatesAreShort) {
  EXPECT_EQ(coordinate(12.5), "12.5");
  EXPECT_EQ(coordinate(12), "12");
  EXPECT_EQ(coordinate(0.333333), "0.33");
  EXPECT_EQ(coordinate(-0.001), "0");
}

TEST(XmlFault, SeesWhatIsWrong) {
  for (const char* bad : {"<a>", "<a></b>", "<a/><b/>", "<a x=\"1\" x=\"2\"/>", "<a x=1/>", "<a>&nbsp;</a>", "x<a/>"}) {
    EXPECT_NE(xml_fault(bad), "") << bad;
  }
  EXPECT_EQ(xml_fault("<?xml version=\"1.0\"?>\n<a x=\"&amp;\">b<c/></a>\n"), "");
}

}  // namespace
}  // namespace kvsim::plot::KVSIM_FILE
