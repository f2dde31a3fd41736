#include "models/schema/field_table.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/yaml.h"

namespace kvsim::schema::detail {
namespace {

FieldInfo make_field(const char* name, const char* description, Presence presence, Form form, bool list = false) {
  FieldInfo field;
  field.name = name;
  field.description = description;
  field.required = presence == Presence::required;
  field.form = form;
  field.list = list;
  return field;
}

/// Text of a default in the table: a scalar as written, [] for an empty list, nothing for maps.
std::string default_text(const std::optional<ConfigNode>& written) {
  if (!written || written->is_map()) return {};
  const bool empty_text = written->is_scalar() && written->text().empty();
  return empty_text ? std::string() : to_flow_yaml(*written);
}

/// Entries for `reference` fields, looked up where the context can.
ConfigNode resolve_reference(const FieldInfo& field, const ConfigNode& node, const ParseContext& context) {
  if (field.form != Form::reference) return node;
  if (context.references != nullptr) return context.references->resolve(field.catalogue, node, context.path);
  if (!node.is_map() || node.find("base") != nullptr) {
    throw InputError(node.origin(), context.path,
                     fmt::format("no catalogue to look the {} up in, expected the whole entry", field.catalogue));
  }
  return node;
}

Form scalar_form(const ScalarMember& member) {
  return member.sourced ? Form::sourced : Form::scalar;
}

/// Another field that takes this word; null where the field itself has words, or none takes it.
const FieldInfo* taking_word(const ObjectInfo& info, const FieldInfo& field, const ConfigNode& node) {
  if (field.form != Form::scalar && field.form != Form::sourced) return nullptr;
  if (!node.is_scalar() || field.scalar.kind() != ScalarSpec::Kind::quantity) return nullptr;
  for (const FieldInfo& other : info.fields) {
    if (other.form != Form::scalar || other.scalar.kind() != ScalarSpec::Kind::choice) continue;
    const std::vector<Word>& words = other.scalar.words();
    if (std::any_of(words.begin(), words.end(), [&node](const Word& w) { return w.name == node.text(); }))
      return &other;
  }
  return nullptr;
}

/// Whether there is a field at this dotted path.
bool find_key(const ObjectInfo& info, std::string_view path) {
  const auto dot = path.find('.');
  const FieldInfo* field = info.find(path.substr(0, dot));
  if (field == nullptr || dot == std::string_view::npos) return field != nullptr;
  return field->object && find_key(*field->object, path.substr(dot + 1));
}

}  // namespace

FieldTable::FieldTable(std::string name, std::string description, std::shared_ptr<const void> defaults_of_fields,
                       Assign assign_object)
    : defaults(std::move(defaults_of_fields)), assign(assign_object) {
  info.name = std::move(name);
  info.description = std::move(description);
}

std::optional<ConfigNode> FieldTable::written(const Binding& binding, const void* object) const {
  return binding.write(binding.locate(const_cast<void*>(object)));  // located, and only read
}

void FieldTable::add(FieldInfo field, Binding binding) {
  if (!field.required) field.default_text = default_text(written(binding, defaults.get()));
  info.fields.push_back(std::move(field));
  bindings_.push_back(std::move(binding));
}

void FieldTable::scalar(const char* name, const Locate& locate, const ScalarMember& member, const ScalarSpec& spec,
                        Presence presence, const char* description) {
  require_compatible(spec, member.kind, name);
  FieldInfo field = make_field(name, description, presence, scalar_form(member));
  field.scalar = spec;
  add(std::move(field), {locate,
                         [&member, spec](void* value, const ConfigNode& node, const ParseContext& context) {
                           member.read(value, spec, node, context.path);
                         },
                         [&member, spec](const void* value) { return member.write(value, spec); }});
}

void FieldTable::scalars(const char* name, const Locate& locate, const ListMember& items, const ScalarMember& member,
                         const ScalarSpec& spec, Presence presence, const char* description, ListSize size) {
  require_compatible(spec, member.kind, name);
  FieldInfo field = make_field(name, description, presence, scalar_form(member), true);
  field.scalar = spec;
  field.size = size;
  const auto read = [&items, &member, field](void* list, const ConfigNode& node, const ParseContext& context) {
    items.clear(list);
    for (const ConfigNode& item : match_list(field, node, context)) {
      const ParseContext at = context.child(items.size(list));
      member.read(items.append(list), field.scalar, item, at.path);
    }
  };
  const auto write = [&items, &member, field](const void* list) -> std::optional<ConfigNode> {
    ConfigNode node = ConfigNode::sequence();
    for (std::size_t i = 0; i < items.size(list); ++i) {
      if (auto item = member.write(items.at(list, i), field.scalar)) node.items().push_back(std::move(*item));
    }
    return node.items().size() < field.size.at_least ? std::nullopt : std::optional(std::move(node));
  };
  add(std::move(field), {locate, read, write});
}

void FieldTable::object(const char* name, const Locate& locate, const ObjectMember& member, const FieldTable& nested,
                        bool same, Form form, const char* catalogue, Presence presence, const char* description) {
  FieldInfo field = make_field(name, description, presence, form);
  field.object = std::make_shared<const ObjectInfo>(nested.info);
  field.catalogue = catalogue;
  const auto inner = std::make_shared<const FieldTable>(nested);
  Binding binding;
  binding.read = [&member, inner, field, same](void* value, const ConfigNode& node, const ParseContext& context) {
    const ConfigNode entry = resolve_reference(field, node, context);
    void* const object = member.open(value);
    if (!same) inner->assign(object, inner->defaults.get());
    inner->parse_into(object, entry, context);
  };
  // A map that could not be left empty is left out where it is what leaving it out gives.
  const bool may_omit = !member.maybe && presence == Presence::optional && nested.info.needs_input();
  binding.write = [&member, inner, may_omit, locate, all = defaults](const void* value) -> std::optional<ConfigNode> {
    const void* const object = member.look(value);
    if (object == nullptr) return std::nullopt;
    ConfigNode node = inner->dump(object);
    const bool omitted = may_omit && node == inner->dump(locate(const_cast<void*>(all.get())));
    return omitted ? std::nullopt : std::optional(std::move(node));
  };
  binding.find_unread = [&member, inner](const void* value, const std::string& path, std::vector<UnreadKey>& found) {
    if (const void* const object = member.look(value)) inner->find_unread(object, path, found);
  };
  binding.locate = locate;
  add(std::move(field), std::move(binding));
}

void FieldTable::objects(const char* name, const Locate& locate, const ListMember& items, const FieldTable& nested,
                         Form form, const char* catalogue, Presence presence, const char* description, ListSize size) {
  FieldInfo field = make_field(name, description, presence, form, true);
  field.object = std::make_shared<const ObjectInfo>(nested.info);
  field.catalogue = catalogue;
  field.size = size;
  const auto inner = std::make_shared<const FieldTable>(nested);
  const auto read = [&items, inner, field](void* list, const ConfigNode& node, const ParseContext& context) {
    items.clear(list);
    for (const ConfigNode& item : match_list(field, node, context)) {
      const ParseContext at = context.child(items.size(list));
      const ConfigNode entry = resolve_reference(field, item, at);
      void* const object = items.append(list);
      inner->assign(object, inner->defaults.get());
      inner->parse_into(object, entry, at);
    }
  };
  const auto write = [&items, inner, size](const void* list) -> std::optional<ConfigNode> {
    ConfigNode node = ConfigNode::sequence();
    for (std::size_t i = 0; i < items.size(list); ++i) node.items().push_back(inner->dump(items.at(list, i)));
    return node.items().size() < size.at_least ? std::nullopt : std::optional(std::move(node));
  };
  const auto find = [&items, inner](const void* list, const std::string& path, std::vector<UnreadKey>& found) {
    for (std::size_t i = 0; i < items.size(list); ++i) {
      inner->find_unread(items.at(list, i), fmt::format("{}.{}", path, i), found);
    }
  };
  add(std::move(field), {locate, read, write, find});
}

void FieldTable::embed(const Locate& locate, const KeyFragment& keys) {
  const auto look = [locate, &member = *keys.member](const void* object) {
    return member.look(locate(const_cast<void*>(object)));  // located, and only read
  };
  for (std::size_t i = 0; i < keys.table->bindings_.size(); ++i) {
    Binding binding;
    binding.locate = locate;
    binding.read = [keys, i](void* own, const ConfigNode& node, const ParseContext& context) {
      const Binding& field = keys.table->bindings_[i];
      field.read(field.locate(keys.member->open(own)), node, context);
    };
    binding.write = [keys, i](const void* own) {
      return keys.table->written(keys.table->bindings_[i], keys.member->look(own));
    };
    if (keys.table->bindings_[i].find_unread) {
      binding.find_unread = [keys, i](const void* own, const std::string& path, std::vector<UnreadKey>& found) {
        const Binding& field = keys.table->bindings_[i];
        field.find_unread(field.locate(const_cast<void*>(keys.member->look(own))), path, found);
      };
    }
    info.fields.push_back(keys.table->info.fields[i]);
    bindings_.push_back(std::move(binding));
  }
  for (const UnreadRule& rule : keys.table->unread_) {
    unread_.push_back({rule.keys, [look, why = rule.why](const void* object) { return why(look(object)); }, rule.then});
  }
  for (const Check& check : keys.table->checks) {
    checks.emplace_back([look, check](const void* object, const Reporter& report) { check(look(object), report); });
  }
}

void FieldTable::unread(std::vector<std::string> keys, std::function<std::string(const void* object)> why,
                        IfWritten then) {
  for (const std::string& key : keys) {
    if (!find_key(info, key)) throw std::logic_error(fmt::format("{}: a rule for unknown key {}", info.name, key));
  }
  unread_.push_back({std::move(keys), std::move(why), then});
}

void FieldTable::find_unread(const void* object, const std::string& path, std::vector<UnreadKey>& found) const {
  const ParseContext here{path, nullptr};
  for (const UnreadRule& rule : unread_) {
    const std::string why = rule.why(object);
    if (why.empty()) continue;
    for (const std::string& key : rule.keys) found.push_back({here.join(key), why, rule.then});
  }
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    const Binding& nested = bindings_[i];
    if (!nested.find_unread) continue;
    nested.find_unread(nested.locate(const_cast<void*>(object)), here.join(info.fields[i].name), found);  // only read
  }
}

