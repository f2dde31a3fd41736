#include "models/schema/member_value.h"

#include <stdexcept>

#include <fmt/format.h>

#include "models/schema/object_info.h"

namespace kvsim::schema::detail {
namespace {

ObjectInfo sourced_table(const ScalarSpec& spec) {
  ObjectInfo info;
  info.name = "a figure with its source";
  const auto field = [&](const char* name, const ScalarSpec& scalar, bool required) {
    FieldInfo added;
    added.name = name;
    added.scalar = scalar;
    added.required = required;
    info.fields.push_back(std::move(added));
  };
  field("value", spec, true);
  field("source", source_kind_spec(), true);
  field("reference", text().non_empty(), false);
  return info;
}

}  // namespace

void require_compatible(const ScalarSpec& spec, MemberKind member, std::string_view field) {
  using Kind = ScalarSpec::Kind;
  const Kind kind = spec.kind();
  const bool whole = kind == Kind::quantity && is_integral(spec.dimension());
  const bool fits = (member == MemberKind::boolean && kind == Kind::boolean) ||
                    (member == MemberKind::whole && whole) || (member == MemberKind::real && kind == Kind::quantity) ||
                    (member == MemberKind::text && (kind == Kind::text || kind == Kind::name)) ||
                    (member == MemberKind::enumeration && kind == Kind::choice);
  if (!fits) throw std::logic_error(fmt::format("field {}: its member cannot hold {}", field, spec.expected()));
}

void refuse_narrow(const ConfigNode& node, std::string_view path) {
  throw InputError(node.origin(), path, fmt::format("{} is out of range", node.text()));
}

ScalarSpec source_kind_spec() {
  return choice<SourceKind>(
      {{"datasheet", SourceKind::datasheet, "the maker's document"},
       {"publication", SourceKind::publication, "a paper or report, with its table, figure or equation"},
       {"measurement", SourceKind::measurement, "measured, with how and on what"},
       {"derived", SourceKind::derived, "computed from other figures, with the formula"},
       {"assumption", SourceKind::assumption, "nobody has measured it; named as such in reports"},
       {"scenario", SourceKind::scenario, "set in place by the user"}});
}

bool needs_reference(SourceKind kind) {
  return kind != SourceKind::scenario && kind != SourceKind::assumption;
}

SourcedScalar read_sourced(const ScalarSpec& spec, const ConfigNode& node, std::string_view path) {
  SourcedScalar read;
  if (!node.is_map()) {
    if (!node.is_scalar()) {
      throw InputError(node.origin(), path,
                       fmt::format("expected {}, or a map of value, source and reference, found {}", spec.expected(),
                                   node.describe()));
    }
    read.value = spec.read(node, path);
    return read;
  }
  const ParseContext context{std::string(path), nullptr};
  Mistakes mistakes, missing;
  const auto fields = match_fields(sourced_table(spec), node, context, mistakes, missing);
  mistakes.gather([&] { missing.raise(); });
  mistakes.raise();
  read.value = spec.read(*fields[0], context.join("value"));
  store(read.source.kind, source_kind_spec().read(*fields[1], context.join("source")), *fields[1], path);
  if (fields[2] != nullptr) {
    store(read.source.reference, text().non_empty().read(*fields[2], context.join("reference")), *fields[2], path);
  } else if (needs_reference(read.source.kind)) {
    throw InputError(node.origin(), path,
                     fmt::format("missing key \"reference\", expected the document or the way of measuring behind "
                                 "\"source: {}\"",
                                 fields[1]->text()));
  }
  return read;
}

ConfigNode write_sourced(ConfigNode value, const Source& source) {
  if (source.kind == SourceKind::scenario && source.reference.empty()) return value;
  ConfigNode node = ConfigNode::map();
  node.append("value", std::move(value));
  node.append("source", source_kind_spec().write(static_cast<std::int64_t>(source.kind)));
  if (!source.reference.empty()) node.append("reference", ConfigNode::scalar(source.reference, true));
  return node;
}

}  // namespace kvsim::schema::detail
