// The description of an object's fields without its C++ type: what the parser checks before any value is read, and
// what JSON Schema and the reference pages are made from.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/schema/config_node.h"
#include "models/schema/parse_context.h"
#include "models/schema/scalar_spec.h"

namespace kvsim::schema {

struct ObjectInfo;

/// What one value of a field is.
enum class Form {
  scalar,
  sourced,   ///< a scalar, or {value, source, reference}
  object,    ///< a map with fields of its own
  reference  ///< a catalogue name, {base: name, changes...}, or a full entry
};

enum class Presence { required, optional };

/// How many items a list may have.
struct ListSize {
  std::size_t at_least = 0;
  std::size_t at_most = std::numeric_limits<std::size_t>::max();
};

struct FieldInfo {
  std::string name;
  std::string description;
  bool required = false;
  Form form = Form::scalar;
  bool list = false;  ///< a list of such values
  ListSize size;
  ScalarSpec scalar;                         ///< scalar and sourced
  std::shared_ptr<const ObjectInfo> object;  ///< object and reference
  std::string catalogue;                     ///< reference: the kind of entry
  std::string default_text;                  ///< as it would be written; empty: no default

  /// "a time such as 25 ms", "a map", "a list of ...".
  [[nodiscard]] std::string expected() const;
};

/// Keys that exclude each other.
struct KeyGroup {
  std::vector<std::string> keys;
  bool one_is_required = true;
};

struct ObjectInfo {
  std::string name;         ///< of the type: "gpu", "arrivals"
  std::string description;  ///< one sentence
  std::vector<FieldInfo> fields;
  std::vector<KeyGroup> groups;
  std::string shorthand;      ///< a scalar or a list in place of the map means this key; empty: not allowed
  std::string expected_keys;  ///< answers an unknown key in place of the nearest key; empty: the nearest

  [[nodiscard]] const FieldInfo* find(std::string_view field) const;
  [[nodiscard]] bool in_group(std::string_view field) const;
  /// Something must be written: it has a required field or a group of which one key is required.
  [[nodiscard]] bool needs_input() const;
};

/// The answer to a file that has a key without effect. One on a command line is always refused.
enum class IfWritten {
  remarked,
  refused  ///< the file contradicts itself
};

/// A key that nothing reads.
struct UnreadKey {
  std::string path;  ///< dotted, from the object that was asked
  std::string why;   ///< and, where there is one, the key that has the effect
  IfWritten then = IfWritten::remarked;
};

/// Throws std::logic_error for a table that contradicts itself (a field twice, a group of unknown keys).
void check_table(const ObjectInfo& info);

/// The node of every field in the order of `info.fields`, null where it is not given. Throws InputError for anything
/// but a map (or the shorthand). Unknown keys, keys without a value and violated groups go into `mistakes`, missing
/// keys into `missing`: values that are wrong are said between the two.
std::vector<const ConfigNode*> match_fields(const ObjectInfo& info, const ConfigNode& node, const ParseContext& context,
                                            Mistakes& mistakes, Mistakes& missing);

/// The items of a list field. Throws InputError where it is no list or has too few or too many items.
const std::vector<ConfigNode>& match_list(const FieldInfo& field, const ConfigNode& node, const ParseContext& context);

}  // namespace kvsim::schema
