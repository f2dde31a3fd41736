#include "planner/sweep/axis.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>

#include "models/schema/decimal.h"
#include "models/schema/error.h"
#include "planner/sweep/range.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::sweep {
namespace {

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

/// What a bare number at this key is.
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
    throw std::invalid_argument(error.what());
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
    for (const std::string& assignment : set) {
      if (assignment.substr(0, assignment.find('=')) == axis.path) {
        throw InputError(origin, "is also set for all points (--seed, --replications), expected one of the two");
      }
    }
  }
}

}  // namespace kvsim::planner::sweep
