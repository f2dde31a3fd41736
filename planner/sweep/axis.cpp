#include "planner/sweep/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>

#include "models/schema/decimal.h"
#include "models/schema/error.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::sweep {
namespace {

// Numeric ranges with units, in decimal arithmetic: 0.1:0.5:0.1 is 0.1, 0.2, 0.3, 0.4, 0.5.

using schema::Decimal;
using schema::Dimension;

struct Quantity {
  Decimal number;
  std::string unit;
  std::string suffix;  ///< the unit with the blank before it, as written
};

Quantity quantity(std::string_view text) {
  const auto split = schema::split_number(text);
  if (!split) throw std::invalid_argument(fmt::format("expected a number in a range, found \"{}\"", text));
  Quantity q{split->number, std::string(split->rest), std::string(split->rest)};
  const std::size_t at = text.size() - split->rest.size();
  if (!q.unit.empty() && at > 0 && text[at - 1] == ' ') q.suffix = " " + q.suffix;
  return q;
}

constexpr std::size_t kMostDigits = 17;  // of numbers that differ by a step: a sum of two still fits 64 bits

/// number = result * 10^exponent, exactly.
std::int64_t scaled(const Decimal& number, int exponent) {
  if (number.is_zero()) return 0;
  const auto zeros = static_cast<std::size_t>(number.exponent - exponent);
  if (number.digits.size() + zeros > kMostDigits) throw std::invalid_argument("the numbers have too many digits");
  const std::string digits = number.digits + std::string(zeros, '0');
  std::int64_t value = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return number.negative ? -value : value;
}

/// value * 10^exponent in full, without trailing zeros after the point.
std::string written(std::int64_t value, int exponent) {
  const std::string sign = value < 0 ? "-" : "";
  std::string digits = std::to_string(value < 0 ? -value : value);
  if (value == 0 || exponent >= 0) {
    return sign + digits + std::string(value == 0 ? 0 : static_cast<std::size_t>(exponent), '0');
  }
  const auto decimals = static_cast<std::size_t>(-exponent);
  if (digits.size() <= decimals) digits.insert(0, decimals + 1 - digits.size(), '0');
  digits.insert(digits.size() - decimals, ".");
  digits.erase(digits.find_last_not_of('0') + 1);
  if (digits.back() == '.') digits.pop_back();
  return sign + digits;
}

void check_count(double count) {
  if (count > static_cast<double>(kMostPoints)) {
    throw std::invalid_argument(fmt::format("{:.0f} values are more than {} points", count, kMostPoints));
  }
}

std::vector<std::string> arithmetic(const Decimal& low, const Decimal& high, const Decimal& step) {
  int exponent = 0;
  for (const Decimal* d : {&low, &high, &step}) {
    if (!d->is_zero()) exponent = std::min(exponent, d->exponent);
  }
  const std::int64_t from = scaled(low, exponent), to = scaled(high, exponent), by = scaled(step, exponent);
  if (by == 0) throw std::invalid_argument("the step is 0");
  if (to != from && (to > from) != (by > 0)) {
    throw std::invalid_argument(fmt::format("the range is empty: a step of {} never gets from {} to {}",
                                            written(by, exponent), written(from, exponent), written(to, exponent)));
  }
  const std::int64_t steps = (to - from) / by;
  check_count(static_cast<double>(steps) + 1);
  std::vector<std::string> values;
  for (std::int64_t k = 0; k <= steps; ++k) values.push_back(written(from + k * by, exponent));
  return values;
}

double real(const Decimal& number) {
  const auto value = schema::to_double(number, {});
  if (!value) throw std::invalid_argument("a number is too large");
  return *value;
}

std::vector<std::string> geometric(const Decimal& low, const Decimal& high, const Decimal& factor) {
  const double from = real(low), to = real(high), by = real(factor);
  if (!(from > 0 && to > 0)) throw std::invalid_argument("a range with a factor needs ends above 0");
  if (!(by > 0) || by == 1) throw std::invalid_argument("expected a factor above 0 other than 1");
  if (to != from && (to > from) != (by > 1)) {
    throw std::invalid_argument(
        fmt::format("the range is empty: a factor of {:g} never gets from {:g} to {:g}", by, from, to));
  }
  constexpr double tolerance = 1e-9;  // of steps: the end is hit although powers are rounded
  const double steps = std::floor(std::log(to / from) / std::log(by) + tolerance);
  check_count(steps + 1);
  std::vector<std::string> values;
  // Twelve digits: more than anyone writes, fewer than rounding reaches.
  for (double k = 0; k <= steps; ++k) values.push_back(fmt::format("{:.12g}", from * std::pow(by, k)));
  return values;
}

/// The quantity as a bare number of the dimension's own unit.
Decimal in_own_unit(Dimension dimension, std::string_view text) {
  try {
    const std::string number = schema::is_integral(dimension)
                                   ? std::to_string(schema::parse_integral(dimension, text))
                                   : fmt::format("{:.15g}", schema::parse_real(dimension, text));
    return schema::split_number(number)->number;
  } catch (const schema::UnitError& error) {
    throw std::invalid_argument(fmt::format("{}; write every part of the range with its unit", error.what()));
  }
}

std::string with_unit(Dimension dimension, const std::string& number) {
  const Decimal value = schema::split_number(number)->number;
  if (!schema::is_integral(dimension)) return schema::format_real(dimension, real(value));
  const auto whole = schema::to_integer(value, {});
  if (!whole) throw std::invalid_argument("a number is too large");
  return schema::format_integral(dimension, whole->value);
}

/// Dimension that the unit of this quantity measures; no value where it is a bare number or the unit unknown.
std::optional<Dimension> dimension_of(std::string_view text) {
  const auto split = schema::split_number(text);
  if (!split || split->rest.empty()) return std::nullopt;
  for (const Dimension dimension : {Dimension::bytes, Dimension::bandwidth, Dimension::time, Dimension::tokens,
                                    Dimension::compute, Dimension::rate, Dimension::price}) {
    const auto units = schema::dimension_units(dimension);
    if (std::find(units.begin(), units.end(), split->rest) != units.end()) return dimension;
  }
  return std::nullopt;
}

/// The parts of a range, without blanks at either end.
std::vector<std::string> range_parts(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    std::string_view part = text.substr(begin, end - begin);
    part.remove_prefix(std::min(part.find_first_not_of(' '), part.size()));
    part = part.substr(0, part.find_last_not_of(' ') + 1);
    parts.emplace_back(part);
    begin = end + 1;
  }
  return parts;
}

