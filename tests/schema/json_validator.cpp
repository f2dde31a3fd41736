#include "tests/schema/json_validator.h"

#include <algorithm>
#include <cmath>
#include <regex>
#include <stdexcept>
#include <string>

namespace kvsim::schema {
namespace {

using Json = nlohmann::ordered_json;

bool has_type(const std::string& type, const Json& value) {
  if (type == "integer") {
    return value.is_number_integer() || (value.is_number() && std::floor(value.get<double>()) == value.get<double>());
  }
  if (type == "number") return value.is_number();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  throw std::logic_error("unknown type " + type);
}

class Validator {
 public:
  explicit Validator(const Json& root) : root_(root) {}

  bool valid(const Json& schema, const Json& value) const {
    return std::all_of(schema.items().begin(), schema.items().end(),
                       [&](const auto& item) { return holds(item.key(), item.value(), schema, value); });
  }

 private:
  bool holds(const std::string& keyword, const Json& rule, const Json& schema, const Json& value) const {
    const auto valid_here = [&](const Json& sub) { return valid(sub, value); };
    if (keyword == "$ref") return valid(root_.at(Json::json_pointer(rule.get<std::string>().substr(1))), value);
    if (keyword == "anyOf") return std::any_of(rule.begin(), rule.end(), valid_here);
    if (keyword == "allOf") return std::all_of(rule.begin(), rule.end(), valid_here);
    if (keyword == "oneOf") return std::count_if(rule.begin(), rule.end(), valid_here) == 1;
    if (keyword == "not") return !valid(rule, value);
    if (keyword == "enum") return std::find(rule.begin(), rule.end(), value) != rule.end();
    if (keyword == "type") {
      if (rule.is_string()) return has_type(rule, value);
      return std::any_of(rule.begin(), rule.end(), [&](const Json& type) { return has_type(type, value); });
    }
    if (keyword == "minimum") return !value.is_number() || value.get<double>() >= rule.get<double>();
    if (keyword == "maximum") return !value.is_number() || value.get<double>() <= rule.get<double>();
    if (keyword == "exclusiveMinimum") return !value.is_number() || value.get<double>() > rule.get<double>();
    if (keyword == "exclusiveMaximum") return !value.is_number() || value.get<double>() < rule.get<double>();
    if (keyword == "minLength") return !value.is_string() || value.get<std::string>().size() >= rule.get<std::size_t>();
    if (keyword == "pattern") {
      return !value.is_string() || std::regex_search(value.get<std::string>(), std::regex(rule.get<std::string>()));
    }
    if (keyword == "minItems") return !value.is_array() || value.size() >= rule.get<std::size_t>();
    if (keyword == "maxItems") return !value.is_array() || value.size() <= rule.get<std::size_t>();
    if (keyword == "items") {
      return !value.is_array() ||
             std::all_of(value.begin(), value.end(), [&](const Json& item) { return valid(rule, item); });
    }
    if (keyword == "required") {
      return !value.is_object() ||
             std::all_of(rule.begin(), rule.end(), [&](const Json& key) { return value.contains(std::string(key)); });
    }
    if (keyword == "properties") {
      return !value.is_object() || std::all_of(rule.items().begin(), rule.items().end(), [&](const auto& property) {
        return !value.contains(property.key()) || valid(property.value(), value.at(property.key()));
      });
    }
    if (keyword == "additionalProperties") {
      if (rule != Json(false)) throw std::logic_error("additionalProperties other than false");
      return !value.is_object() || std::all_of(value.items().begin(), value.items().end(), [&](const auto& property) {
        return schema.at("properties").contains(property.key());
      });
    }
    if (keyword == "$schema" || keyword == "$defs" || keyword == "title" || keyword == "description") return true;
    if (keyword.starts_with("x-")) return true;
    throw std::logic_error("unknown keyword " + keyword);
  }

  const Json& root_;
};

}  // namespace

bool json_is_valid(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& value) {
  return Validator(schema).valid(schema, value);
}

}  // namespace kvsim::schema
