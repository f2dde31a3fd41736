// Points listed in a CSV file.
#include <map>
#include <utility>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/workload/line_reader.h"
#include "planner/sweep/design.h"

namespace kvsim::planner::sweep {
namespace {

using models::LineReader;

struct Field {
  std::string text;
  std::size_t byte = 0;  ///< in the line
};

/// The fields of a line, without blanks at either end; in double quotes commas and "" for a quote are text.
std::vector<Field> fields_of(const LineReader& lines) {
  const std::string_view line = lines.line();
  std::vector<Field> fields;
  std::size_t at = 0;
  while (true) {
    Field field{"", at};
    while (at < line.size() && line[at] == ' ') ++at;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at >= line.size()) lines.fail(field.byte, "a quote that nothing closes");
        if (line[at] != '"') {
          field.text += line[at];
        } else if (at + 1 < line.size() && line[at + 1] == '"') {
          field.text += line[at++];
        } else {
          break;
        }
      }
      at = line.find_first_not_of(' ', at + 1);
      if (at != std::string_view::npos && line[at] != ',') lines.fail(at, "expected a comma after a quoted field");
    } else {
      const std::size_t end = line.find(',', at);
      field.text = std::string(line.substr(at, end == std::string_view::npos ? end : end - at));
      field.text.erase(field.text.find_last_not_of(' ') + 1);
      at = end;
    }
    fields.push_back(std::move(field));
    if (at == std::string_view::npos || at >= line.size()) return fields;
    ++at;
  }
}

std::vector<Axis> header_of(LineReader& lines) {
  if (!lines.next()) lines.fail_file("is empty, expected a header of scenario keys and a row a point");
  std::vector<Axis> axes;
  for (const Field& field : fields_of(lines)) {
    if (field.text.empty()) lines.fail(field.byte, "a column has no name, expected a key such as decode.draft_length");
    for (const Axis& other : axes) {
      if (other.path == field.text) lines.fail(field.byte, fmt::format("column \"{}\" is there twice", field.text));
    }
    axes.push_back({field.text, {}});
  }
  return axes;
}

}  // namespace

Design Design::list(const std::string& file) {
  LineReader lines = LineReader::open(file, "a table of points");
  std::vector<Axis> axes = header_of(lines);
  std::vector<std::map<std::string, std::uint32_t>> numbers(axes.size());
  std::map<std::vector<std::uint32_t>, int> line_of;
  std::vector<std::vector<std::uint32_t>> chosen;
  std::vector<int> line_numbers;
  while (lines.next()) {
    const std::vector<Field> fields = fields_of(lines);
    if (fields.size() != axes.size()) {
      lines.fail(0, fmt::format("expected {} fields as in the header, found {}", axes.size(), fields.size()));
    }
    std::vector<std::uint32_t> point;
    for (std::size_t a = 0; a < axes.size(); ++a) {
      const std::string& text = fields[a].text;
      if (text.empty()) lines.fail(fields[a].byte, fmt::format("{} has no value", axes[a].path));
      const auto next = static_cast<std::uint32_t>(axes[a].values.size());
      const auto [known, added] = numbers[a].emplace(text, next);
      if (added) axes[a].values.push_back(text);
      point.push_back(known->second);
    }
    const auto [earlier, fresh] = line_of.emplace(point, lines.line_number());
    if (!fresh) lines.fail(0, fmt::format("the same point as in line {}", earlier->second));
    if (chosen.size() == kMostPoints) lines.fail(0, fmt::format("more than {} points", kMostPoints));
    chosen.push_back(std::move(point));
    line_numbers.push_back(lines.line_number());
  }
  if (chosen.empty()) lines.fail_file("has no points below its header");
  Design design(DesignKind::list, std::move(axes), std::move(chosen));
  design.file_ = file;
  design.lines_ = std::move(line_numbers);
  return design;
}

}  // namespace kvsim::planner::sweep
