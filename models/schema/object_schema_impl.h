// Definitions of object_schema.h's templates. Internal.
#pragma once

#include "models/schema/object_schema.h"

namespace kvsim::schema {

namespace detail {

FieldInfo make_field(const char* name, const char* description, Presence presence, Form form, bool list);

/// What the table says of a default: a scalar as written, [] for an empty list, nothing for maps.
std::string default_text(const std::optional<ConfigNode>& written);

/// Entries for `reference` fields, looked up where the context can.
ConfigNode resolve_reference(const FieldInfo& field, const ConfigNode& node, const ParseContext& context);

}  // namespace detail

template <class T>
void ObjectSchema<T>::add(FieldInfo field, Binding binding) {
  if (!field.required) field.default_text = detail::default_text(binding.write(*defaults_));
  info_.fields.push_back(std::move(field));
  bindings_.push_back(std::move(binding));
}

template <class T>
template <class Access>
ObjectSchema<T>& ObjectSchema<T>::scalar(const char* name, Access access, const ScalarSpec& spec, Presence presence,
                                         const char* description) {
  using V = detail::unwrapped_t<Member<Access>>;
  constexpr bool maybe = detail::is_optional<Member<Access>>::value;
  detail::require_compatible(spec, detail::member_kind<detail::bare_t<V>>(), name);
  FieldInfo field = detail::make_field(name, description, presence,
                                       detail::is_sourced<V>::value ? Form::sourced : Form::scalar, false);
  field.scalar = spec;
  Binding binding;
  binding.read = [access, spec](T& object, const ConfigNode& node, const ParseContext& context) {
    auto& member = std::invoke(access, object);
    if constexpr (maybe) {
      detail::read_member(member.emplace(), spec, node, context.path);
    } else {
      detail::read_member(member, spec, node, context.path);
    }
  };
  binding.write = [access, spec](const T& object) -> std::optional<ConfigNode> {
    const auto& member = std::invoke(access, object);
    if constexpr (maybe) {
      return member ? detail::write_member(*member, spec) : std::nullopt;
    } else {
      return detail::write_member(member, spec);
    }
  };
  add(std::move(field), std::move(binding));
  return *this;
}

template <class T>
template <class Access>
ObjectSchema<T>& ObjectSchema<T>::list(const char* name, Access access, const ScalarSpec& spec, Presence presence,
                                       const char* description, ListSize size) {
  using V = detail::unwrapped_t<Member<Access>>;
  detail::require_compatible(spec, detail::member_kind<detail::bare_t<V>>(), name);
  FieldInfo field = detail::make_field(name, description, presence,
                                       detail::is_sourced<V>::value ? Form::sourced : Form::scalar, true);
  field.scalar = spec;
  field.size = size;
  Binding binding;
  binding.read = [access, field](T& object, const ConfigNode& node, const ParseContext& context) {
    auto& members = std::invoke(access, object);
    members.clear();
    for (const ConfigNode& item : match_list(field, node, context)) {
      V member{};
      detail::read_member(member, field.scalar, item, context.child(members.size()).path);
      members.push_back(std::move(member));
    }
  };
  binding.write = [access, field](const T& object) -> std::optional<ConfigNode> {
    ConfigNode node = ConfigNode::sequence();
    for (const auto& member : std::invoke(access, object)) {
      if (auto item = detail::write_member<V>(member, field.scalar)) node.items().push_back(std::move(*item));
    }
    return node.items().size() < field.size.at_least ? std::nullopt : std::optional(std::move(node));
  };
  add(std::move(field), std::move(binding));
  return *this;
}

template <class T>
template <class Access, class U>
ObjectSchema<T>& ObjectSchema<T>::nested(const char* name, Access access, const ObjectSchema<U>& schema, Form form,
                                         std::string catalogue, Presence presence, const char* description) {
  constexpr bool maybe = detail::is_optional<Member<Access>>::value;
  static_assert(std::is_same_v<detail::unwrapped_t<Member<Access>>, U>, "the member is not what the schema describes");
  FieldInfo field = detail::make_field(name, description, presence, form, false);
  field.object = std::make_shared<const ObjectInfo>(schema.info());
  field.catalogue = std::move(catalogue);
  const auto inner = std::make_shared<const ObjectSchema<U>>(schema);
  Binding binding;
  binding.read = [access, inner, field](T& object, const ConfigNode& node, const ParseContext& context) {
    auto& member = std::invoke(access, object);
    const ConfigNode entry = detail::resolve_reference(field, node, context);
    if constexpr (std::is_same_v<T, U>) {
      inner->parse_into(member, entry, context);  // keys of a group set members of the object itself
    } else {
      member = inner->parse(entry, context);
    }
  };
  if constexpr (maybe) {
    binding.write = [access, inner](const T& object) -> std::optional<ConfigNode> {
      const auto& member = std::invoke(access, object);
      return member ? std::optional(inner->dump(*member)) : std::nullopt;
    };
  } else {
    // A map that could not be left empty is left out where it is what leaving it out gives.
    const bool may_omit = presence == Presence::optional && schema.info().needs_input();
    binding.write = [access, inner, may_omit, defaults = defaults_](const T& object) -> std::optional<ConfigNode> {
      ConfigNode node = inner->dump(std::invoke(access, object));
      const bool omitted = may_omit && node == inner->dump(std::invoke(access, *defaults));
      return omitted ? std::nullopt : std::optional(std::move(node));
    };
  }
  add(std::move(field), std::move(binding));
  return *this;
}

template <class T>
template <class Access, class U>
ObjectSchema<T>& ObjectSchema<T>::nested_list(const char* name, Access access, const ObjectSchema<U>& schema, Form form,
                                              std::string catalogue, Presence presence, const char* description,
                                              ListSize size) {
  static_assert(std::is_same_v<Member<Access>, std::vector<U>>,
                "the member is not a vector of what the schema describes");
  FieldInfo field = detail::make_field(name, description, presence, form, true);
  field.object = std::make_shared<const ObjectInfo>(schema.info());
  field.catalogue = std::move(catalogue);
  field.size = size;
  const auto inner = std::make_shared<const ObjectSchema<U>>(schema);
  Binding binding;
  binding.read = [access, inner, field](T& object, const ConfigNode& node, const ParseContext& context) {
    auto& members = std::invoke(access, object);
    members.clear();
    for (const ConfigNode& item : match_list(field, node, context)) {
      const ParseContext at = context.child(members.size());
      members.push_back(inner->parse(detail::resolve_reference(field, item, at), at));
    }
  };
  binding.write = [access, inner, size](const T& object) -> std::optional<ConfigNode> {
    ConfigNode node = ConfigNode::sequence();
    for (const U& member : std::invoke(access, object)) node.items().push_back(inner->dump(member));
    return node.items().size() < size.at_least ? std::nullopt : std::optional(std::move(node));
  };
  add(std::move(field), std::move(binding));
  return *this;
}

template <class T>
void ObjectSchema<T>::parse_into(T& value, const ConfigNode& node, const ParseContext& context) const {
  const std::vector<const ConfigNode*> given = match_fields(info_, node, context);
  const bool short_form = !node.is_map();  // then the one field is where the object is
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i] == nullptr) continue;
    bindings_[i].read(value, *given[i], short_form ? context : context.child(info_.fields[i].name));
  }
  for (const Check& run : checks_) run(value, Reporter(node, context));
}

template <class T>
ConfigNode ObjectSchema<T>::dump(const T& value) const {
  ConfigNode node = ConfigNode::map();
  for (std::size_t i = 0; i < bindings_.size(); ++i) {
    const FieldInfo& field = info_.fields[i];
    std::optional<ConfigNode> written = bindings_[i].write(value);
    if (!written) continue;
    // Alternatives that were not chosen, and texts that were never written, stay out.
    const bool silent =
        !field.required && (info_.in_group(field.name) || (written->is_scalar() && written->text().empty()));
    if (silent && written == bindings_[i].write(*defaults_)) continue;
    node.append(field.name, std::move(*written));
  }
  return node;
}

}  // namespace kvsim::schema
