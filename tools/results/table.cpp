#include "tools/results/table.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

namespace kvsim::results {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::size_t kLabelWidth = 22;  // so that the columns of consecutive tables line up
constexpr std::size_t kNumberWidth = 10;

std::vector<std::size_t> column_widths(const Table& table) {
  std::vector<std::size_t> widths(table.align.size(), 0);
  const auto widen = [&widths](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], display_width(cells[i]));
  };
  widen(table.header);
  for (const auto& row : table.rows) widen(row);
  return widths;
}

/// Two blanks between columns, one where the table would else be wider than `width`.
std::string_view gap_for(const std::vector<std::size_t>& widths, std::size_t width) {
  std::size_t total = 0;
  for (const std::size_t w : widths) total += w + 2;
  return total <= width ? "  " : " ";
}

std::string aligned_row(const std::vector<std::string>& cells, const std::vector<Align>& align,
                        const std::vector<std::size_t>& widths, std::string_view gap) {
  std::string line(kIndent);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string padding(widths[i] - std::min(widths[i], display_width(cells[i])), ' ');
    if (i > 0) line += gap;
    line += align[i] == Align::right ? padding + cells[i] : cells[i] + padding;
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

std::string escaped(std::string_view cell) {
  std::string out;
  for (const char c : cell) {
    if (c == '|' || c == '\\' || c == '*' || c == '_' || c == '`' || c == '<') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string markdown_row(std::span<const std::string> cells, std::size_t columns) {
  std::string line = "|";
  for (std::size_t i = 0; i < columns; ++i) line += " " + (i < cells.size() ? escaped(cells[i]) : std::string()) + " |";
  return line + "\n";
}

}  // namespace

Table key_figures(std::string title) {
  return {std::move(title), {}, {Align::left, Align::right, Align::left, Align::left}, {}};
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string to_text(const Page& page, const TextStyle& style) {
  const auto bold = [&style](const std::string& text) { return style.colour ? "\x1b[1m" + text + "\x1b[0m" : text; };
  const auto dim = [&style](const std::string& text) { return style.colour ? "\x1b[2m" + text + "\x1b[0m" : text; };
  std::string out = bold(page.title) + "\n";
  for (const std::string& line : page.subtitle) out += wrapped(line, style.width, kIndent, kIndent);
  for (const Table& table : page.tables) {
    std::vector<std::size_t> widths = column_widths(table);
    if (table.header.empty()) {
      widths[0] = std::max(widths[0], kLabelWidth);
      widths[1] = std::max(widths[1], kNumberWidth);
    }
    const std::string_view gap = gap_for(widths, style.width);
    out += "\n" + (table.title.empty() ? std::string() : bold(table.title) + "\n");
    if (!table.header.empty()) out += dim(aligned_row(table.header, table.align, widths, gap));
    for (const auto& row : table.rows) out += aligned_row(row, table.align, widths, gap);
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
    for (const auto& row : table.rows) out += markdown_row(row, table.align.size());
  }
  for (const List& list : page.lists) {
    if (list.items.empty()) continue;
    out += "\n## " + escaped(list.title) + "\n\n";
    for (const std::string& item : list.items) out += "- " + escaped(item) + "\n";
  }
  return out;
}

}  // namespace kvsim::results