/// Whether this is a range at all: two or three parts with colons between, the first of them a number.
bool is_range(std::string_view text) {
  const std::vector<std::string> parts = range_parts(text);
  return parts.size() >= 2 && schema::split_number(parts.front()).has_value();
}

/// The values of `low:high:step` or `low:high:*factor`, written in the unit of `low`, or the smallest unit of the
/// three where they differ. Throws std::invalid_argument that says what is wrong.
std::vector<std::string> range_values(std::string_view low, std::string_view high, std::string_view step) {
  const bool by_factor = step.starts_with('*');
  const Quantity from = quantity(low), to = quantity(high);
  const Quantity by = quantity(by_factor ? step.substr(1) : step);
  if (by_factor && !by.unit.empty()) {
    throw std::invalid_argument(fmt::format("expected a factor without a unit, found \"{}\"", step));
  }
  const auto expand = by_factor ? geometric : arithmetic;
  if (from.unit == to.unit && (by_factor || by.unit == from.unit)) {
    std::vector<std::string> values = expand(from.number, to.number, by.number);
    for (std::string& value : values) value += from.suffix;
    return values;
  }
  const auto dimension = dimension_of(low.empty() || from.unit.empty() ? high : low);
  if (!dimension) throw std::invalid_argument("the parts of the range have different units");
  std::vector<std::string> values = expand(in_own_unit(*dimension, low), in_own_unit(*dimension, high),
                                           by_factor ? by.number : in_own_unit(*dimension, step));
  for (std::string& value : values) value = with_unit(*dimension, value);
  return values;
}

using schema::InputError;
using schema::Origin;

/// The items of a comma list; commas within brackets, braces and quotes are part of an item.
std::vector<std::string> items_of(std::string_view text) {
  std::vector<std::string> items(1);
  int depth = 0;
  char quote = 0;
  for (const char c : text) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == ',' && depth == 0) {
      items.emplace_back();
      continue;
    }
    items.back() += c;
  }
  for (std::string& item : items) {
    item.erase(0, std::min(item.find_first_not_of(' '), item.size()));
    item.erase(item.find_last_not_of(' ') + 1);
  }
  return items;
}

/// Equal for values that read the same: 0.1 and 0.10, 1e3 and 1000.
std::string normalised(const std::string& value) {
  const auto split = schema::split_number(value);
  if (!split) return value;
  const auto& n = split->number;
  return fmt::format("{}{}e{}{}", n.negative ? "-" : "", n.digits, n.exponent, split->rest);
}

void append_range(std::vector<std::string>& values, const std::string& item) {
  const std::vector<std::string> parts = range_parts(item);
  if (parts.size() != 3) {
    throw std::invalid_argument(
        fmt::format("expected a range such as 5:60:5 (with a step) or 1:64:*2 (with a factor), found \"{}\"", item));
  }
  for (std::string& value : range_values(parts[0], parts[1], parts[2])) values.push_back(std::move(value));
}

