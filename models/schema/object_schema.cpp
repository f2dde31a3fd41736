#include "models/schema/object_schema.h"

#include <fmt/format.h>

#include "models/schema/yaml_writer.h"

namespace kvsim::schema::detail {

FieldInfo make_field(const char* name, const char* description, Presence presence, Form form, bool list) {
  FieldInfo field;
  field.name = name;
  field.description = description;
  field.required = presence == Presence::required;
  field.form = form;
  field.list = list;
  return field;
}

std::string default_text(const std::optional<ConfigNode>& written) {
  if (!written || written->is_map()) return {};
  const bool empty_text = written->is_scalar() && written->text().empty();
  return empty_text ? std::string() : to_flow_yaml(*written);
}

ConfigNode resolve_reference(const FieldInfo& field, const ConfigNode& node, const ParseContext& context) {
  if (field.form != Form::reference) return node;
  if (context.references != nullptr) return context.references->resolve(field.catalogue, node, context.path);
  if (!node.is_map() || node.find("base") != nullptr) {
    throw InputError(node.origin(), context.path,
                     fmt::format("no catalogue to look the {} up in, expected the whole entry", field.catalogue));
  }
  return node;
}

}  // namespace kvsim::schema::detail
