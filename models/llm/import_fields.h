// Reading a model's configuration: its fields, which of them were asked for, and keys of the entry that they become.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "models/schema/config_node.h"

namespace kvsim::models::imports {

using schema::ConfigNode;

/// Fields of a map of a configuration: null counts as not there, and what was asked for is known. Each throws
/// schema::InputError at the field.
class Fields {
 public:
  /// `of`: what lacks a key that is needed, for messages.
  Fields(const ConfigNode& map, std::string_view what, std::string_view of);

  [[nodiscard]] const ConfigNode* find(std::string_view key);
  /// The first of these keys that is there; null: none. Those behind it do not count as asked for.
  [[nodiscard]] const ConfigNode* first(std::initializer_list<const char*> keys);
  /// Keys that need not be read.
  void know(std::initializer_list<const char*> keys) { known_.insert(keys.begin(), keys.end()); }
  /// It is there, be it null.
  [[nodiscard]] bool has(std::string_view key) const { return map_->find(key) != nullptr; }
  [[nodiscard]] const ConfigNode& need(std::string_view key);
  /// Whole numbers, none below 0.
  [[nodiscard]] std::int64_t whole(std::string_view key, std::int64_t otherwise);
  [[nodiscard]] std::int64_t whole(std::string_view key);
  [[nodiscard]] bool yes(std::string_view key, bool otherwise);
  /// Refuses each of these truth values that is set.
  void refuse_if_set(std::initializer_list<const char*> keys, std::string_view what);
  /// Keys that nobody asked for, but for those that change neither sizes nor times here.
  [[nodiscard]] std::vector<std::string> unknown() const;

 private:
  const ConfigNode* map_;
  std::string_view of_;
  std::set<std::string, std::less<>> known_;
};

/// Keys of an entry; `from`: the field that they follow from.
void append(ConfigNode& entry, const char* key, std::string value, const ConfigNode& from);
void append(ConfigNode& entry, const char* key, std::int64_t value, const ConfigNode& from);
void append(ConfigNode& entry, const char* key, const ConfigNode& value);

/// Throws schema::InputError: kvsim does not model what a field says.
[[noreturn]] void refuse(const ConfigNode& at, std::string_view field, std::string_view what);

}  // namespace kvsim::models::imports