std::vector<std::string> values_of(const std::vector<std::string>& items) {
  std::vector<std::string> values;
  for (const std::string& item : items) {
    if (item.empty()) throw std::invalid_argument("a value is empty, expected a list such as 0.1,0.2,0.4");
    if (is_range(item)) {
      append_range(values, item);
    } else {
      values.push_back(item);
    }
  }
  std::set<std::string> known;
  for (const std::string& value : values) {
    if (!known.insert(normalised(value)).second) throw std::invalid_argument(fmt::format("{} is there twice", value));
  }
  return values;
}

/// The field of a scalar key; null where the path leads to none.
const schema::FieldInfo* field_at(std::string_view path) {
  const schema::ObjectInfo* info = &scenario::scenario_schema().info();
  const schema::FieldInfo* field = nullptr;
  while (!path.empty()) {
    const std::string_view step = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), step.size() + 1));
    const bool item = field != nullptr && field->list && step.find_first_not_of("0123456789") == std::string_view::npos;
    if (item) continue;
    field = info != nullptr ? info->find(step) : nullptr;
    if (field == nullptr) return nullptr;
    info = field->object.get();
  }
  if (field != nullptr && info != nullptr && !info->shorthand.empty()) field = info->find(info->shorthand);
  return field;
}

/// Dimension of a bare number at this key.
schema::Dimension dimension_at(std::string_view path) {
  const schema::FieldInfo* field = field_at(path);
  const bool quantity = field != nullptr && field->scalar.kind() == schema::ScalarSpec::Kind::quantity;
  return quantity ? field->scalar.dimension() : schema::Dimension::number;
}

Interval interval_of(const std::string& path, const std::vector<std::string>& parts) {
  const auto low = schema::split_number(parts[0]), high = schema::split_number(parts[1]);
  if (!high) throw std::invalid_argument(fmt::format("expected a number in a range, found \"{}\"", parts[1]));
  Interval interval{parts[0], parts[1], dimension_of(parts[0]).value_or(dimension_at(path))};
  try {
    if (!(schema::parse_real(interval.dimension, parts[0]) < schema::parse_real(interval.dimension, parts[1]))) {
      throw std::invalid_argument(fmt::format("the range is empty: {} is not below {}", parts[0], parts[1]));
    }
  } catch (const schema::UnitError& error) {
    const std::string unit(
        schema::dimension_units(interval.dimension).empty() ? "" : schema::dimension_units(interval.dimension).front());
    if (unit.empty() || high->rest == unit) throw std::invalid_argument(error.what());
    const std::string behind = unit.front() == '/' ? unit : " " + unit;
    throw std::invalid_argument(
        fmt::format("a range needs units and a step, such as {0}{2}:{1}{2}:1{2}", parts[0], parts[1], behind));
  }
  return interval;
}

}  // namespace

AxisSpec parse_axis(std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    throw InputError(Origin(fmt::format("--vary {}", assignment)),
                     "expected key.key=values such as decode.draft_length=5:60:5 or decode.keep_ratio=0.1,0.2");
  }
  AxisSpec spec;
  spec.axis.path = std::string(assignment.substr(0, equals));
  const Origin origin("--vary " + spec.axis.path);
  const std::string_view text = assignment.substr(equals + 1);
  if (text.find_first_not_of(' ') == std::string_view::npos) {
    throw InputError(origin, "there is no value after \"=\"");
  }
  try {
    const std::vector<std::string> items = items_of(text);
    if (items.size() == 1 && is_range(items.front()) && range_parts(items.front()).size() == 2) {
      spec.interval = interval_of(spec.axis.path, range_parts(items.front()));
    } else {
      spec.axis.values = values_of(items);
    }
  } catch (const std::invalid_argument& error) {
    throw InputError(origin, error.what());
  }
  return spec;
}

void check_paths(const std::vector<Axis>& axes, const std::vector<std::string>& set) {
  std::set<std::string> known;
  for (const Axis& axis : axes) {
    const Origin origin("--vary " + axis.path);
    if (!known.insert(axis.path).second) throw InputError(origin, "is there twice");
    const auto part = known.upper_bound(axis.path + '.');
    if (part != known.end() && part->starts_with(axis.path + '.')) {
      throw InputError(origin, fmt::format("replaces what --vary {} changes: give it before that", *part));
    }
    for (const std::string& assignment : set) {
      if (assignment.substr(0, assignment.find('=')) == axis.path) {
        throw InputError(origin, "is also set for all points (--seed, --replications), expected one of the two");
      }
    }
  }
}

}  // namespace kvsim::planner::sweep
