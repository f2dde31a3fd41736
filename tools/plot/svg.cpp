#include "tools/plot/svg.h"

#include <fmt/format.h>

#include "tools/text/visible.h"

namespace kvsim::plot {

std::string xml_escaped(std::string_view text) {
  std::string escaped;
  for (const char c : text::visible(text)) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        escaped += c;
    }
  }
  return escaped;
}

std::string coordinate(double pixels) {
  std::string text = fmt::format("{:.2f}", pixels);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text == "-0" ? "0" : text;
}

namespace {

std::string view_box(double width, double height) {
  return fmt::format("0 0 {} {}", coordinate(width), coordinate(height));
}

}  // namespace

Svg::Svg(double width, double height, std::string_view title, std::string_view description) {
  text_ = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
  open("svg", {{"xmlns", "http://www.w3.org/2000/svg"},
               {"viewBox", view_box(width, height)},
               {"width", coordinate(width)},
               {"height", coordinate(height)},
               {"role", "img"},
               {"aria-labelledby", "title description"},
               {"font-family", "sans-serif"},
               {"font-size", "12"}});
  text("title", {{"id", "title"}}, title);
  text("desc", {{"id", "description"}}, description);
}

Svg Svg::inlined(std::string_view id, double width, double height, std::string_view title,
                 std::string_view description) {
  Svg svg;
  const std::string title_id = fmt::format("{}-title", id), description_id = fmt::format("{}-description", id);
  svg.open("svg", {{"viewBox", view_box(width, height)},
                   {"role", "img"},
                   {"aria-labelledby", fmt::format("{} {}", title_id, description_id)}});
  svg.text("title", {{"id", title_id}}, title);
  svg.text("desc", {{"id", description_id}}, description);
  return svg;
}

void Svg::begin(std::string_view name, Attributes attributes) {
  text_ += fmt::format("<{}", name);
  for (const auto& [key, value] : attributes) text_ += fmt::format(" {}=\"{}\"", key, xml_escaped(value));
}

void Svg::element(std::string_view name, Attributes attributes) {
  begin(name, attributes);
  text_ += "/>\n";
}

void Svg::text(std::string_view name, Attributes attributes, std::string_view text) {
  begin(name, attributes);
  text_ += fmt::format(">{}</{}>\n", xml_escaped(text), name);
}

void Svg::open(std::string_view name, Attributes attributes) {
  begin(name, attributes);
  text_ += ">\n";
}

void Svg::close(std::string_view name) {
  text_ += fmt::format("</{}>\n", name);
}

}  // namespace kvsim::plot
