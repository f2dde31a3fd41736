#include "tools/results/table.h"

#include <algorithm>
#include <functional>
#include <span>

#include <fmt/format.h>

#include "tools/text/visible.h"

namespace kvsim::results {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::size_t kLabelWidth = 22;  // so that the columns of consecutive tables line up
constexpr std::size_t kNumberWidth = 10;

char mark_of(const Table& table, std::size_t row, std::size_t column) {
  return row < table.marks.size() && column < table.marks[row].size() ? table.marks[row][column] : ' ';
}

/// The rows with their marks: in a column with a mark every cell takes its place, so that figures line up.
std::vector<std::vector<std::string>> marked_rows(const Table& table) {
  std::vector<std::vector<std::string>> rows = table.rows;
  for (std::size_t column = 0; column < table.align.size(); ++column) {
    bool any = false;
    for (std::size_t row = 0; row < rows.size(); ++row) any = any || mark_of(table, row, column) != ' ';
    for (std::size_t row = 0; any && row < rows.size(); ++row) {
      if (column < rows[row].size()) rows[row][column] += mark_of(table, row, column);
    }
  }
  return rows;
}

/// The lines of a header: words of fewer lines than the longest stand on the last ones.
std::vector<std::vector<std::string>> header_lines(const std::vector<std::string>& header) {
  std::size_t lines = 1;
  for (const std::string& word : header) {
    lines = std::max(lines, static_cast<std::size_t>(std::count(word.begin(), word.end(), '\n')) + 1);
  }
  std::vector<std::vector<std::string>> out(lines, std::vector<std::string>(header.size()));
  for (std::size_t i = 0; i < header.size(); ++i) {
    std::size_t line = lines, end = header[i].size();
    while (true) {
      const std::size_t begin = end == 0 ? std::string::npos : header[i].rfind('\n', end - 1);
      const std::size_t from = begin == std::string::npos ? 0 : begin + 1;
      out[--line][i] = header[i].substr(from, end - from);
      if (begin == std::string::npos) break;
      end = begin;
    }
  }
  return out;
}

using Lines = std::vector<std::vector<std::string>>;

/// A row of one cell is a heading of those below it, which no column stands beside.
std::vector<std::size_t> column_widths(const Table& table, const Lines& header, const Lines& rows) {
  std::vector<std::size_t> widths(table.align.size(), 0);
  for (const Lines* lines : {&header, &rows}) {
    for (const auto& cells : *lines) {
      if (cells.size() == 1 && widths.size() > 1) continue;
      for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], display_width(cells[i]));
    }
  }
  return widths;
}

/// Two blanks between columns, one where the table would else be wider than `width`.
std::string_view gap_for(const std::vector<std::size_t>& widths, std::size_t width) {
  std::size_t total = 0;
  for (const std::size_t w : widths) total += w + 2;
  return total <= width ? "  " : " ";
}

Look look_of(const Table& table, std::size_t row, std::size_t column) {
  if (row < table.looks.size() && column < table.looks[row].size()) return table.looks[row][column];
  const char mark = mark_of(table, row, column);
  return {mark == '*' ? Tone::best : mark == ' ' ? Tone::plain : Tone::good};
}

/// `looks` has the look of a column. A shade fills the column and the gap before it, so that a heat map is one area.
std::string aligned_row(
    const std::vector<std::string>& cells, const std::vector<Align>& align, const std::vector<std::size_t>& widths,
    std::string_view gap, const std::function<Look(std::size_t)>& looks = [](std::size_t) { return Look{}; }) {
  std::string line(kIndent);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - std::min(widths[i], display_width(cells[i])), ' ');
    const std::string before = std::string(i > 0 ? gap : "") + (align[i] == Align::right ? padding : "");
    const std::string after = align[i] == Align::right ? "" : padding;
    const Look look = looks(i);
    line += look.shade ? painted(before + cells[i] + after, look) : before + painted(cells[i], look) + after;
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

/// Words of `text` on lines of at most `width` columns; `first` begins the first line, `rest` the others.
std::string wrapped(std::string_view text, std::size_t width, std::string_view first, std::string_view rest) {
  std::string out(first);
  std::size_t used = display_width(first);
  bool begun = false;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    if (begun && used + 1 + display_width(word) > width) {
      out.append("\n").append(rest);
      used = display_width(rest);
    } else if (begun) {
      out += ' ';
      ++used;
    }
    out += word;
    used += display_width(word);
    begun = true;
  }
  return out + "\n";
}

