// What a report says, before it becomes HTML, Markdown or CSV: sections of prose, facts, tables and plots. It is made
// of result documents alone, so equal results give equal reports.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "tools/plot/bars.h"
#include "tools/plot/heat_map.h"
#include "tools/plot/chart.h"
#include "tools/results/table.h"

namespace kvsim::report {

struct Cell {
  std::string text;
  std::optional<double> value = {};  ///< what a column is sorted by, and what CSV holds; none: the text
  bool strong = false;               ///< the best, the chosen one
};

struct Column {
  std::string header;    ///< with its unit
  bool numeric = false;  ///< numbers stand on the right
};

struct DataTable {
  std::string caption;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;  ///< as long as `columns`
};

using Drawing = std::variant<plot::Chart, plot::HeatMap, plot::Bars>;

struct Plot {
  std::string id;  ///< of its own in the report: a letter, then letters, digits and hyphens; the name of its CSV file
  std::string title;
  std::string caption;  ///< what to look at, and how to read it
  Drawing drawing;
  std::vector<std::string> legend;  ///< of the series, in order; none for heat maps
  DataTable data;
};

struct Prose {
  std::string text;
};

/// A question that the reader came with. No answer: the results do not say, and `detail` tells how to find out.
struct Fact {
  std::string question;
  std::string answer;
  std::string detail;         ///< points, a line each
  std::string section;        ///< id of the section that shows it; may be empty
  std::string scenario = {};  ///< whose answer this is, where results are of several scenarios
};

struct Facts {
  std::vector<Fact> facts;
};

struct Bullets {
  std::string title;
  std::vector<std::string> items;
};

/// Text as it stands, folded away.
struct Verbatim {
  std::string title;
  std::string text;
};

using Block = std::variant<Prose, Facts, DataTable, Plot, Bullets, Verbatim>;

struct Section {
  std::string id;
  std::string title;
  std::vector<Block> blocks;
};

struct Report {
  std::string title;
  std::vector<std::string> subtitle;
  std::vector<Section> sections;

  /// Left out where it is empty.
  void add(Section section) {
    if (!section.blocks.empty()) sections.push_back(std::move(section));
  }
};

/// Self-contained: no request leaves the page, and nothing but its own style and script runs there.
[[nodiscard]] std::string to_html(const Report& report);

/// For a pull request: the tables, of each plot what it shows and the rows of its data.
[[nodiscard]] std::string to_markdown(const Report& report);

/// What the report answers, for a terminal.
[[nodiscard]] results::Page summary(const Report& report);

/// {file name, contents}: the data of every plot.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> to_csv(const Report& report);

}  // namespace kvsim::report
