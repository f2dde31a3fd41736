// A configuration as a tree of values that know where they were written: what the YAML reader makes, --set and
// catalogue overrides change, and object schemas turn into structs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/schema/error.h"

namespace kvsim::schema {

class ConfigNode {
 public:
  enum class Kind { null, scalar, sequence, map };
  struct Entry;  ///< key, where the key was written, value; defined below

  ConfigNode();  ///< null, made by the program
  explicit ConfigNode(Origin origin);
  ConfigNode(const ConfigNode&);
  ConfigNode(ConfigNode&&) noexcept;
  ConfigNode& operator=(const ConfigNode&);
  ConfigNode& operator=(ConfigNode&&) noexcept;
  ~ConfigNode();

  /// `quoted`: written in quotes or as a block, hence text even where it looks like a number.
  static ConfigNode scalar(std::string text, bool quoted = false, Origin origin = {});
  static ConfigNode sequence(Origin origin = {});
  static ConfigNode map(Origin origin = {});

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool is_null() const { return kind_ == Kind::null; }
  [[nodiscard]] bool is_scalar() const { return kind_ == Kind::scalar; }
  [[nodiscard]] bool is_sequence() const { return kind_ == Kind::sequence; }
  [[nodiscard]] bool is_map() const { return kind_ == Kind::map; }
  [[nodiscard]] const Origin& origin() const { return origin_; }

  /// Scalars: the text as YAML resolved it (escapes applied). Empty for other kinds.
  [[nodiscard]] const std::string& text() const { return text_; }
  [[nodiscard]] bool quoted() const { return quoted_; }

  /// Sequences: the items. Empty for other kinds.
  [[nodiscard]] const std::vector<ConfigNode>& items() const { return items_; }
  [[nodiscard]] std::vector<ConfigNode>& items() { return items_; }

  /// Maps: the entries in the order written. Empty for other kinds.
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] std::vector<Entry>& entries() { return entries_; }

  /// Maps: the value or the entry of a key, null where there is none.
  [[nodiscard]] const ConfigNode* find(std::string_view key) const;
  [[nodiscard]] ConfigNode* find(std::string_view key);
  [[nodiscard]] const Entry* find_entry(std::string_view key) const;

  /// Maps: replaces the value of a key in its place, or appends it.
  void set(std::string_view key, ConfigNode value, Origin key_origin = {});
  /// Maps: appends without looking for the key.
  void append(std::string key, ConfigNode value, Origin key_origin = {});
  /// Maps: removes a key; false where there is none.
  bool erase(std::string_view key);

  /// The node at a dotted path; list items by number from 0 (`cluster.storage.0.read`). Null where there is none.
  [[nodiscard]] const ConfigNode* find_path(std::string_view path) const;

  /// "nothing", `"80 GB"`, "a list" or "a map": for messages that say what was found.
  [[nodiscard]] std::string describe() const;

  /// Same content; origins do not count.
  friend bool operator==(const ConfigNode& a, const ConfigNode& b);

 private:
  Kind kind_ = Kind::null;
  bool quoted_ = false;
  std::string text_;
  std::vector<ConfigNode> items_;
  std::vector<Entry> entries_;
  Origin origin_;
};

struct ConfigNode::Entry {
  std::string key;
  ConfigNode value;
  Origin key_origin;

  friend bool operator==(const Entry& a, const Entry& b) { return a.key == b.key && a.value == b.value; }
};

}  // namespace kvsim::schema