/// Nothing in it drives the terminal: names are their author's.
Page visible_page(const Page& page) {
  Page out = page;
  const auto clean = [](std::string& words) { words = text::visible(words); };
  const auto clean_line = [&clean](std::string& words) {
    clean(words);
    std::replace(words.begin(), words.end(), '\n', ' ');
  };
  clean_line(out.title);
  for (std::string& line : out.subtitle) clean_line(line);
  for (Table& table : out.tables) {
    clean_line(table.title);
    for (std::string& word : table.header) clean(word);
    for (auto& row : table.rows) std::for_each(row.begin(), row.end(), clean_line);
  }
  for (List& list : out.lists) {
    clean_line(list.title);
    for (std::string& item : list.items) clean(item);
  }
  return out;
}

std::string escaped(std::string_view cell) {
  std::string out;
  for (const char c : text::visible(cell)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

/// Marked cells are bold, with their mark behind them.
std::string markdown_row(std::span<const std::string> cells, std::size_t columns, std::string_view marks = {}) {
  std::string line = "|";
  for (std::size_t i = 0; i < columns; ++i) {
    const std::string cell = i < cells.size() ? escaped(cells[i]) : std::string();
    const bool marked = i < marks.size() && marks[i] != ' ';
    line += " " + (marked ? "**" + cell + "**" + escaped(marks.substr(i, 1)) : cell) + " |";
  }
  return line + "\n";
}

}  // namespace

Table with_columns(std::string title, std::vector<std::string> header) {
  Table t{std::move(title), std::move(header), {}, {}};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  return t;
}

Table key_figures(std::string title) {
  return {std::move(title), {}, {Align::left, Align::right, Align::left, Align::left}, {}};
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string to_text(const Page& written, const TextStyle& style) {
  const Page page = visible_page(written);
  const auto bold = [&style](const std::string& text) { return style.colour ? "\x1b[1m" + text + "\x1b[0m" : text; };
  const auto dim = [&style](const std::string& text) { return style.colour ? "\x1b[2m" + text + "\x1b[0m" : text; };
  std::string out = bold(page.title) + "\n";
  for (const std::string& line : page.subtitle) out += wrapped(line, style.width, kIndent, kIndent);
  for (const Table& table : page.tables) {
    const Lines header = header_lines(table.header), rows = marked_rows(table);
    std::vector<std::size_t> widths = column_widths(table, header, rows);
    if (table.header.empty()) {
      widths[0] = std::max(widths[0], kLabelWidth);
      widths[1] = std::max(widths[1], kNumberWidth);
    }
    const std::string_view gap = gap_for(widths, style.width);
    out += "\n" + (table.title.empty() ? std::string() : bold(table.title) + "\n");
    for (const auto& line : header) {
      if (!table.header.empty()) out += dim(aligned_row(line, table.align, widths, gap));
    }
    for (std::size_t row = 0; row < rows.size(); ++row) {
      out += aligned_row(rows[row], table.align, widths, gap,
                         [&](std::size_t column) { return style.colour ? look_of(table, row, column) : Look{}; });
    }
  }
  for (const List& list : page.lists) {
    if (list.items.empty()) continue;
    out += "\n" + bold(list.title) + "\n";
    for (const std::string& item : list.items) out += wrapped(item, style.width, "  - ", "    ");
  }
  return out;
}

std::string to_markdown(const Page& page) {
  std::string out = "# " + escaped(page.title) + "\n";
  for (const std::string& line : page.subtitle) out += "\n" + escaped(line) + "\n";
  for (const Table& table : page.tables) {
    if (!table.title.empty()) out += "\n## " + escaped(table.title) + "\n";
    out += "\n" + markdown_row(table.header, table.align.size()) + "|";
    for (const Align a : table.align) out += a == Align::right ? " ---: |" : " --- |";
    out += "\n";
    for (std::size_t i = 0; i < table.rows.size(); ++i) {
      const std::string_view marks = i < table.marks.size() ? std::string_view(table.marks[i]) : std::string_view();
      out += markdown_row(table.rows[i], table.align.size(), marks);
    }
  }
  for (const List& list : page.lists) {
    if (list.items.empty()) continue;
    out += "\n## " + escaped(list.title) + "\n\n";
    for (const std::string& item : list.items) out += "- " + escaped(item) + "\n";
  }
  return out;
}

}  // namespace kvsim::results
