#include "models/schema/markdown.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace kvsim::schema {
namespace {

/// A table cell: bars would end it.
std::string cell(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string words_text(const ScalarSpec& spec) {
  std::string out;
  for (const Word& word : spec.words()) out += fmt::format("{}`{}`", out.empty() ? "" : ", ", word.name);
  return out;
}

std::string scalar_text(const ScalarSpec& spec) {
  switch (spec.kind()) {
    case ScalarSpec::Kind::text:
      return "text";
    case ScalarSpec::Kind::boolean:
      return "`true` or `false`";
    case ScalarSpec::Kind::choice:
    case ScalarSpec::Kind::name:
      return "one of " + words_text(spec);
    case ScalarSpec::Kind::quantity:
      break;
  }
  std::string out(dimension_name(spec.dimension()));
  out += fmt::format(" (`{}`)", dimension_example(spec.dimension()));
  if (!spec.range().empty()) out += ", " + spec.range();
  if (!spec.words().empty()) out += ", or " + words_text(spec);
  return out;
}

std::string meaning(const FieldInfo& field) {
  std::string out = field.description;
  const bool has_words = field.form == Form::scalar || field.form == Form::sourced;
  if (!has_words) return out;
  for (const Word& word : field.scalar.words()) {
    if (!word.description.empty()) out += fmt::format("<br>`{}`: {}", word.name, word.description);
  }
  return out;
}

void write_object(std::string& out, const ObjectInfo& info, int level, std::set<std::string>& written) {
  if (!written.insert(info.name).second) return;
  out += fmt::format("{} {}\n\n{}\n\n", std::string(static_cast<std::size_t>(std::max(level, 1)), '#'), info.name,
                     info.description);
  for (const KeyGroup& group : info.groups) {
    std::string keys;
    for (const std::string& key : group.keys) keys += fmt::format("{}`{}`", keys.empty() ? "" : ", ", key);
    out += fmt::format("{} one of {}.\n\n", group.one_is_required ? "Exactly" : "At most", keys);
  }
  if (!info.shorthand.empty()) out += fmt::format("A single value in place of the map means `{}`.\n\n", info.shorthand);
  out += "| key | value | default | meaning |\n|---|---|---|---|\n";
  for (const FieldInfo& field : info.fields) {
    const std::string fallback = field.required               ? "required"
                                 : field.default_text.empty() ? "none"
                                                              : "`" + field.default_text + "`";
    out += fmt::format("| `{}` | {} | {} | {} |\n", field.name, cell(describe_value(field)), cell(fallback),
                       cell(meaning(field)));
  }
  out += '\n';
  for (const FieldInfo& field : info.fields) {
    if (field.object) write_object(out, *field.object, level + (level < 6 ? 1 : 0), written);
  }
}

}  // namespace

std::string describe_value(const FieldInfo& field) {
  std::string one;
  switch (field.form) {
    case Form::scalar:
      one = scalar_text(field.scalar);
      break;
    case Form::sourced:
      one = scalar_text(field.scalar) + ", may carry its source";
      break;
    case Form::object:
      one = fmt::format("map ({})", field.object->name);
      break;
    case Form::reference:
      one = fmt::format("name of a {}, or map ({})", field.catalogue, field.object->name);
      break;
  }
  return field.list ? "list, each item: " + one : one;
}

std::string make_markdown(const ObjectInfo& info, int level) {
  std::string out;
  std::set<std::string> written;
  write_object(out, info, level, written);
  return out;
}

}  // namespace kvsim::schema
