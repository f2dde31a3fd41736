#include "models/schema/object_info.h"

#include <algorithm>
#include <set>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/not_modelled.h"
#include "models/schema/spelling.h"

namespace kvsim::schema {
namespace {

std::vector<std::string> key_names(const ObjectInfo& info) {
  std::vector<std::string> names;
  for (const FieldInfo& field : info.fields) names.push_back(field.name);
  return names;
}

/// Adds where a key of this name stands in the maps below: "arrivals.rate".
void add_deeper(const std::string& key, const ObjectInfo& info, const std::string& path, int levels,
                std::vector<std::string>& found) {
  for (const FieldInfo& field : info.fields) {
    if (field.form != Form::object || field.list || !field.object) continue;
    const std::string below = path + field.name + ".";
    if (field.object->find(key) != nullptr) found.push_back(below + key);
    if (levels > 1) add_deeper(key, *field.object, below, levels - 1, found);
  }
}

/// What follows on an unknown key: what it may be, or that there is nothing of the kind.
std::string meant_by(const std::string& key, const ObjectInfo& info) {
  if (!info.expected_keys.empty()) return "; " + info.expected_keys;
  const std::vector<std::string> names = key_names(info);
  if (const std::string option = engine_option(key); !option.empty()) return "; " + option;
  if (!nearest(key, names).empty()) return suggest(key, names);
  constexpr std::size_t kMostTold = 2;
  std::vector<std::string> deeper;
  add_deeper(key, info, "", 2, deeper);
  if (!deeper.empty() && deeper.size() <= kMostTold) return "; " + did_you_mean(deeper);
  return is_not_modelled(key) ? fmt::format("; {}", kWhereNotModelled) : suggest(key, names);
}

/// The key below a map that a scalar in place of the map may be meant for; null where none is likelier than others.
const FieldInfo* meant_within(const ObjectInfo& info) {
  const FieldInfo* only = nullptr;
  for (const FieldInfo& field : info.fields) {
    if (!field.required) continue;
    if (only != nullptr) return nullptr;
    only = &field;
  }
  if (only == nullptr && !info.fields.empty()) only = &info.fields.front();
  const bool named = only != nullptr && !only->list &&
                     (only->form == Form::reference || only->scalar.kind() == ScalarSpec::Kind::choice ||
                      only->scalar.kind() == ScalarSpec::Kind::name);
  return named && only->form != Form::object ? only : nullptr;
}

std::string list_of(const std::vector<std::string>& keys) {
  return fmt::format("{}", fmt::join(keys, ", "));
}

void check_groups(const ObjectInfo& info, const ConfigNode& node, const ParseContext& context) {
  for (const KeyGroup& group : info.groups) {
    const ConfigNode::Entry* first = nullptr;
    for (const auto& entry : node.entries()) {
      if (std::find(group.keys.begin(), group.keys.end(), entry.key) == group.keys.end()) continue;
      if (first != nullptr) {
        throw InputError(entry.key_origin, context.path,
                         fmt::format("\"{}\" and \"{}\" exclude each other, expected {} one of {}", first->key,
                                     entry.key, group.one_is_required ? "exactly" : "at most", list_of(group.keys)));
      }
      first = &entry;
    }
    if (first == nullptr && group.one_is_required) {
      throw InputError(node.origin(), context.path, fmt::format("expected exactly one of {}", list_of(group.keys)));
    }
  }
}

}  // namespace

void Reporter::fail(std::string_view key, std::string_view message) const {
  std::string_view written = key;
  const ConfigNode* at = node_.find_path(written);
  while (at == nullptr) {
    const auto dot = written.rfind('.');
    written = dot == std::string_view::npos ? std::string_view() : written.substr(0, dot);
    at = written.empty() ? &node_ : node_.find_path(written);
  }
  throw InputError(at->origin(), key.empty() ? context_.path : context_.join(key), message);
}

std::string FieldInfo::expected() const {
  const FieldInfo* short_form = form == Form::object ? object->find(object->shorthand) : nullptr;
  const std::string one = short_form != nullptr     ? short_form->expected() + ", or a map"
                          : form == Form::object    ? "a map"
                          : form == Form::reference ? fmt::format("the name of {} or a map", with_article(catalogue))
                                                    : scalar.expected();
  return list ? "a list, each item " + one : one;
}

const FieldInfo* ObjectInfo::find(std::string_view field) const {
  const auto found = std::find_if(fields.begin(), fields.end(), [&](const FieldInfo& f) { return f.name == field; });
  return found == fields.end() ? nullptr : &*found;
}

bool ObjectInfo::in_group(std::string_view field) const {
  return std::any_of(groups.begin(), groups.end(), [&](const KeyGroup& group) {
    return std::find(group.keys.begin(), group.keys.end(), field) != group.keys.end();
  });
}

bool ObjectInfo::needs_input() const {
  return std::any_of(fields.begin(), fields.end(), [](const FieldInfo& f) { return f.required; }) ||
         std::any_of(groups.begin(), groups.end(), [](const KeyGroup& g) { return g.one_is_required; });
}

void check_table(const ObjectInfo& info) {
  std::set<std::string_view> names;
  for (const FieldInfo& field : info.fields) {
    if (!names.insert(field.name).second) throw std::logic_error(info.name + ": field " + field.name + " twice");
  }
  for (const KeyGroup& group : info.groups) {
    for (const std::string& key : group.keys) {
      if (!names.contains(key)) throw std::logic_error(info.name + ": group of unknown field " + key);
    }
  }
  if (!info.shorthand.empty() && !names.contains(info.shorthand)) {
    throw std::logic_error(info.name + ": shorthand for unknown field " + info.shorthand);
  }
}

std::vector<const ConfigNode*> match_fields(const ObjectInfo& info, const ConfigNode& node, const ParseContext& context,
                                            Mistakes& mistakes, Mistakes& missing) {
  check_table(info);
  std::vector<const ConfigNode*> nodes(info.fields.size(), nullptr);
  const auto index_of = [&](std::string_view key, bool set_on_command_line = false) {
    // `--set context.cv=1` turns the shorthand `context: 8k tokens` into {base: 8k tokens, cv: 1}.
    const bool rewritten =
        key == "base" && set_on_command_line && !info.shorthand.empty() && info.find("base") == nullptr;
    const FieldInfo* field = info.find(rewritten ? info.shorthand : key);
    return field == nullptr ? info.fields.size() : static_cast<std::size_t>(field - info.fields.data());
  };

  const bool short_form = !info.shorthand.empty() && (node.is_scalar() || node.is_sequence());
  if (!node.is_map() && !short_form) {
    const FieldInfo* meant = node.is_scalar() ? meant_within(info) : nullptr;
    throw InputError(node.origin(), context.path,
                     fmt::format("expected a map with the keys of {}, found {}{}", info.name, node.describe(),
                                 meant ? fmt::format(": give {}", context.join(meant->name)) : ""));
  }
  if (short_form) nodes[index_of(info.shorthand)] = &node;
  const ConfigNode* replaceable = nullptr;
  std::vector<std::string> misspelt;  // keys that unknown ones were meant to be
  for (const auto& entry : node.entries()) {
    const std::size_t index = index_of(entry.key, entry.key_origin.line() == 0);
    if (index == info.fields.size()) {
      mistakes.add({entry.key_origin, context.path,
                    fmt::format("unknown key \"{}\" of {}{}", entry.key, info.name, meant_by(entry.key, info))});
      for (std::string& meant : nearest(entry.key, key_names(info))) misspelt.push_back(std::move(meant));
      continue;
    }
    if (entry.value.is_null()) {
      mistakes.add({entry.key_origin, context.join(entry.key),
                    fmt::format("has no value, expected {}", info.fields[index].expected())});
      misspelt.push_back(info.fields[index].name);
      continue;
    }
    // The short form that --set of another key turned into a map gives way to a --set of the key that it stands for.
    const bool was_short_form = entry.key == "base" && info.find("base") == nullptr;
    if (nodes[index] != nullptr && (was_short_form || nodes[index] == replaceable)) {
      if (!was_short_form) nodes[index] = &entry.value;
      continue;
    }
    if (was_short_form) replaceable = &entry.value;
    if (nodes[index] != nullptr) {
      mistakes.add({entry.key_origin, context.join(info.fields[index].name), "is given twice"});
    }
    nodes[index] = &entry.value;
  }
  if (!short_form && misspelt.empty()) mistakes.gather([&] { check_groups(info, node, context); });
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const FieldInfo& field = info.fields[i];
    const bool meant = std::find(misspelt.begin(), misspelt.end(), field.name) != misspelt.end();
    if (nodes[i] == nullptr && field.required && !meant) {
      missing.add({node.origin(), context.path,
                   fmt::format("missing key \"{}\" of {}, expected {}", field.name, info.name, field.expected())});
    }
  }
  return nodes;
}

const std::vector<ConfigNode>& match_list(const FieldInfo& field, const ConfigNode& node, const ParseContext& context) {
  if (!node.is_sequence()) {
    throw InputError(node.origin(), context.path,
                     fmt::format("expected {}, found {}", field.expected(), node.describe()));
  }
  const std::size_t count = node.items().size();
  if (count < field.size.at_least || count > field.size.at_most) {
    const bool few = count < field.size.at_least;
    const std::size_t bound = few ? field.size.at_least : field.size.at_most;
    throw InputError(
        node.origin(), context.path,
        fmt::format("expected at {} {} item{}, found {}", few ? "least" : "most", bound, bound == 1 ? "" : "s", count));
  }
  return node.items();
}

}  // namespace kvsim::schema
