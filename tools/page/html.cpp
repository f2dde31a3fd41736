// Pages as HTML. Everything that comes from a result is escaped; the page's policy allows its own style and
// script, by their hashes, and nothing else: no request, no other script, whatever a name in a result says.
#include <algorithm>

#include <fmt/format.h>

#include "page_assets.h"
#include "tools/page/page.h"
#include "tools/plot/frame.h"
#include "tools/plot/svg.h"

namespace kvsim::page {
namespace {

using plot::xml_escaped;

std::string_view asset(std::string_view name) {
  for (const auto& [path, contents] : embedded::page_assets()) {
    if (path.ends_with(name)) return contents;
  }
  return {};
}

int digit_of(char hex) {
  return hex <= '9' ? hex - '0' : hex - 'a' + 10;
}

/// Hexadecimal digits as base64, as content security policies have hashes.
std::string base64(std::string_view hex) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : hex) {
    bits = (bits << 4U) | static_cast<std::uint32_t>(digit_of(c));
    count += 4;
    if (count < 6) continue;
    count -= 6;
    out += letters[(bits >> static_cast<unsigned>(count)) & 0x3FU];
  }
  if (count > 0) out += letters[(bits << static_cast<unsigned>(6 - count)) & 0x3FU];
  while (out.size() % 4 != 0) out += '=';
  return out;
}

std::string head(const Page& page) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'sha256-{}'; script-src "
      "'sha256-{}'; base-uri 'none'; form-action 'none'\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta name=\"generator\" content=\"kvsim {}\">\n<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n",
      base64(KVSIM_PAGE_CSS_SHA256), base64(KVSIM_PAGE_JS_SHA256), KVSIM_VERSION, xml_escaped(page.title),
      asset("report.css"));
}

/// Whether no word is so long that a column would have to break it.
bool keeps_words(std::string_view text) {
  constexpr std::size_t longest = 18;
  std::size_t letters = 0;
  for (const char c : text) {
    letters = c == ' ' ? 0 : letters + 1;
    if (letters > longest) return false;
  }
  return true;
}

std::string head_class(const Table& t, std::size_t column) {
  std::string classes = t.align[column] == Align::right ? "n" : "";
  if (keeps_words(t.header[column])) classes += classes.empty() ? "k" : " k";
  return classes.empty() ? "" : fmt::format(" class=\"{}\"", classes);
}

/// Words stay on a line where they are few, and get some room where they are many.
std::string width_class(std::string_view text) {
  constexpr std::size_t few = 34;
  return display_width(text) <= few ? "w" : "l";
}

void table_html(std::string& out, const Table& t) {
  out += fmt::format("<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>",
                     xml_escaped(t.title.empty() ? "Table" : t.title));
  if (!t.title.empty()) out += fmt::format("<caption>{}</caption>", xml_escaped(t.title));
  if (!t.header.empty()) {
    out += "<thead><tr>";
    for (std::size_t i = 0; i < t.header.size(); ++i) {
      out += fmt::format("<th scope=\"col\"{}>{}</th>", head_class(t, i), xml_escaped(t.header[i]));
    }
    out += "</tr></thead>\n";
  }
  out += "<tbody>\n";
  for (const std::vector<Cell>& row : t.rows) {
    bool strong = true;
    for (const Cell& c : row) strong = strong && c.strong;
    out += strong ? "<tr class=\"strong\">" : "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const Cell& c = row[i];
      const char* tag = i == 0 ? "th" : "td";
      std::string classes = t.align[i] == Align::right ? "n" : width_class(c.text);
      if (c.strong && !strong) classes += classes.empty() ? "strong" : " strong";
      out += fmt::format("<{}{}{}{}>{}</{}>", tag, i == 0 ? " scope=\"row\"" : "",
                         classes.empty() ? "" : fmt::format(" class=\"{}\"", classes),
                         c.value ? fmt::format(" data-v=\"{}\"", *c.value) : "",
                         xml_escaped(c.mark == ' ' ? c.text : c.text + c.mark), tag);
    }
    out += "</tr>\n";
  }
  out += "</tbody></table>\n</div>\n";
}

