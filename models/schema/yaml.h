// Reads YAML strictly (what two readers could understand differently is refused, and everything keeps its position),
// and writes a configuration so that it is read back to the same tree.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "models/schema/config_node.h"

namespace kvsim::schema {

/// Bounds that keep a hostile or broken file from exhausting memory; far above any real configuration.
struct YamlLimits {
  std::size_t text_bytes = std::size_t{16} << 20;      ///< size of the text
  std::size_t depth = 64;                              ///< maps and lists inside each other
  std::size_t values = 200'000;                        ///< values after aliases are copied
  std::size_t expanded_bytes = std::size_t{64} << 20;  ///< bytes of scalars and keys after aliases are copied
};

/// The one document of `text`. Throws InputError with `source_name:line:column` for: syntax errors, duplicate keys
/// (naming the line of the first), `<<` merge keys, several documents, tags other than !!str, !!map and !!seq, keys
/// that are not plain text, aliases of an enclosing value, an empty document, text that is not UTF-8 or holds control
/// characters, and anything above `limits`. Anchors and aliases are read by copying.
ConfigNode read_yaml(std::string_view text, const std::string& source_name, const YamlLimits& limits = {});

/// Reads a part of a source: `begin` is where it begins there, at the start of a line.
ConfigNode read_yaml(std::string_view text, const Origin& begin, const YamlLimits& limits = {});

/// Reads a file, which messages name by `path`; says so where it is missing, a directory or unreadable.
ConfigNode read_yaml_file(const std::string& path, const YamlLimits& limits = {});

// Writing.

/// Block style, two blanks per level, a final newline; short lists of scalars on one line.
std::string to_yaml(const ConfigNode& node);

/// On one line: {value: 80 GiB, source: datasheet}.
std::string to_flow_yaml(const ConfigNode& node);

/// JSON with plain numbers, true, false and null as such, everything else as strings.
nlohmann::ordered_json to_json(const ConfigNode& node);

}  // namespace kvsim::schema
