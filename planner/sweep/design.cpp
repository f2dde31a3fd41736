#include "planner/sweep/design.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "models/schema/decimal.h"
#include "models/schema/error.h"
#include "models/workload/line_reader.h"
#include "sim/engine/random.h"

namespace kvsim::planner::sweep {
namespace {

constexpr std::array<std::pair<DesignKind, std::string_view>, 3> kNames{
    {{DesignKind::grid, "grid"}, {DesignKind::latin_hypercube, "lhs"}, {DesignKind::list, "list"}}};

}  // namespace

std::string_view design_name(DesignKind kind) {
  return std::find_if(kNames.begin(), kNames.end(), [&](const auto& n) { return n.first == kind; })->second;
}

DesignKind design_kind(std::string_view name) {
  const auto* const found = std::find_if(kNames.begin(), kNames.end(), [&](const auto& n) { return n.second == name; });
  if (found == kNames.end()) throw std::invalid_argument(fmt::format("unknown design \"{}\"", name));
  return found->first;
}

Design::Design(DesignKind kind, std::vector<Axis> axes, std::vector<std::vector<std::uint32_t>> chosen)
    : kind_(kind), axes_(std::move(axes)), chosen_(std::move(chosen)) {
  for (const Axis& axis : axes_) {
    if (axis.values.empty()) throw std::invalid_argument(fmt::format("{} has no values", axis.path));
  }
  for (const auto& point : chosen_) {
    bool fits = point.size() == axes_.size();
    for (std::size_t a = 0; fits && a < point.size(); ++a) fits = point[a] < axes_[a].values.size();
    if (!fits) throw std::invalid_argument("a point names values that its axes do not have");
  }
}

Design Design::grid(const std::vector<AxisSpec>& specs) {
  std::vector<Axis> axes;
  std::size_t points = 1;
  for (const AxisSpec& spec : specs) {
    if (spec.interval) {
      throw schema::InputError(schema::Origin("--vary " + spec.axis.path),
                               fmt::format("a range without a step has no values: write {}:{}:STEP, or sample it with "
                                           "--sample lhs:N",
                                           spec.interval->low, spec.interval->high));
    }
    points *= spec.axis.values.size();
    if (points > kMostPoints) {
      throw schema::InputError(
          fmt::format("--vary: the grid has more than {} points, expected fewer values, or "
                      "--sample lhs:N",
                      kMostPoints));
    }
    axes.push_back(spec.axis);
  }
  return {DesignKind::grid, std::move(axes), {}};
}

std::size_t Design::size() const {
  if (kind_ != DesignKind::grid) return chosen_.size();
  std::size_t points = 1;
  for (const Axis& axis : axes_) points *= axis.values.size();
  return points;
}

std::vector<std::uint32_t> Design::at(std::size_t point) const {
  if (kind_ != DesignKind::grid) return chosen_.at(point);
  std::vector<std::uint32_t> numbers(axes_.size());
  for (std::size_t a = axes_.size(); a-- > 0;) {
    numbers[a] = static_cast<std::uint32_t>(point % axes_[a].values.size());
    point /= axes_[a].values.size();
  }
  return numbers;
}

const std::string& Design::value(std::size_t point, std::size_t axis) const {
  return axes_.at(axis).values.at(at(point)[axis]);
}

std::vector<schema::Assignment> Design::changes(std::size_t point) const {
  const std::vector<std::uint32_t> numbers = at(point);
  std::vector<schema::Assignment> result;
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    const schema::Origin origin =
        lines_.empty() ? schema::Origin("--vary " + axes_[a].path) : schema::Origin(file_).at(lines_[point], 1);
    result.push_back({axes_[a].path, axes_[a].values[numbers[a]], origin});
  }
  return result;
}

std::string Design::describe(std::size_t point) const {
  std::string text;
  const std::vector<std::uint32_t> numbers = at(point);
  for (std::size_t a = 0; a < axes_.size(); ++a) {
    text += fmt::format("{}{}={}", a == 0 ? "" : ", ", axes_[a].path, axes_[a].values[numbers[a]]);
  }
  return text;
}

// Latin hypercube sampling. Source: M. D. McKay, R. J. Beckman and W. J. Conover, "A comparison of three methods for
// selecting values of input variables in the analysis of output from a computer code", Technometrics 21(2), 1979.