/// Swatch before a series' name: a piece of its line, its point or its colour.
std::string swatch(const Drawing& drawing, std::size_t series) {
  std::string marks = "<rect class=\"area\" width=\"26\" height=\"12\"/>";
  if (const auto* chart = std::get_if<plot::Chart>(&drawing); chart && chart->shape != plot::Shape::stacked_areas) {
    const bool line = chart->shape != plot::Shape::points;
    const bool point = chart->shape == plot::Shape::points || chart->shape == plot::Shape::marked_line;
    marks = line ? "<path class=\"line\" d=\"M0,6H26\"/>" : "";
    if (point) marks += fmt::format("<path class=\"point\" d=\"{}\"/>", plot::point_path(13, 6, series));
  }
  return fmt::format("<svg class=\"{}\" viewBox=\"0 0 26 12\" aria-hidden=\"true\">{}</svg>",
                     plot::series_class(series), marks);
}

std::string ramp(const plot::HeatMap& map) {
  const plot::HeatCell *least = nullptr, *most = nullptr;
  for (const auto& row : map.rows) {
    for (const plot::HeatCell& c : row) {
      if (!c.value) continue;
      if (!least || *c.value < *least->value) least = &c;
      if (!most || *c.value > *most->value) most = &c;
    }
  }
  if (!least) return {};
  if (map.shaded) {
    least = &map.shaded->first;
    most = &map.shaded->second;
  }
  std::string out = fmt::format("<ul class=\"legend ramp\" aria-label=\"Shades\"><li class=\"end\">{}</li>",
                                xml_escaped(least->text));
  constexpr int shades = 10;
  for (int i = 0; i < shades; ++i) {
    const int shade = map.less_is_better ? shades - 1 - i : i;
    out += fmt::format("<li class=\"shade h{}\" aria-hidden=\"true\"></li>", shade);
  }
  return out + fmt::format("<li class=\"end\">{}</li></ul>\n", xml_escaped(most->text));
}

void plot_html(std::string& out, const Plot& p) {
  out += fmt::format("<figure class=\"plot\" id=\"{}\">\n<figcaption><strong>{}</strong><span>{}</span></figcaption>\n",
                     p.id, xml_escaped(p.title), xml_escaped(p.caption));
  out += fmt::format(
      "<div class=\"canvas\" tabindex=\"0\" role=\"group\" aria-label=\"{}: the arrow keys go through "
      "its values\">\n",
      xml_escaped(p.title));
  out += std::visit([&p](const auto& drawing) { return to_svg(drawing, p.id + "-svg"); }, p.drawing);
  out += "</div>\n";
  if (const auto* map = std::get_if<plot::HeatMap>(&p.drawing)) out += ramp(*map);
  if (p.legend.size() > 1) {
    out += "<ul class=\"legend\">";
    for (std::size_t i = 0; i < p.legend.size(); ++i) {
      out += fmt::format("<li>{}{}</li>", swatch(p.drawing, i), xml_escaped(p.legend[i]));
    }
    out += "</ul>\n";
  }
  out += "<p class=\"reading\" aria-live=\"polite\"></p>\n<details><summary>Data of this plot</summary>\n";
  table_html(out, p.data);
  out += "</details>\n</figure>\n";
}

/// Not every answer's section is there: a document may say no more than the answer.
bool has_section(const Page& page, std::string_view id) {
  return std::any_of(page.sections.begin(), page.sections.end(), [id](const Section& s) { return s.id == id; });
}

struct HtmlWriter {
  std::string& out;
  const Page& page;

