// Documents against their JSON Schema, as far as kvsim's schemas of results go: types, required members, items.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace kvsim::testing {

/// What a document was found to be: where it is not as its schema says, and which numbers of the schema it has.
struct Conformance {
  std::vector<std::string> violations;
  std::set<std::string> numbers;  ///< paths, lists as "[]", names as "*"
};

class SchemaWalk {
 public:
  using Json = nlohmann::ordered_json;

  /// `root`: with the $defs.
  explicit SchemaWalk(const Json& root) : root_(root) {}

  /// `path` leads the messages; `pattern` is where in the schema.
  void compare(const Json& schema, const Json& value, const std::string& path, const std::string& pattern = {}) {
    if (schema.contains("$ref")) {
      return compare(root_.at(Json::json_pointer(schema["$ref"].get<std::string>().substr(1))), value, path, pattern);
    }
    if (schema.contains("type")) {
      const Json types = schema["type"].is_array() ? schema["type"] : Json::array({schema["type"]});
      const char* type = type_of(value);
      if (std::find(types.begin(), types.end(), type) == types.end()) found.violations.push_back(path + " is " + type);
    }
    if (schema.contains("unit")) found.numbers.insert(pattern);
    if (value.is_array() && schema.contains("items")) {
      for (const Json& item : value) compare(schema["items"], item, path + "[]", pattern + "[]");
    }
    if (!value.is_object() || !(schema.contains("properties") || schema.contains("additionalProperties"))) return;
    if (schema.contains("required")) {
      for (const Json& key : schema["required"]) {
        if (!value.contains(key.get<std::string>()))
          found.violations.push_back(path + " lacks " + key.get<std::string>());
      }
    }
    for (const auto& [key, member] : value.items()) {
      const bool known = schema.contains("properties") && schema["properties"].contains(key);
      if (!known && !(schema.contains("additionalProperties") && schema["additionalProperties"].is_object())) {
        found.violations.push_back(path + "." + key + " is in no schema");
        continue;
      }
      compare(known ? schema["properties"][key] : schema["additionalProperties"], member, path + "." + key,
              (pattern.empty() ? "" : pattern + ".") + (known ? key : "*"));
    }
  }

  /// Paths of all numbers that a schema has.
  static std::set<std::string> numbers_of(const Json& schema, const std::string& pattern = {}) {
    std::set<std::string> all;
    if (schema.contains("unit")) all.insert(pattern);
    const auto add = [&](const Json& inner, const std::string& at) { all.merge(numbers_of(inner, at)); };
    const std::string front = pattern.empty() ? "" : pattern + ".";
    if (schema.contains("items")) add(schema["items"], pattern + "[]");
    if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object())
      add(schema["additionalProperties"], front + "*");
    if (schema.contains("properties")) {
      for (const auto& [key, inner] : schema["properties"].items()) add(inner, front + key);
    }
    return all;
  }

  Conformance found;

 private:
  static const char* type_of(const Json& value) {
    if (value.is_null()) return "null";
    if (value.is_number()) return "number";
    if (value.is_string()) return "string";
    if (value.is_boolean()) return "boolean";
    return value.is_array() ? "array" : "object";
  }

  const Json& root_;
};

}  // namespace kvsim::testing
