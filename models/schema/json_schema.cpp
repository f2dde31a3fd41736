#include "models/schema/json_schema.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "models/schema/member_value.h"
#include "models/schema/spelling.h"

namespace kvsim::schema {
namespace {

using Json = nlohmann::ordered_json;

/// A regular expression for a number followed by one of the dimension's units.
std::string quantity_pattern(const ScalarSpec& spec) {
  std::string units;
  for (const std::string_view unit : dimension_units(spec.dimension())) {
    units += units.empty() ? "" : "|";
    for (const char c : unit) units += c == ' ' ? std::string(" +") : std::string(1, c);
  }
  const bool never_negative = spec.lower() && spec.lower()->value >= 0;
  return fmt::format("^[ \\t]*{}((0|[1-9][0-9]*)(\\.[0-9]+)?|\\.[0-9]+)([eE][+-]?[0-9]+)?[ \\t]*({})[ \\t]*$",
                     never_negative ? "\\+?" : "[+-]?", units);
}

Json bare_number(const ScalarSpec& spec) {
  Json out{{"type", spec.dimension() == Dimension::integer ? "integer" : "number"}};
  if (spec.lower()) out[spec.lower()->exclusive ? "exclusiveMinimum" : "minimum"] = spec.lower()->value;
  if (spec.upper()) out[spec.upper()->exclusive ? "exclusiveMaximum" : "maximum"] = spec.upper()->value;
  return out;
}

Json words_of(const ScalarSpec& spec) {
  Json names = Json::array();
  for (const Word& word : spec.words()) names.push_back(word.name);
  return {{"enum", std::move(names)}};
}

Json scalar_schema(const ScalarSpec& spec) {
  switch (spec.kind()) {
    case ScalarSpec::Kind::boolean:
      return {{"type", "boolean"}};
    case ScalarSpec::Kind::choice:
    case ScalarSpec::Kind::name:
      return words_of(spec);
    case ScalarSpec::Kind::text: {
      Json out{{"type", {"string", "number", "boolean"}}};  // text needs no quotes: `name: 70` is the text 70
      if (spec.must_not_be_empty()) out["minLength"] = 1;
      return out;
    }
    case ScalarSpec::Kind::quantity:
      break;
  }
  const bool bare = dimension_units(spec.dimension()).empty();
  Json out = bare ? bare_number(spec) : Json{{"type", "string"}, {"pattern", quantity_pattern(spec)}};
  if (spec.words().empty()) return out;
  return {{"anyOf", Json::array({std::move(out), words_of(spec)})}};
}

Json sourced_schema(const ScalarSpec& spec) {
  Json without_reference = Json::array();
  const ScalarSpec kinds = detail::source_kind_spec();
  for (const Word& word : kinds.words()) {
    if (!detail::needs_reference(static_cast<SourceKind>(word.value))) without_reference.push_back(word.name);
  }
  Json map{{"type", "object"},
           {"properties",
            {{"value", scalar_schema(spec)},
             {"source", scalar_schema(kinds)},
             {"reference", scalar_schema(text().non_empty())}}},
           {"required", {"value", "source"}},
           {"additionalProperties", false},
           {"anyOf", Json::array({Json{{"required", {"reference"}}},
                                  Json{{"properties", {{"source", {{"enum", std::move(without_reference)}}}}}}})}};
  return {{"anyOf", Json::array({scalar_schema(spec), std::move(map)})}};
}

class Generator {
 public:
  Json document(const ObjectInfo& info) {
    Json out{{"$schema", "https://json-schema.org/draft/2020-12/schema"}, {"title", info.name}};
    out.update(object_schema(info, false));
    if (!definitions_.empty()) out["$defs"] = std::move(definitions_);
    return out;
  }

 private:
  /// `partial`: changes to a catalogue entry, of which nothing is required.
  Json object_schema(const ObjectInfo& info, bool partial) {
    Json map{{"type", "object"}, {"description", info.description}, {"properties", Json::object()}};
    Json required = Json::array();
    for (const FieldInfo& field : info.fields) {
      map["properties"][field.name] = field_schema(field, partial);
      if (field.required) required.push_back(field.name);
    }
    map["additionalProperties"] = false;
    if (!required.empty() && !partial) map["required"] = std::move(required);
    Json groups = Json::array();
    for (const KeyGroup& group : info.groups) groups.push_back(group_schema(group, partial));
    if (!groups.empty()) map["allOf"] = std::move(groups);
    if (info.shorthand.empty()) return map;
    Json description = map["description"];
    return {{"description", std::move(description)},
            {"anyOf", Json::array({std::move(map), field_schema(*info.find(info.shorthand), partial)})}};
  }

  Json group_schema(const KeyGroup& group, bool partial) {
    if (group.one_is_required && !partial) {
      Json one_of = Json::array();
      for (const std::string& key : group.keys) one_of.push_back({{"required", {key}}});
      return {{"oneOf", std::move(one_of)}};
    }
    Json pairs = Json::array();
    for (std::size_t i = 0; i < group.keys.size(); ++i) {
      for (std::size_t j = i + 1; j < group.keys.size(); ++j) {
        pairs.push_back({{"required", {group.keys[i], group.keys[j]}}});
      }
    }
    return {{"not", {{"anyOf", std::move(pairs)}}}};
  }

  Json field_schema(const FieldInfo& field, bool partial) {
    Json out = value_schema(field, partial);
    if (field.list) {
      out = Json{{"type", "array"}, {"items", std::move(out)}};
      if (field.size.at_least > 0) out["minItems"] = field.size.at_least;
      if (field.size.at_most != ListSize{}.at_most) out["maxItems"] = field.size.at_most;
    }
    std::string description = field.description;
    const bool has_units = field.form != Form::object && !field.scalar.documented_range().empty();
    if (has_units) description += " (" + field.scalar.documented_range() + ")";
    out["description"] = description;
    if (!field.default_text.empty()) out["x-default"] = field.default_text;
    return out;
  }

  Json value_schema(const FieldInfo& field, bool partial) {
    switch (field.form) {
      case Form::scalar:
        return scalar_schema(field.scalar);
      case Form::sourced:
        return sourced_schema(field.scalar);
      case Form::object:
        return define(*field.object, partial && !field.list);
      case Form::reference:
        break;
    }
    Json changes = object_schema(*field.object, true);
    changes["properties"]["base"] = {{"type", "string"}, {"description", "the entry to change"}};
    changes["required"] = {"base"};
    return {
        {"anyOf",
         Json::array({Json{{"type", "string"}, {"description", "name of " + with_article(field.catalogue)}},
                      define_as(field.object->name + "-changes", std::move(changes)), define(*field.object, false)})}};
  }

  Json define(const ObjectInfo& info, bool partial) {
    return define_as(partial ? info.name + "-part" : info.name, object_schema(info, partial));
  }

  /// A reference to the definition, under another name where the name is taken by something else.
  Json define_as(const std::string& name, Json schema) {
    std::string key = name;
    for (char& c : key) c = c == ' ' || c == '/' ? '-' : c;
    const std::string stem = key;
    for (int i = 2; definitions_.contains(key) && definitions_[key] != schema; ++i) key = fmt::format("{}-{}", stem, i);
    definitions_[key] = std::move(schema);
    return {{"$ref", "#/$defs/" + key}};
  }

  Json definitions_ = Json::object();
};

}  // namespace

nlohmann::ordered_json make_json_schema(const ObjectInfo& info) {
  return Generator().document(info);
}

}  // namespace kvsim::schema