  void operator()(const Prose& p) const { out += fmt::format("<p>{}</p>\n", xml_escaped(p.text)); }
  /// The first point, then the others as a list.
  void details_html(const std::string& detail) const {
    if (detail.empty()) return;
    const std::size_t first = std::min(detail.find('\n'), detail.size());
    out += fmt::format("<p class=\"detail\">{}</p>", xml_escaped(detail.substr(0, first)));
    if (first == detail.size()) return;
    out += "<ul class=\"detail\">";
    for (std::size_t begin = first + 1; begin <= detail.size();) {
      const std::size_t end = std::min(detail.find('\n', begin), detail.size());
      out += fmt::format("<li>{}</li>", xml_escaped(detail.substr(begin, end - begin)));
      begin = end + 1;
    }
    out += "</ul>";
  }
  void operator()(const Facts& facts) const {
    out += "<dl class=\"facts\">\n";
    for (const Fact& f : facts.facts) {
      const bool open = f.answer.empty();
      out += fmt::format("<div{}><dt>{}</dt><dd>", open ? " class=\"open\"" : "", xml_escaped(f.question));
      const std::string answer = open ? "not asked yet" : xml_escaped(f.answer);
      out += fmt::format("<p class=\"answer\">{}</p>", answer);
      details_html(f.detail);
      if (has_section(page, f.section)) out += fmt::format("<a class=\"detail\" href=\"#{}\">More</a>", f.section);
      if (!f.scenario.empty()) out += fmt::format("<p class=\"soft of\">{}</p>", xml_escaped(f.scenario));
      out += "</dd></div>\n";
    }
    out += "</dl>\n";
  }
  void operator()(const Table& t) const { table_html(out, t); }
  void operator()(const Plot& p) const { plot_html(out, p); }
  void operator()(const List& b) const {
    if (b.items.empty()) return;
    out += fmt::format("<h3>{}</h3>\n<ul>\n", xml_escaped(b.title));
    for (const std::string& item : b.items) out += fmt::format("<li>{}</li>\n", xml_escaped(item));
    out += "</ul>\n";
  }
  void operator()(const Verbatim& v) const {
    out += fmt::format("<details><summary>{}</summary>\n<pre tabindex=\"0\">{}</pre></details>\n", xml_escaped(v.title),
                       xml_escaped(v.text));
  }
};

void section_html(std::string& out, const Page& page, const Section& s) {
  out += fmt::format("<section id=\"{}\" aria-labelledby=\"{}-heading\">\n<h2 id=\"{}-heading\">{}</h2>\n", s.id, s.id,
                     s.id, xml_escaped(s.title));
  bool in_plots = false;
  for (const Block& block : s.blocks) {
    const bool plot = std::holds_alternative<Plot>(block);
    if (plot != in_plots) out += plot ? "<div class=\"plots\">\n" : "</div>\n";
    in_plots = plot;
    std::visit(HtmlWriter{out, page}, block);
  }
  if (in_plots) out += "</div>\n";
  out += "</section>\n";
}

}  // namespace

std::string to_html(const Page& page) {
  std::string out = head(page);
  out += "<a class=\"skip\" href=\"#content\">To the content</a>\n<header>\n";
  out += fmt::format("<h1>{}</h1>\n", xml_escaped(page.title));
  for (const std::string& line : page.subtitle) out += fmt::format("<p class=\"soft\">{}</p>\n", xml_escaped(line));
  out += "</header>\n<nav aria-label=\"Contents\"><ul>\n";
  for (const Section& s : page.sections) {
    const std::string& name = s.short_title.empty() ? s.title : s.short_title;
    out += fmt::format("<li><a href=\"#{}\">{}</a></li>\n", s.id, xml_escaped(name));
  }
  out += "</ul></nav>\n<main id=\"content\">\n";
  const HtmlWriter whole{out, page};
  for (const Table& t : page.tables) whole(t);
  for (const List& list : page.lists) whole(list);
  for (const Section& s : page.sections) section_html(out, page, s);
  out += fmt::format(
      "</main>\n<footer><p>Written by kvsim {}. Simulated results, not measurements: what they rest on is listed "
      "above.</p></footer>\n<script>{}</script>\n</body>\n</html>\n",
      KVSIM_VERSION, asset("report.js"));
  return out;
}

}  // namespace kvsim::page
