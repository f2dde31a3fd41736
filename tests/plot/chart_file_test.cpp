// Charts that are files: what is drawn where, and that it is XML whatever the labels are.
#include "tools/plot/chart.h"

#include <gtest/gtest.h>

#include "tests/plot/pictures.h"
#include "tests/support/well_formed.h"
#include "tools/plot/svg.h"

namespace kvsim::plot::KVSIM_FILE {
namespace {

using testing::xml_fault;

Chart rates() {
  Chart c;
  c.title = "Rates & <links>";
  c.description = "What \"hides\" what";
  c.x_title = "k";
  c.y_title = "GB/s";
  c.x_scale = c.y_scale = ScaleKind::logarithmic;
  c.series = {{"least", {{10, 1}, {100, 10}, {1000, 100}}}};
  c.above = "hidden";
  c.below = "not hidden";
  c.rules = {{25, false, "pcie4"}, {55, false, "pcie5", true}};
  c.markers = {{{100, 55}, "here"}};
  return c;
}

TEST(ChartFile, IsWellFormedAndNeedsNothingElse) {
  const std::string svg = to_svg_file(rates(), "");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, "<title id=\"title\">Rates &amp; &lt;links&gt;</title>"));
  EXPECT_TRUE(has(svg, "<desc id=\"description\">What &quot;hides&quot; what</desc>"));
  EXPECT_TRUE(has(svg, "<style>") && has(svg, ">not hidden</text>") && has(svg, ">GB/s</text>"));
  EXPECT_FALSE(has(svg, "href"));
}

TEST(ChartFile, PointsLieWhereTheirLogarithmsDo) {
  // The area is 74 to 596 across and 430 up to 64, as much below 1 as above 100: the middle of both decades is the
  // middle of the area, and both sides are shaded along the same curve from end to end.
  const std::string svg = to_svg_file(rates(), "");
  EXPECT_EQ(count(svg, "L335,247L596,"), 3);
  EXPECT_TRUE(has(svg, "class=\"above\"") && has(svg, "class=\"below\""));
}

TEST(ChartFile, NamesBesideItDoNotOverlap) {
  Chart c = rates();
  c.series.front().points = {{10, 1}, {100, 100}};
  c.rules = {{1.0, false, "a"}, {1.01, false, "b"}, {1.02, false, "c"}};
  c.above.clear();  // no sides, and so no room for their names
  const std::string svg = to_svg_file(c, "");
  EXPECT_EQ(xml_fault(svg), "");
  // The lowest at the height of the axis, 4 pixels below the middle of its words; the others a line of 15 above.
  for (const char* y : {"y=\"434\"", "y=\"419\"", "y=\"404\""}) EXPECT_TRUE(has(svg, y)) << y;
}

TEST(ChartFile, FurtherSeriesDifferAndAreNamedBesideRules) {
  Chart c = rates();
  c.series.push_back({"one <more>", {{10, 1}, {1000, 25}}});
  c.series.push_back({"short", {{10, 10}, {100, 10}}});
  c.series.push_back({"nowhere", {}});
  const std::string svg = to_svg_file(c, "");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_TRUE(has(svg, "class=\"name s1\"") && has(svg, ">one &lt;more&gt;</text>"));
  EXPECT_TRUE(has(svg, "class=\"name s2\""));
  EXPECT_TRUE(has(svg, "M335,247L610"));  // from the end of the short one to its name
  EXPECT_FALSE(has(svg, "nowhere"));
  EXPECT_EQ(count(svg, "class=\"rule strong\""), 1);
}

TEST(ChartFile, ALongSubtitleIsCutBetweenCharacters) {
  std::string subtitle;
  for (int i = 0; i < 200; ++i) subtitle += "\u00e9";
  const std::string svg = to_svg_file(rates(), subtitle);
  EXPECT_TRUE(has(svg, "\u00e9\u2026</text>"));
  EXPECT_FALSE(has(svg, ">" + subtitle));
  EXPECT_TRUE(has(to_svg_file(rates(), "short"), ">short</text>"));
}

TEST(ChartFile, WithoutACurveThereAreNoSides) {
  Chart c = rates();
  c.series.clear();
  const std::string svg = to_svg_file(c, "");
  EXPECT_EQ(xml_fault(svg), "");
  EXPECT_FALSE(has(svg, "class=\"above\""));
  EXPECT_FALSE(has(svg, ">hidden<"));
}

TEST(ChartFile, AxesOfSumsAreLinearThereToo) {
  Chart c = rates();
  c.x_scale = c.y_scale = ScaleKind::linear;
  c.series = {{"half", {{0, 0}, {5, 5}, {10, 10}}}};
  c.rules.clear();
  c.markers.clear();
  EXPECT_TRUE(has(to_svg_file(c, ""), "M74,430L335,247L596,64"));
}

TEST(Scale, LogarithmicTicksAreOneTwoAndFive) {
  EXPECT_EQ((Scale{ScaleKind::logarithmic, 2, 100}.ticks()), (std::vector<double>{2, 5, 10, 20, 50, 100}));
  EXPECT_EQ((Scale{ScaleKind::logarithmic, 1, 1e5}.ticks()), (std::vector<double>{1, 10, 100, 1000, 10000, 100000}));
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
