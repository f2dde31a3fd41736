// The data of plots for a spreadsheet.
#include <gtest/gtest.h>

#include <set>

#include "tests/report/documents.h"
#include "tests/support/hostile.h"

namespace kvsim::report::KVSIM_FILE {
namespace {

std::string csv_of(Table data) {
  Page r;
  r.sections.push_back({"s", "Section", {}});
  r.sections[0].blocks.emplace_back(Plot{"the-plot", "title", "", plot::Bars{}, {}, std::move(data)});
  const auto files = to_csv(r);
  EXPECT_EQ(files.size(), 1);
  EXPECT_EQ(files.front().first, "the-plot.csv");
  return files.front().second;
}

/// As RFC 4180 reads it.
std::vector<std::vector<std::string>> read(const std::string& csv) {
  std::vector<std::vector<std::string>> rows;
  bool quoted = false, fresh = true;
  for (std::size_t i = 0; i < csv.size(); ++i) {
    if (fresh) rows.push_back({""});
    fresh = false;
    std::string& field = rows.back().back();
    if (quoted) {
      if (csv[i] != '"') {
        field += csv[i];
      } else if (i + 1 < csv.size() && csv[i + 1] == '"') {
        field += csv[++i];
      } else {
        quoted = false;
      }
    } else if (csv[i] == '"' && field.empty()) {
      quoted = true;
    } else if (csv[i] == ',') {
      rows.back().emplace_back();
    } else if (csv[i] == '\n') {
      fresh = true;
    } else {
      EXPECT_NE(csv[i], '"') << "a quote in a field without quotes";
      field += csv[i];
    }
  }
  EXPECT_FALSE(quoted);
  return rows;
}

TEST(ReportCsv, NumbersBelowZeroAreNoFormulas) {
  EXPECT_EQ(page::csv_field("-0.5"), "-0.5");
  EXPECT_EQ(page::csv_field("-0.5+cmd"), "'-0.5+cmd");
  EXPECT_EQ(page::csv_field("=1"), "'=1");
}

TEST(ReportCsv, FieldsComeBackAsTheyWere) {
  const std::vector<std::string> names{"plain", "a,b", "say \"so\"", "two\nlines", "\"", ",", "trailing \""};
  Table t = table("", {{"name, with comma"}, {"\"q\""}});
  for (const std::string& name : names) t.rows.push_back({{name}, {name}});
  const auto rows = read(csv_of(t));
  ASSERT_EQ(rows.size(), names.size() + 1);
  EXPECT_EQ(rows[0], (std::vector<std::string>{"name, with comma", "\"q\""}));
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(rows[i + 1], (std::vector<std::string>{names[i], names[i]}));
}

TEST(ReportCsv, EveryRowHasAsManyFieldsAsTheHeader) {
  for (const std::string& name : testing::hostile_names()) {
    for (const auto& row : read(csv_of(table("", {{name}, {name}}, {{{name}, {name}}})))) EXPECT_EQ(row.size(), 2);
  }
}

TEST(ReportCsv, FormulasAreDefused) {
  for (const std::string formula :
       {"=1+1", "+1+1", "-1+1", "@SUM(A1)", "\t=1+1", "\r=1+1", "=HYPERLINK(\"x\",\"y\")"}) {
    const auto rows = read(csv_of(table("", {{formula}}, {{{formula}}})));
    EXPECT_EQ(rows[0][0], "'" + formula);
    EXPECT_EQ(rows[1][0], "'" + formula);
  }
}

TEST(ReportCsv, NumbersAreNotRoundedAndNegativeOnesStayNumbers) {
  const auto rows = read(csv_of(
      table("", {{"n"}}, {{{"0.33", 1.0 / 3}}, {{"1.2k", 1234.5678901234567}}, {{"-5 %", -0.05}}, {{"big", 1e300}}})));
  EXPECT_EQ(rows[1][0], "0.3333333333333333");
  EXPECT_EQ(std::stod(rows[2][0]), 1234.5678901234567);
  EXPECT_EQ(rows[3][0], "-0.05");
  EXPECT_EQ(std::stod(rows[4][0]), 1e300);
}

TEST(ReportCsv, WhatIsNotKnownIsEmpty) {
  EXPECT_EQ(csv_of(table("", {{"a"}, {"b"}, {"c"}}, {{{"-"}, {"x"}, {"-"}}})), "a,b,c\n,x,\n");
}

TEST(ReportCsv, ThereIsOneFileAPlotEachOfItsOwnName) {
  const Page report = report_of(one_of_each());
  std::size_t plots = 0;
  for (const Section& s : report.sections) {
    for (const Block& b : s.blocks) plots += std::holds_alternative<Plot>(b);
  }
  const auto files = to_csv(report);
  EXPECT_GT(plots, 10);
  EXPECT_EQ(files.size(), plots);
  std::set<std::string> names;
  for (const auto& [name, text] : files) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-."), std::string::npos) << name;
  }
}

}  // namespace
}  // namespace kvsim::report::KVSIM_FILE
