#include "tools/results/table.h"

#include <gtest/gtest.h>

namespace kvsim::results {
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

Page marked_page() {
  Page page;
  page.title = "t";
  page.tables = {{"",
                  {"name", "in\nall", "word"},
                  {Align::left, Align::right, Align::left},
                  {{"group:"}, {"a", "12", "x"}, {"b", "345", "y"}},
                  {"", " * ", "  +"}}};
  return page;
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
}  // namespace kvsim::results
