// Keys that belong to one entry of a registry: what only a schedule policy, a router, an eviction order reads. The file
// of the entry declares a struct and its field table; the map that names the entry takes the keys in beside its own:
//
//   struct MyKeys { std::int64_t most = 2; };
//   ...
//   schema::ObjectSchema<MyKeys> keys("my_policy", "Keys of my_policy.");
//   keys.optional("most", &MyKeys::most, schema::integer().at_least(1), "reloads at a time");
//   return {.name = "my_policy", ..., .keys = keys.fragment("limits no reloads"), ...};
//
// `config.own.of<MyKeys>()` then is what the scenario says.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kvsim::schema {

namespace detail {

struct FieldTable;

template <class T>
inline constexpr char kTypeOf = 0;

}  // namespace detail

/// The values of such keys, of every type that was written. A value: copies are independent.
class OwnKeys {
 public:
  /// Those of T, at their defaults where none was written.
  template <class T>
  [[nodiscard]] const T& of() const {
    static const T none{};
    for (const Slot& slot : slots_) {
      if (slot.type == &detail::kTypeOf<T>) return *static_cast<const T*>(slot.value.get());
    }
    return none;
  }

  /// Those of T, to be changed.
  template <class T>
  T& edit() {
    std::shared_ptr<T> own = std::make_shared<T>(of<T>());  // others share the one that was there
    T& value = *own;
    for (Slot& slot : slots_) {
      if (slot.type != &detail::kTypeOf<T>) continue;
      slot.value = std::move(own);
      return value;
    }
    slots_.push_back({&detail::kTypeOf<T>, std::move(own)});
    return value;
  }

 private:
  struct Slot {
    const void* type;
    std::shared_ptr<void> value;
  };
  std::vector<Slot> slots_;
};

namespace detail {

/// How a field table gets at the struct of its keys.
struct OwnMember {
  void* (*open)(void* keys);              ///< to be changed
  const void* (*look)(const void* keys);  ///< never null
};

template <class T>
inline constexpr OwnMember kOwnMember{
    [](void* keys) -> void* { return &static_cast<OwnKeys*>(keys)->edit<T>(); },
    [](const void* keys) -> const void* { return &static_cast<const OwnKeys*>(keys)->of<T>(); }};

}  // namespace detail

/// The field table of an entry's own keys (ObjectSchema::fragment()), or none. Entries may share one.
struct KeyFragment {
  std::shared_ptr<const detail::FieldTable> table{};  ///< null: the entry has no keys of its own
  const detail::OwnMember* member = nullptr;          ///< the same for all tables of one struct
  std::string lacking{};  ///< says of the entries without it why they do not read the keys: "does not look ahead"

  [[nodiscard]] std::vector<std::string> names() const;
};

namespace detail {

/// A fragment, and the entries that have it.
struct SharedFragment {
  KeyFragment keys;
  std::vector<std::string> names;
};

/// The fragments of a registry's entries in their order, each once.
template <class Entry>
std::vector<SharedFragment> fragments_of(std::span<const Entry> registry) {
  std::vector<SharedFragment> found;
  for (const Entry& entry : registry) {
    if (!entry.keys.table) continue;
    const auto same = [&entry](const SharedFragment& f) { return f.keys.member == entry.keys.member; };
    auto at = std::find_if(found.begin(), found.end(), same);
    if (at == found.end()) at = found.insert(found.end(), {entry.keys, {}});
    at->names.emplace_back(entry.name);
  }
  return found;
}

/// Why nothing reads keys of the entries `names` where another one is chosen; empty where one of them is.
[[nodiscard]] std::string unread_by(const std::string& kind, const std::string& chosen,
                                    const std::vector<std::string>& names, const std::string& lacking);

}  // namespace detail
}  // namespace kvsim::schema
