// The field table of an object whose type is not known here: the part of object_schema.h that is compiled once. Objects
// and members are void*; what must know their types is a few functions for every type of member. Internal to
// object_schema.h.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "models/schema/member_value.h"
#include "models/schema/object_info.h"
#include "models/schema/own_keys.h"
#include "models/schema/parse_context.h"

namespace kvsim::schema::detail {

/// Where a member is in an object: a pointer to a data member of T, or a lambda that returns a reference into a T and
/// captures little. Objects that are only read are located as well, and then not written to. One function is compiled
/// for all pointers of a type; std::function would compile several for each.
class Locate {
 public:
  template <class T, class Access>
  static Locate in(Access access) {
    static_assert(std::is_trivially_copyable_v<Access> && sizeof(Access) <= sizeof state_);
    Locate where;
    ::new (static_cast<void*>(where.state_.data())) Access(access);
    where.find_ = [](const Locate& self, void* object) -> void* {
      const auto& how = *std::launder(reinterpret_cast<const Access*>(self.state_.data()));
      return &std::invoke(how, *static_cast<T*>(object));
    };
    return where;
  }

  [[nodiscard]] void* operator()(void* object) const { return find_(*this, object); }

 private:
  void* (*find_)(const Locate&, void*) = nullptr;
  alignas(std::max_align_t) std::array<std::byte, 4 * sizeof(void*)> state_{};
};

/// Access by which a scalar member, or one that may be absent, is read and written.
struct ScalarMember {
  MemberKind kind;
  bool sourced;
  void (*read)(void* member, const ScalarSpec& spec, const ConfigNode& node, std::string_view path);
  std::optional<ConfigNode> (*write)(const void* member, const ScalarSpec& spec);
};

template <class Member>
inline constexpr ScalarMember kScalarMember{
    member_kind<bare_t<unwrapped_t<Member>>>(), is_sourced<unwrapped_t<Member>>::value,
    [](void* member, const ScalarSpec& spec, const ConfigNode& node, std::string_view path) {
      auto& value = *static_cast<Member*>(member);
      if constexpr (is_optional<Member>::value) {
        read_member(value.emplace(), spec, node, path);
      } else {
        read_member(value, spec, node, path);
      }
    },
    [](const void* member, const ScalarSpec& spec) -> std::optional<ConfigNode> {
      const auto& value = *static_cast<const Member*>(member);
      if constexpr (is_optional<Member>::value) {
        return value ? write_member(*value, spec) : std::nullopt;
      } else {
        return write_member(value, spec);
      }
    }};

/// A member that is an object, or an optional one.
struct ObjectMember {
  bool maybe;
  void* (*open)(void* member);              ///< the object; an absent one comes into being
  const void* (*look)(const void* member);  ///< null: absent
};

template <class Member>
inline constexpr ObjectMember kObjectMember{is_optional<Member>::value,
                                            [](void* member) -> void* {
                                              if constexpr (is_optional<Member>::value) {
                                                return &static_cast<Member*>(member)->emplace();
                                              } else {
                                                return member;
                                              }
                                            },
                                            [](const void* member) -> const void* {
                                              if constexpr (is_optional<Member>::value) {
                                                const auto& value = *static_cast<const Member*>(member);
                                                return value ? &*value : nullptr;
                                              } else {
                                                return member;
                                              }
                                            }};

/// A member that is a std::vector.
struct ListMember {
  void (*clear)(void* items);
  void* (*append)(void* items);  ///< the new item
  std::size_t (*size)(const void* items);
  const void* (*at)(const void* items, std::size_t i);
};

template <class Items>
inline constexpr ListMember kListMember{
    [](void* items) { static_cast<Items*>(items)->clear(); },
    [](void* items) -> void* { return &static_cast<Items*>(items)->emplace_back(); },
    [](const void* items) { return static_cast<const Items*>(items)->size(); },
    [](const void* items, std::size_t i) -> const void* { return &(*static_cast<const Items*>(items))[i]; }};

struct FieldTable {
  using Check = std::function<void(const void* object, const Reporter&)>;
  using Assign = void (*)(void* to, const void* from);

  FieldTable(std::string name, std::string description, std::shared_ptr<const void> defaults_of_fields,
             Assign assign_object);

  // Each adds a field; parameters are those of ObjectSchema's functions.
  void scalar(const char* name, const Locate& locate, const ScalarMember& member, const ScalarSpec& spec,
              Presence presence, const char* description);
  void scalars(const char* name, const Locate& locate, const ListMember& items, const ScalarMember& member,
               const ScalarSpec& spec, Presence presence, const char* description, ListSize size);
  /// `same`: the nested keys set members of the object itself.
  void object(const char* name, const Locate& locate, const ObjectMember& member, const FieldTable& nested, bool same,
              Form form, const char* catalogue, Presence presence, const char* description);
  void objects(const char* name, const Locate& locate, const ListMember& items, const FieldTable& nested, Form form,
               const char* catalogue, Presence presence, const char* description, ListSize size);

  /// Adds the fields, rules and checks of an entry's own keys, which are in the OwnKeys that `locate` finds.
  void embed(const Locate& locate, const KeyFragment& keys);

  /// Adds a rule, as ObjectSchema::unread. Throws std::logic_error for a key that is not there.
  void unread(std::vector<std::string> keys, std::function<std::string(const void* object)> why, IfWritten then);
  /// Adds the keys of the object, and of those nested in it, that nothing reads; `path` leads to the object.
  void find_unread(const void* object, const std::string& path, std::vector<UnreadKey>& found) const;

  /// Fields that are left out keep what the object holds.
  void parse_into(void* object, const ConfigNode& node, const ParseContext& context) const;
  [[nodiscard]] ConfigNode dump(const void* object) const;

  ObjectInfo info;
  std::shared_ptr<const void> defaults;
  Assign assign = nullptr;
  std::vector<Check> checks;

 private:
  struct Binding {
    Locate locate;
    std::function<void(void* member, const ConfigNode&, const ParseContext&)> read;
    std::function<std::optional<ConfigNode>(const void* member)> write;  ///< no value: not given
    /// Adds what nothing reads of a nested object, or of a list of them; null for scalars.
    std::function<void(const void* member, const std::string& path, std::vector<UnreadKey>&)> find_unread{};
  };
  struct UnreadRule {
    std::vector<std::string> keys;
    std::function<std::string(const void* object)> why;  ///< empty text: they are read
    IfWritten then;
  };
  [[nodiscard]] std::optional<ConfigNode> written(const Binding& binding, const void* object) const;
  void add(FieldInfo field, Binding binding);

  std::vector<Binding> bindings_;
  std::vector<UnreadRule> unread_;
};

}  // namespace kvsim::schema::detail
