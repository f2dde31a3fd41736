// Pages that users read: tables, lists, prose, facts and plots, written for a terminal, as Markdown, as HTML and as
// CSV from the same structure.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tools/plot/chart.h"

namespace kvsim::page {

enum class Tone : std::uint8_t {
  plain,
  good,   ///< green
  best,   ///< bold, and green where nothing is shaded
  bad,    ///< bold and red
  faint,  ///< dim: there is no figure
};

/// How a cell looks on a terminal with colour; without colour it is its text alone.
struct Look {
  Tone tone = Tone::plain;
  std::optional<double> shade = {};  ///< 0 (worst) to 1 (best): background of a heat map
};

struct Cell {
  std::string text = {};
  std::optional<double> value = {};  ///< what a column is sorted by, and what CSV holds; none: the text
  bool strong = false;               ///< the best, the chosen one
  char mark = ' ';                   ///< stands behind the text and makes it stand out; a column's marks line up
  std::optional<Look> look = {};     ///< none: marked cells stand out anyway

  Cell() = default;
  /// Tables are written down as words and figures, so both are cells without being called so.
  Cell(std::string words, std::optional<double> of = {}, bool is_strong = false)
      : text(std::move(words)), value(of), strong(is_strong) {}
  Cell(const char* words, std::optional<double> of = {}, bool is_strong = false)
      : Cell(std::string(words), of, is_strong) {}
  Cell(std::string_view words) : Cell(std::string(words)) {}

  friend bool operator==(const Cell& cell, std::string_view words) { return cell.text == words; }
};

enum class Align : std::uint8_t { left, right };

struct Column {
  std::string header;    ///< with its unit
  bool numeric = false;  ///< numbers stand on the right
};

struct Table {
  std::string title = {};
  std::vector<std::string> header = {};  ///< empty: rows speak for themselves; "\n" breaks a word's line on a terminal
  std::vector<Align> align = {};         ///< of every column
  std::vector<std::vector<Cell>> rows = {};  ///< a row of one cell is a heading of those below it

  void add(Column column) {
    header.push_back(std::move(column.header));
    align.push_back(column.numeric ? Align::right : Align::left);
  }
};

[[nodiscard]] Table table(std::string title, std::vector<Column> columns, std::vector<std::vector<Cell>> rows = {});

/// Label, number, remark.
[[nodiscard]] Table key_figures(std::string title);

/// Words on the left, figures to the right of them.
[[nodiscard]] Table with_columns(std::string title, std::vector<std::string> header);

/// A row in words, for pointing at: "rate: 0.5; TTFT p99: 1.2 s".
[[nodiscard]] std::string tip_of(const Table& table, std::size_t row);

struct List {
  std::string title;
  std::vector<std::string> items;
  bool first = false;  ///< its first item stands on a first screen; else they are counted there
};

using Drawing = std::variant<plot::Chart, plot::HeatMap, plot::Bars>;

struct Plot {
  std::string id;  ///< of its own on the page: a letter, then letters, digits and hyphens; the name of its CSV file
  std::string title;
  std::string caption;  ///< what to look at, and how to read it
  Drawing drawing;
  std::vector<std::string> legend;  ///< of the series, in order; none for heat maps
  Table data;
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

/// Text as it stands, folded away.
struct Verbatim {
  std::string title;
  std::string text;
};

using Block = std::variant<Prose, Facts, Table, Plot, List, Verbatim>;

struct Section {
  std::string id;
  std::string title;
  std::vector<Block> blocks;
  std::string short_title = {};  ///< in the contents; empty: the title

  /// Left out where it is a table without rows, or a list without items.
  void add(Block block) {
    const auto* t = std::get_if<Table>(&block);
    const auto* list = std::get_if<List>(&block);
    if ((t && t->rows.empty()) || (list && list->items.empty())) return;
    blocks.push_back(std::move(block));
  }
};

/// Tables and lists, and sections below them.
struct Page {
  std::string title;
  std::vector<std::string> subtitle;  ///< lines of prose
  std::vector<Table> tables;
  std::vector<List> lists;  ///< empty ones are left out
  std::vector<Section> sections;
  std::vector<Table> first = {};  ///< the tables of a first screen; empty: the first of them all

  /// Left out where it is empty.
  void add(Section section) {
    if (!section.blocks.empty()) sections.push_back(std::move(section));
  }
};

/// Rows of a table on a first screen.
inline constexpr std::size_t kFirstRows = 12;

struct TextStyle {
  bool colour = false;
  std::size_t width = 100;  ///< columns at which prose is wrapped
  bool details = true;      ///< else a first screen: at most kFirstRows rows of a table, and what is left out by name
};

/// The facts of the sections alone, as lists.
[[nodiscard]] Page summary(const Page& page);

/// For a terminal: tables and lists.
[[nodiscard]] std::string to_text(const Page& page, const TextStyle& style = {});

/// For a file or a pull request: tables and lists; of sections, what there is room for.
[[nodiscard]] std::string to_markdown(const Page& page);

/// Self-contained: no request leaves the page, and nothing but its own style and script runs there.
[[nodiscard]] std::string to_html(const Page& page);

/// {file name, contents}: the data of every plot.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> to_csv(const Page& page);

/// A field as RFC 4180 has it. What a spreadsheet would take for a formula is kept from being one.
[[nodiscard]] std::string csv_field(std::string_view text);

/// Columns that UTF-8 text takes on a terminal, every character one.
[[nodiscard]] std::size_t display_width(std::string_view text);

/// A step of the scale of a heat map, as one of a terminal's 256 colours, with the text that is read on it.
struct ShadeColour {
  std::uint8_t background;
  bool black_text;
};

/// From dark blue over grey to yellow, after the map "cividis": lightness rises from step to step, and who cannot tell
/// red from green sees the same order. Source: Nuñez, Anderton, Renslow, PLOS ONE 13(7), 2018.
inline constexpr std::array<ShadeColour, 7> kShades{
    {{17, false}, {24, false}, {60, false}, {102, true}, {143, true}, {185, true}, {227, true}}};

/// Where `value` lies between the worst and the best, from 0 to 1; 1 where they are equal.
[[nodiscard]] double shade_of(double value, double worst, double best);

}  // namespace kvsim::page