void FieldTable::parse_into(void* object, const ConfigNode& node, const ParseContext& context) const {
  Mistakes mistakes, missing;
  const std::vector<const ConfigNode*> given = match_fields(info, node, context, mistakes, missing);
  const bool short_form = !node.is_map();  // then the one field is where the object is
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == nullptr) continue;
    const ParseContext here = short_form ? context : context.child(info.fields[i].name);
    mistakes.gather([&] {
      try {
        bindings_[i].read(bindings_[i].locate(object), *given[i], here);
      } catch (const InputError& mistake) {
        const FieldInfo* other = taking_word(info, info.fields[i], *given[i]);
        if (other == nullptr) throw;
        std::string_view said = mistake.what();
        const std::string at = mistake.origin().str();
        if (!at.empty()) said.remove_prefix(at.size() + 2);
        throw InputError(mistake.origin(),
                         fmt::format("{}; {} is a word of {}", said, given[i]->describe(), context.join(other->name)));
      }
    });
  }
  mistakes.gather([&missing] { missing.raise(); });
  mistakes.raise();
  for (const Check& run : checks) run(object, Reporter(node, context));
}

ConfigNode FieldTable::dump(const void* object) const {
  ConfigNode node = ConfigNode::map();
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    const FieldInfo& field = info.fields[i];
    std::optional<ConfigNode> value = written(bindings_[i], object);
    if (!value) continue;
    // Alternatives that were not chosen, and texts that were never written, stay out.
    const bool silent = !field.required && (info.in_group(field.name) || (value->is_scalar() && value->text().empty()));
    if (silent && value == written(bindings_[i], defaults.get())) continue;
    node.append(field.name, std::move(*value));
  }
  return node;
}

}  // namespace kvsim::schema::detail

namespace kvsim::schema {

std::string detail::unread_by(const std::string& kind, const std::string& chosen, const std::vector<std::string>& names,
                              const std::string& lacking) {
  if (std::find(names.begin(), names.end(), chosen) != names.end()) return {};
  return fmt::format("{} {} {}: use {}", kind, chosen, lacking, fmt::join(names, " or "));
}

std::vector<std::string> KeyFragment::names() const {
  std::vector<std::string> names;
  if (!table) return names;
  for (const FieldInfo& field : table->info.fields) names.push_back(field.name);
  return names;
}

}  // namespace kvsim::schema
