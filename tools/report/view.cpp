#include "tools/report/view.h"

#include <limits>

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

}  // namespace kvsim::report