namespace {

using schema::Dimension;

/// The stratum of each point, a random permutation.
std::vector<std::uint32_t> permutation(std::size_t n, engine::RandomStream& stream) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

/// An interval in the unit of its lower end, or, where it holds whole things, in the dimension's own.
struct Scale {
  double low = 0, high = 0;
  bool whole = false;
  std::string unit;  ///< with the blank before it
};

Scale scale_of(const Interval& interval) {
  Scale s;
  s.whole = schema::is_integral(interval.dimension);
  const double low = schema::parse_real(interval.dimension, interval.low);
  const double high = schema::parse_real(interval.dimension, interval.high);
  const auto split = schema::split_number(interval.low);
  if (s.whole) {
    s.low = low;
    s.high = high;
    const std::vector<std::string_view> units = schema::dimension_units(interval.dimension);
    if (!units.empty()) s.unit = fmt::format(" {}", units.front());
    return s;
  }
  s.unit = split->rest.empty() ? "" : fmt::format(" {}", split->rest);
  const double one = split->rest.empty() ? 1.0 : schema::parse_real(interval.dimension, "1" + s.unit);
  s.low = low / one;
  s.high = high / one;
  return s;
}

/// A value within stratum `k` of `n` at the share `u` of it, with no more digits than tell strata apart.
std::string in_stratum(const Scale& s, std::size_t k, std::size_t n, double u) {
  const auto strata = static_cast<double>(n);
  const double share = (static_cast<double>(k) + u) / strata;
  if (s.whole) {
    const double value = std::min(s.low + std::floor(share * (s.high - s.low + 1)), s.high);
    return fmt::format("{:.0f}{}", value, s.unit);
  }
  const double width = (s.high - s.low) / strata;
  const double value = s.low + share * (s.high - s.low);
  const double begin = s.low + static_cast<double>(k) * width, end = s.low + static_cast<double>(k + 1) * width;
  const double margin = width * 1e-3;  // a value on the border of two strata would be in both, or in neither
  constexpr int most = 15;
  for (int digits = 3;; ++digits) {
    const double unit = std::pow(10.0, std::floor(std::log10(width)) - digits + 1);
    const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(unit) + 0.5)));
    const std::string text = fmt::format("{:.{}f}", std::round(value / unit) * unit, decimals);
    const double rounded = schema::to_double(schema::split_number(text)->number, {}).value_or(value);
    if (rounded > begin + margin && rounded < end - margin) return text + s.unit;
    if (digits == most) return fmt::format("{}{}", value, s.unit);
  }
}

struct SampledAxis {
  Axis axis;
  std::vector<std::uint32_t> chosen;  ///< number of the value of each point
};

SampledAxis sample(const AxisSpec& spec, std::size_t points, std::uint64_t seed) {
  engine::RandomStream stream(seed, "sweep " + spec.axis.path);
  const std::vector<std::uint32_t> strata = permutation(points, stream);
  SampledAxis result{spec.axis, std::vector<std::uint32_t>(points)};
  if (!spec.interval) {
    const std::size_t values = spec.axis.values.size();
    // The value whose share of [0, 1) the middle of the stratum lies in.
    for (std::size_t i = 0; i < points; ++i) {
      result.chosen[i] = static_cast<std::uint32_t>((2 * std::size_t{strata[i]} + 1) * values / (2 * points));
    }
    return result;
  }
  const Scale scale = scale_of(*spec.interval);
  std::vector<std::string> sampled(points);
  for (std::size_t i = 0; i < points; ++i) sampled[strata[i]] = in_stratum(scale, strata[i], points, stream.uniform());
  // Whole numbers may fall together where there are fewer of them than points.
  std::vector<std::uint32_t> number(points);
  for (std::size_t k = 0; k < points; ++k) {
    if (k == 0 || sampled[k] != sampled[k - 1]) result.axis.values.push_back(sampled[k]);
    number[k] = static_cast<std::uint32_t>(result.axis.values.size() - 1);
  }
  for (std::size_t i = 0; i < points; ++i) result.chosen[i] = number[strata[i]];
  return result;
}

}  // namespace

Design Design::latin_hypercube(const std::vector<AxisSpec>& specs, std::size_t points, std::uint64_t seed) {
  if (points == 0 || points > kMostPoints) {
    throw schema::InputError(fmt::format("--sample: expected 1 to {} points, found {}", kMostPoints, points));
  }
  std::vector<Axis> axes;
  std::vector<std::vector<std::uint32_t>> chosen(points);
  for (const AxisSpec& spec : specs) {
    SampledAxis sampled = sample(spec, points, seed);
    axes.push_back(std::move(sampled.axis));
    for (std::size_t i = 0; i < points; ++i) chosen[i].push_back(sampled.chosen[i]);
  }
  return {DesignKind::latin_hypercube, std::move(axes), std::move(chosen)};
}

// Points listed in a CSV file.

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
