// A report for a pull request, the data of its plots as CSV, and its answers for a terminal.
#include <cmath>

#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/text/visible.h"

namespace kvsim::report {
namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text::visible(text)) {
    if (std::string_view("\\`*_[]<>|#").find(c) != std::string_view::npos) out += '\\';
    out += c == '\n' || c == '\r' ? ' ' : c;
  }
  return out;
}

void table_markdown(std::string& out, const DataTable& t, std::size_t most) {
  out += "|";
  for (const Column& c : t.columns) out += fmt::format(" {} |", escaped(c.header));
  out += "\n|";
  for (const Column& c : t.columns) out += c.numeric ? " ---: |" : " --- |";
  out += "\n";
  for (std::size_t r = 0; r < std::min(most, t.rows.size()); ++r) {
    out += "|";
    for (const Cell& c : t.rows[r]) {
      out += c.strong && !c.text.empty() ? fmt::format(" **{}** |", escaped(c.text))
                                         : fmt::format(" {} |", escaped(c.text));
    }
    out += "\n";
  }
  if (t.rows.size() > most)
    out += fmt::format("\n{} of {} rows; all with --format csv or html.\n", most, t.rows.size());
  out += "\n";
}

/// What a pull request has no room for: definitions, scenarios, long series.
struct MarkdownWriter {
  static constexpr std::size_t kMostRows = 60, kMostRowsOfPlots = 24, kMostColumns = 16;
  std::string& out;

  void operator()(const Prose& p) const { out += escaped(p.text) + "\n\n"; }
  void operator()(const Facts& facts) const {
    for (const Fact& f : facts.facts) {
      out += fmt::format("- **{}** {}{}{}\n", escaped(f.question),
                         f.answer.empty() ? "not asked yet." : escaped(f.answer) + ".", f.detail.empty() ? "" : " ",
                         escaped(f.detail + (f.scenario.empty() ? "" : " (" + f.scenario + ")")));
    }
    out += "\n";
  }
  void operator()(const DataTable& t) const {
    if (!t.caption.empty()) out += fmt::format("### {}\n\n", escaped(t.caption));
    table_markdown(out, t, kMostRows);
  }
  void operator()(const Plot& p) const {
    if (p.data.rows.size() > kMostRowsOfPlots || p.data.columns.size() > kMostColumns) return;
    out += fmt::format("### {}\n\n{}\n\n", escaped(p.title), escaped(p.caption));
    table_markdown(out, p.data, kMostRowsOfPlots);
  }
  void operator()(const Bullets& b) const {
    out += fmt::format("### {}\n\n", escaped(b.title));
    for (const std::string& item : b.items) out += fmt::format("- {}\n", escaped(item));
    out += "\n";
  }
  void operator()(const Verbatim&) const {}
};

/// RFC 4180. What a spreadsheet would take for a formula is kept from being one.
std::string csv_field(const std::string& text) {
  std::string field = text;
  if (!field.empty() && std::string_view("=+-@\t\r").find(field.front()) != std::string_view::npos &&
      field.size() > 1) {
    field.insert(field.begin(), '\'');
  }
  if (field.find_first_of(",\"\n\r") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

std::string csv_of(const DataTable& t) {
  std::string out;
  for (std::size_t i = 0; i < t.columns.size(); ++i) out += (i ? "," : "") + csv_field(t.columns[i].header);
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

std::string to_markdown(const Report& report) {
  std::string out = fmt::format("# {}\n\n", escaped(report.title));
  for (const std::string& line : report.subtitle) out += escaped(line) + "\n\n";
  for (const Section& s : report.sections) {
    if (s.id == "appendix") continue;
    std::string blocks;
    for (const Block& block : s.blocks) std::visit(MarkdownWriter{blocks}, block);
    if (!blocks.empty()) out += fmt::format("## {}\n\n{}", escaped(s.title), blocks);
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

std::vector<std::pair<std::string, std::string>> to_csv(const Report& report) {
  std::vector<std::pair<std::string, std::string>> files;
  for (const Section& s : report.sections) {
    for (const Block& block : s.blocks) {
      if (const auto* p = std::get_if<Plot>(&block)) files.emplace_back(p->id + ".csv", csv_of(p->data));
    }
  }
  return files;
}

results::Page summary(const Report& report) {
  results::Page page;
  page.title = report.title;
  for (const Section& s : report.sections) {
    for (const Block& block : s.blocks) {
      const auto* facts = std::get_if<Facts>(&block);
      if (!facts) continue;
      for (const Fact& f : facts->facts) {
        std::vector<std::string> lines{f.answer.empty() ? "not asked yet" : f.answer};
        for (std::size_t begin = 0; begin < f.detail.size();) {
          const std::size_t end = std::min(f.detail.find('\n', begin), f.detail.size());
          lines.push_back(f.detail.substr(begin, end - begin));
          begin = end + 1;
        }
        page.lists.push_back({f.question, std::move(lines)});
      }
    }
  }
  return page;
}

}  // namespace kvsim::report
