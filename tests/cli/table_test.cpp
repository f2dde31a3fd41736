#include "tools/page/page.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kvsim::page::KVSIM_FILE {
namespace {

Page small_page() {
  Page page;
  page.title = "title";
  page.tables = {{"numbers", {"name", "n"}, {Align::left, Align::right}, {{"a|b", "± 1"}, {"c", "10.5"}}}};
  page.lists = {{"notes", {"one two three"}}, {"nothing", {}}};
  return page;
}

TEST(TableTest, ColumnsLineUpByCharactersNotBytes) {
  EXPECT_EQ(to_text(small_page()),
            "title\n"
            "\n"
            "numbers\n"
            "  name     n\n"
            "  a|b    ± 1\n"
            "  c     10.5\n"
            "\n"
            "notes\n"
            "  - one two three\n");
}

TEST(TableTest, NoNameDrivesTheTerminal) {
  const std::string name = "\x1b[31mred\u009b\u202e";
  Page page;
  page.title = name;
  page.subtitle = {name};
  page.tables = {{name, {name}, {Align::left}, {{name}}}};
  page.lists = {{name, {name}}};
  for (const std::string& text : {to_text(page), to_markdown(page)}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\u009b"), std::string::npos) << text;
    EXPECT_EQ(text.find("\u202e"), std::string::npos) << text;
  }
  EXPECT_NE(to_text(page).find("\uFFFD[31mred\uFFFD\uFFFD"), std::string::npos);
  EXPECT_NE(to_markdown(page).find("\uFFFD\\[31mred\uFFFD\uFFFD"), std::string::npos);
}

TEST(TableTest, NoNameIsALinkOrAPictureInMarkdown) {
  Page page = small_page();
  page.subtitle = {"![x](http://a) # > b"};
  EXPECT_NE(to_markdown(page).find("\n!\\[x\\](http://a) \\# \\> b\n"), std::string::npos) << to_markdown(page);
}

TEST(TableTest, ProseWrapsAtTheWidth) {
  Page page;
  page.title = "t";
  page.lists = {{"notes", {"one two three"}}};
  EXPECT_EQ(to_text(page, {false, 12}), "t\n\nnotes\n  - one two\n    three\n");
}

TEST(TableTest, TablesGetNarrowerGapsWhereTheyWouldBeTooWide) {
  Page page;
  page.title = "t";
  page.tables = {{"", {"aaaa", "bbbb"}, {Align::left, Align::left}, {}}};
  EXPECT_EQ(to_text(page, {false, 12}), "t\n\n  aaaa  bbbb\n");
  EXPECT_EQ(to_text(page, {false, 11}), "t\n\n  aaaa bbbb\n");
}

TEST(TableTest, ColourMarksTitlesOnly) {
  EXPECT_TRUE(to_text(small_page(), {true, 100}).starts_with("\x1b[1mtitle\x1b[0m\n"));
}

Page marked_page() {
  Page page;
  page.title = "t";
  page.tables = {{"",
                  {"name", "in\nall", "word"},
                  {Align::left, Align::right, Align::left},
                  {{"group:"}, {"a", "12", "x"}, {"b", "345", "y"}}}};
  page.tables[0].rows[1][1].mark = '*';
  page.tables[0].rows[2][2].mark = '+';
  return page;
}

TEST(TableTest, ShadesFillTheirColumnAndTonesTheirTextAlone) {
  Page page;
  page.title = "t";
  page.tables = {{"", {"a", "b"}, {Align::right, Align::left}, {{"1", "x"}, {"22", "yy"}}}};
  page.tables[0].rows[0][0].look = Look{Tone::plain, 0.0};
  page.tables[0].rows[0][1].look = Look{Tone::faint};
  page.tables[0].rows[1][0].look = Look{Tone::best, 1.0};
  EXPECT_EQ(to_text(page), "t\n\n   a  b\n   1  x\n  22  yy\n");
  EXPECT_EQ(to_text(page, {true, 100}),
            "\x1b[1mt\x1b[0m\n\n\x1b[2m   a  b\n\x1b[0m"
            "  \x1b[48;5;17;38;5;231m 1\x1b[0m  \x1b[2mx\x1b[0m\n"
            "  \x1b[1;48;5;227;38;5;16m22\x1b[0m  yy\n");
}

TEST(TableTest, MarksAreColouredAndMarkdownHasNoColour) {
  EXPECT_NE(to_text(marked_page(), {true, 100}).find("  a      \x1b[1;32m12*\x1b[0m  x"), std::string::npos);
  EXPECT_NE(to_text(marked_page(), {true, 100}).find("\x1b[32my+\x1b[0m"), std::string::npos);
  Page page = marked_page();
  page.tables[0].rows[1][0].look = Look{Tone::bad, 0.5};
  EXPECT_EQ(to_markdown(page), to_markdown(marked_page()));
}

/// Relative luminance of a colour of the 6 x 6 x 6 cube (WCAG 2.1).
double luminance(int colour) {
  const auto part = [colour](int divisor) {
    const int level = (colour - 16) / divisor % 6;
    const double c = (level == 0 ? 0 : 55 + 40 * level) / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * part(36) + 0.7152 * part(6) + 0.0722 * part(1);
}

TEST(LookTest, ShadesGetLighterStepByStepAndTextIsReadableOnEach) {
  double before = -1;
  for (const ShadeColour& shade : kShades) {
    const double here = luminance(shade.background);
    EXPECT_GT(here, before) << int{shade.background};
    before = here;
    const double contrast = shade.black_text ? (here + 0.05) / 0.05 : 1.05 / (here + 0.05);
    EXPECT_GE(contrast, 4.5) << int{shade.background};  // WCAG 2.1, level AA
  }
}

TEST(LookTest, AShadeSaysWhereAValueLiesBetweenWorstAndBest) {
  EXPECT_EQ(shade_of(3, 1, 5), 0.5);
  EXPECT_EQ(shade_of(3, 5, 1), 0.5);  // where less is better
  EXPECT_EQ(shade_of(5, 5, 1), 0);
  EXPECT_EQ(shade_of(2, 2, 2), 1);
}

TEST(TableTest, MarkdownEscapesWhatWouldBeMarkup) {
  EXPECT_EQ(to_markdown(small_page()),
            "# title\n"
            "\n"
            "## numbers\n"
            "\n"
            "| name | n |\n"
            "| --- | ---: |\n"
            "| a\\|b | ± 1 |\n"
            "| c | 10.5 |\n"
            "\n"
            "## notes\n"
            "\n"
            "- one two three\n");
}

TEST(TableTest, MarksStandBehindFiguresThatStillLineUp) {
  EXPECT_EQ(to_text(marked_page()),
            "t\n"
            "\n"
            "          in\n"
            "  name   all  word\n"
            "  group:\n"
            "  a      12*  x\n"
            "  b     345   y+\n");
}

TEST(TableTest, MarkdownHasMarkedFiguresInBoldAndWordsOfAHeaderInOneLine) {
  EXPECT_EQ(to_markdown(marked_page()),
            "# t\n"
            "\n"
            "| name | in all | word |\n"
            "| --- | ---: | --- |\n"
            "| group: |  |  |\n"
            "| a | **12**\\* | x |\n"
            "| b | 345 | **y**+ |\n");
}

}  // namespace
}  // namespace kvsim::page::KVSIM_FILE
