// Pages on a terminal.

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/page/page.h"
#include "tools/text/visible.h"

namespace kvsim::page {
namespace {

constexpr std::string_view kIndent = "  ";
constexpr std::size_t kLabelWidth = 22;  // so that the columns of consecutive tables line up
constexpr std::size_t kNumberWidth = 10;

using Lines = std::vector<std::vector<std::string>>;

/// The rows with their marks: in a column with a mark every cell takes its place, so that figures line up.
Lines marked_rows(const Table& table) {
  Lines rows(table.rows.size());
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (std::size_t column = 0; column < table.rows[row].size(); ++column) {
      const auto marked = [column](const std::vector<Cell>& cells) {
        return column < cells.size() && cells[column].mark != ' ';
      };
      rows[row].push_back(table.rows[row][column].text);
      if (std::any_of(table.rows.begin(), table.rows.end(), marked)) rows[row].back() += table.rows[row][column].mark;
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

std::string code_of(const Look& look) {
  std::string code;
  const auto add = [&code](std::string_view more) { code += (code.empty() ? "" : ";") + std::string(more); };
  switch (look.tone) {
    case Tone::plain:
      break;
    case Tone::good:
      add("32");
      break;
    case Tone::best:
      add(look.shade ? "1" : "1;32");
      break;
    case Tone::bad:
      add("1;31");
      break;
    case Tone::faint:
      add("2");
      break;
  }
  if (look.shade) {
    const double step = std::floor(std::clamp(*look.shade, 0.0, 1.0) * static_cast<double>(kShades.size()));
    const ShadeColour& colour = kShades[std::min(static_cast<std::size_t>(step), kShades.size() - 1)];
    // 16 and 231 are black and white whatever the terminal's own colours are.
    add(fmt::format("48;5;{};38;5;{}", colour.background, colour.black_text ? 16 : 231));
  }
  return code;
}

/// `text` between the escape sequences that the look needs, if any.
std::string painted(std::string_view text, const Look& look) {
  const std::string code = code_of(look);
  return code.empty() ? std::string(text) : fmt::format("\x1b[{}m{}\x1b[0m", code, text);
}

Look look_of(const Cell& cell) {
  return cell.look.value_or(Look{cell.mark == '*' ? Tone::best : cell.mark == ' ' ? Tone::plain : Tone::good});
}

/// `looks` has the cells whose looks are shown; none: plain. A shade fills the column and the gap before it, so that a
/// heat map is one area.
std::string aligned_row(const std::vector<std::string>& words, const std::vector<Align>& align,
                        const std::vector<std::size_t>& widths, std::string_view gap,
                        const std::vector<Cell>* looks = nullptr) {
  std::string line(kIndent);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string padding(widths[i] - std::min(widths[i], display_width(words[i])), ' ');
    const std::string before = std::string(i > 0 ? gap : "") + (align[i] == Align::right ? padding : "");
    const std::string after = align[i] == Align::right ? "" : padding;
    const Look look = looks ? look_of((*looks)[i]) : Look{};
    line += look.shade ? painted(before + words[i] + after, look) : before + painted(words[i], look) + after;
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
Page visible_page(Page out) {
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
    for (auto& row : table.rows) {
      for (Cell& cell : row) clean_line(cell.text);
    }
  }
  for (List& list : out.lists) {
    clean_line(list.title);
    for (std::string& item : list.items) clean(item);
  }
  return out;
}

}  // namespace

Table table(std::string title, std::vector<Column> columns, std::vector<std::vector<Cell>> rows) {
  Table t{std::move(title), {}, {}, std::move(rows)};
  for (Column& column : columns) t.add(std::move(column));
  return t;
}

std::string tip_of(const Table& table, std::size_t row) {
  std::string tip;
  for (std::size_t i = 0; i < table.header.size(); ++i) {
    const std::string& text = table.rows[row][i].text;
    if (text.empty()) continue;
    tip += fmt::format("{}{}: {}", tip.empty() ? "" : "; ", table.header[i], text);
  }
  return tip;
}

double shade_of(double value, double worst, double best) {
  return best == worst ? 1.0 : std::clamp((value - worst) / (best - worst), 0.0, 1.0);
}

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

Page summary(const Page& page) {
  Page out;
  out.title = page.title;
  for (const Section& section : page.sections) {
    for (const Block& block : section.blocks) {
      const auto* facts = std::get_if<Facts>(&block);
      if (!facts) continue;
      for (const Fact& f : facts->facts) {
        std::vector<std::string> lines{f.answer.empty() ? "not asked yet" : f.answer};
        for (std::size_t begin = 0; begin < f.detail.size();) {
          const std::size_t end = std::min(f.detail.find('\n', begin), f.detail.size());
          lines.push_back(f.detail.substr(begin, end - begin));
          begin = end + 1;
        }
        out.lists.push_back(
            {f.scenario.empty() ? f.question : fmt::format("{} ({})", f.question, f.scenario), std::move(lines)});
      }
    }
  }
  return out;
}

namespace {

/// "Stored prompts" of "Stored prompts: utility, chunk by chunk".
std::string short_title(const std::string& title) {
  return title.substr(0, std::min(title.find(':'), title.find(',')));
}

/// The first screen of a page: its answer, and the names of all that `--details` adds.
Page first_screen(const Page& page) {
  Page out{page.title, page.subtitle, page.first, {}, {}};
  std::vector<std::pair<std::string, std::size_t>> more;  // items of lists; 0: a table
  const auto name = [&more](std::string title, std::size_t items) {
    const auto named = std::find_if(more.begin(), more.end(), [&](const auto& other) { return other.first == title; });
    if (named == more.end()) {
      more.emplace_back(std::move(title), items);
    } else {
      named->second += items;
    }
  };
  auto rest = page.tables.begin();
  if (out.tables.empty() && rest != page.tables.end()) out.tables.push_back(*rest++);
  for (Table& table : out.tables) {
    if (table.rows.size() <= kFirstRows) continue;
    name(fmt::format("{} of {} rows", table.rows.size() - kFirstRows, table.rows.size()), 0);
    table.rows.resize(kFirstRows);
  }
  for (; rest != page.tables.end(); ++rest) {
    const auto shown = [&rest](const Table& table) {
      return table.title == rest->title && table.rows.size() == rest->rows.size();
    };
    if (!rest->title.empty() && std::none_of(out.tables.begin(), out.tables.end(), shown)) {
      name(short_title(rest->title), 0);
    }
  }
  for (const List& list : page.lists) {
    if (list.items.empty()) continue;
    if (list.first) out.lists.push_back({list.title, {list.items.front()}});
    if (!list.first || list.items.size() > 1) name(short_title(list.title), list.items.size());
  }
  std::vector<std::string> names;
  for (const auto& [title, items] : more) names.push_back(items > 0 ? fmt::format("{} ({})", title, items) : title);
  if (!names.empty()) out.lists.push_back({"", {fmt::format("More with --details: {}.", fmt::join(names, "; "))}});
  return out;
}

}  // namespace

std::string to_text(const Page& written, const TextStyle& style) {
  const Page page = visible_page(style.details ? written : first_screen(written));
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
      out += aligned_row(rows[row], table.align, widths, gap, style.colour ? &table.rows[row] : nullptr);
    }
  }
  for (const List& list : page.lists) {
    if (list.items.empty()) continue;
    if (list.title.empty()) {
      out += "\n" + wrapped(list.items.front(), style.width, kIndent, kIndent);
      continue;
    }
    out += "\n" + bold(list.title) + "\n";
    for (const std::string& item : list.items) out += wrapped(item, style.width, "  - ", "    ");
  }
  return out;
}

}  // namespace kvsim::page
