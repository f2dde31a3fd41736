// Values of a document by their path.
#include <charconv>
#include <limits>

#include "tools/report/documents.h"

namespace kvsim::report {
namespace {

const Json& nothing() {
  static const Json empty = Json::object();
  return empty;
}

double value_of(const Json& json) {
  return json.is_number() ? json.get<double>() : std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

const Json& at(const Json& document, Path path) {
  const Json* here = &document;
  for (const std::string_view key : path) {
    if (!here->is_object()) return nothing();
    const auto it = here->find(std::string(key));
    if (it == here->end()) return nothing();
    here = &*it;
  }
  return *here;
}

bool has(const Json& document, Path path) {
  const Json& found = at(document, path);
  return &found != &nothing() && !found.is_null();
}

std::optional<double> number(const Json& document, Path path) {
  const Json& found = at(document, path);
  if (!found.is_number()) return std::nullopt;
  return found.get<double>();
}

double number_or_nan(const Json& document, Path path) {
  return value_of(at(document, path));
}

std::string text(const Json& document, Path path) {
  const Json& found = at(document, path);
  return found.is_string() ? found.get<std::string>() : std::string();
}

bool truth(const Json& document, Path path) {
  const Json& found = at(document, path);
  return found.is_boolean() && found.get<bool>();
}

std::vector<double> numbers(const Json& document, Path path) {
  std::vector<double> list;
  const Json& found = at(document, path);
  if (!found.is_array()) return list;
  for (const Json& element : found) list.push_back(value_of(element));
  return list;
}

std::vector<std::string> texts(const Json& document, Path path) {
  std::vector<std::string> list;
  const Json& found = at(document, path);
  if (!found.is_array()) return list;
  for (const Json& element : found) {
    if (element.is_string()) list.push_back(element.get<std::string>());
  }
  return list;
}

AxisValues axis_values(const Json& axis) {
  AxisValues out;
  const Json& values = at(axis, {"values"});
  if (!values.is_array()) return {};
  for (const Json& value : values) {
    double number = 0;
    std::string unit;
    if (value.is_number()) {
      number = value.get<double>();
    } else if (value.is_string()) {
      const auto& said = value.get_ref<const std::string&>();
      const auto [rest, error] = std::from_chars(said.data(), said.data() + said.size(), number);
      if (error != std::errc{}) return {};
      unit.assign(rest, said.data() + said.size());
    } else {
      return {};
    }
    if (!out.values.empty() && unit != out.unit) return {};
    out.unit = unit;
    out.values.push_back(number);
  }
  if (out.unit.starts_with(' ')) out.unit.erase(0, 1);
  return out;
}

double figure_at(const Json& result, std::string_view path) {
  const Json* here = &result;
  while (true) {
    const std::size_t dot = path.find('.');
    here = &at(*here, {path.substr(0, dot)});
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return value_of(*here);
}

}  // namespace kvsim::report
