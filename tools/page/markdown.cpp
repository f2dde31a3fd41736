// Pages as Markdown, and the data of their plots as CSV.
#include <charconv>
#include <limits>

#include <fmt/format.h>

#include "tools/page/page.h"
#include "tools/text/visible.h"

namespace kvsim::page {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text::visible(text)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

/// Strong and marked cells are bold, with their mark behind them.
std::string shown(const Cell& cell) {
  const std::string text = escaped(cell.text);
  if (cell.mark != ' ') return "**" + text + "**" + escaped(std::string(1, cell.mark));
  return cell.strong && !text.empty() ? "**" + text + "**" : text;
}

void table_markdown(std::string& out, const Table& t, std::size_t most) {
  out += "|";
  for (std::size_t i = 0; i < t.align.size(); ++i) {
    out += fmt::format(" {} |", i < t.header.size() ? escaped(t.header[i]) : "");
  }
  out += "\n|";
  for (const Align align : t.align) out += align == Align::right ? " ---: |" : " --- |";
  out += "\n";
  for (std::size_t r = 0; r < std::min(most, t.rows.size()); ++r) {
    out += "|";
    for (std::size_t i = 0; i < t.align.size(); ++i) {
      out += fmt::format(" {} |", i < t.rows[r].size() ? shown(t.rows[r][i]) : "");
    }
    out += "\n";
  }
  if (t.rows.size() > most)
    out += fmt::format("\n{} of {} rows; all with --format csv or html.\n", most, t.rows.size());
  out += "\n";
}

/// Writer for pull requests, which have no room for definitions, scenarios and long series.
struct MarkdownWriter {
  static constexpr std::size_t kMostRows = 60, kMostRowsOfPlots = 24, kMostColumns = 16;
  std::string& out;
  std::string_view heading = "###";
  std::size_t most_rows = kMostRows;

  void operator()(const Prose& p) const { out += escaped(p.text) + "\n\n"; }
  void operator()(const Facts& facts) const {
    for (const Fact& f : facts.facts) {
      out += fmt::format("- **{}** {}{}{}\n", escaped(f.question),
                         f.answer.empty() ? "not asked yet." : escaped(f.answer) + ".", f.detail.empty() ? "" : " ",
                         escaped(f.detail + (f.scenario.empty() ? "" : " (" + f.scenario + ")")));
    }
    out += "\n";
  }
  void operator()(const Table& t) const {
    if (!t.title.empty()) out += fmt::format("{} {}\n\n", heading, escaped(t.title));
    table_markdown(out, t, most_rows);
  }
  void operator()(const Plot& p) const {
    if (p.data.rows.size() > kMostRowsOfPlots || p.data.align.size() > kMostColumns) return;
    out += fmt::format("### {}\n\n{}\n\n", escaped(p.title), escaped(p.caption));
    table_markdown(out, p.data, kMostRowsOfPlots);
  }
  void operator()(const List& b) const {
    if (b.items.empty()) return;
    out += fmt::format("{} {}\n\n", heading, escaped(b.title));
    for (const std::string& item : b.items) out += fmt::format("- {}\n", escaped(item));
    out += "\n";
  }
  void operator()(const Verbatim&) const {}
};

std::string csv_of(const Table& t) {
  std::string out;
  for (std::size_t i = 0; i < t.header.size(); ++i) out += (i ? "," : "") + csv_field(t.header[i]);
  out += "\n";
  for (const std::vector<Cell>& row : t.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += i ? "," : "";
      if (row[i].value) {
        out += fmt::format("{}", *row[i].value);
      } else if (row[i].text != "-") {
        out += csv_field(row[i].text);
      }
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string csv_field(std::string_view text) {
  std::string field(text);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_number = error == std::errc{} && end == text.data() + text.size();
  if (field.size() > 1 && !is_number && std::string_view("=+-@\t\r").find(field.front()) != std::string_view::npos) {
    field.insert(field.begin(), '\'');
  }
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

std::string to_markdown(const Page& page) {
  std::string out = fmt::format("# {}\n\n", escaped(page.title));
  for (const std::string& line : page.subtitle) out += escaped(line) + "\n\n";
  const MarkdownWriter whole{out, "##", std::numeric_limits<std::size_t>::max()};
  for (const Table& t : page.tables) whole(t);
  for (const List& list : page.lists) whole(list);
  for (const Section& s : page.sections) {
    if (s.id == "appendix") continue;
    std::string blocks;
    for (const Block& block : s.blocks) std::visit(MarkdownWriter{blocks}, block);
    if (!blocks.empty()) out += fmt::format("## {}\n\n{}", escaped(s.title), blocks);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::vector<std::pair<std::string, std::string>> to_csv(const Page& page) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const Section& s : page.sections) {
    for (const Block& block : s.blocks) {
      if (const auto* p = std::get_if<Plot>(&block)) files.emplace_back(p->id + ".csv", csv_of(p->data));
    }
  }
  return files;
}

}  // namespace kvsim::page
