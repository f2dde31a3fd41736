// Markdown as a pull request shows it: names stay names.
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "tests/report/documents.h"
#include "tests/support/hostile.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

Page with(Block block) {
  Page r;
  r.title = "title";
  r.sections.push_back({"s", "Section", {std::move(block)}});
  return r;
}

/// Bars that are not escaped.
std::size_t bars_in(const std::string& line) {
  std::size_t bars = 0;
  bool escaped = false;
  for (const char c : line) {
    if (c == '|' && !escaped) ++bars;
    escaped = c == '\\' && !escaped;
  }
  return bars;
}

TEST(ReportMarkdown, PipesAndNewlinesInNamesDoNotBreakTables) {
  for (const std::string& name : testing::hostile_names()) {
    const Table t = table(name, {{name}, {name, true}}, {{{name}, {name, 1.0}}, {{name, {}, true}, {name}}});
    std::istringstream lines(to_markdown(with(t)));
    std::size_t rows = 0;
    for (std::string line; std::getline(lines, line);) {
      if (!line.starts_with("|")) continue;
      EXPECT_EQ(bars_in(line), 3) << line.substr(0, 200);
      ++rows;
    }
    EXPECT_EQ(rows, 4) << name.substr(0, 50);  // header, rule, two rows
  }
}

TEST(ReportMarkdown, WhatMarkdownReadsIsEscaped) {
  const std::string text = to_markdown(with(Prose{"a_b *c* `d` [e](f) <g> | # h \\"}));
  EXPECT_NE(text.find("a\\_b \\*c\\* \\`d\\` \\[e\\](f) \\<g\\> \\| \\# h \\\\"), std::string::npos) << text;
}

TEST(ReportMarkdown, NoNameBecomesHtmlOrALink) {
  for (const std::string& name : testing::hostile_names()) {
    Page r = with(List{name, {name}});
    r.title = name;
    r.subtitle = {name};
    r.sections[0].blocks.emplace_back(Facts{{{name, name, name, "s"}}});
    const std::string text = to_markdown(r);
    for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
      ASSERT_TRUE(at > 0 && text[at - 1] == '\\') << text.substr(at, 50);
    }
  }
}

TEST(ReportMarkdown, NoNameDrivesATerminalThatShowsIt) {
  const std::string name = "\x1b[31mred\u009b";
  Page r = with(List{name, {name}});
  r.title = name;
  r.subtitle = {name};
  r.sections[0].title = name;
  r.sections[0].blocks.emplace_back(Facts{{{name, name, name, "s", name}}});
  r.sections[0].blocks.emplace_back(table(name, {{name}}, {{{name}}}));
  for (const std::string& text : {to_markdown(r), page::to_text(summary(r))}) {
    EXPECT_EQ(text.find('\x1b'), std::string::npos) << text;
    EXPECT_EQ(text.find("\u009b"), std::string::npos) << text;
    EXPECT_NE(text.find("31mred"), std::string::npos) << text;
  }
}

TEST(ReportMarkdown, NumbersStandOnTheRightAndTheBestIsStrong) {
  const std::string text =
      to_markdown(with(table("", {{"policy"}, {"figure", true}}, {{{"a", {}, true}, {"5", 5.0}}})));
  EXPECT_NE(text.find("| policy | figure |\n| --- | ---: |\n| **a** | 5 |\n"), std::string::npos) << text;
}

TEST(ReportMarkdown, LongTablesAreCutAndSaySo) {
  Table t = table("", {{"a"}}, std::vector<std::vector<Cell>>(61, {{"x"}}));
  EXPECT_NE(to_markdown(with(t)).find("\n60 of 61 rows; all with --format csv or html.\n"), std::string::npos);
  t.rows.pop_back();
  EXPECT_EQ(to_markdown(with(t)).find("rows;"), std::string::npos);
}

TEST(ReportMarkdown, AnOpenQuestionSaysThatItWasNotAsked) {
  const std::string text = to_markdown(with(Facts{{{"Which?", "", "kvsim compare.", ""}}}));
  EXPECT_NE(text.find("- **Which?** not asked yet. kvsim compare.\n"), std::string::npos) << text;
}

TEST(ReportMarkdown, HasTheSectionsOfTheReportButNoAppendix) {
  const Page report = report_of(one_of_each());
  const std::string text = to_markdown(report);
  EXPECT_NE(text.find("## The decision\n"), std::string::npos);
  EXPECT_NE(text.find("## Headline numbers\n"), std::string::npos);
  EXPECT_EQ(text.find("## Definitions and scenarios"), std::string::npos);
  EXPECT_EQ(text, to_markdown(report_of(one_of_each())));
}

TEST(ReportMarkdown, OnATerminalAnAnswerSaysWhoseItIs) {
  const std::string text = page::to_text(summary(with(Facts{{{"Which?", "a", "", "", "one"}, {"How?", "b", "", ""}}})));
  EXPECT_NE(text.find("\nWhich? (one)\n  - a\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nHow?\n  - b\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
