// A catalogue file that the binary carries, cut into the texts of its entries without being parsed: a scenario names a
// handful of entries among a hundred, and parsing all of them takes longer than simulating an hour.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/schema/config_node.h"

namespace kvsim::models {

/// One entry of a file, as text.
struct EntryText {
  std::string_view section;  ///< the key that it stands under: "gpus", "links", ...
  std::string_view name;
  std::string_view text;  ///< the lines of the entry, its name the first word of them
  schema::Origin begin;   ///< of the first line
  schema::Origin origin;  ///< of the name
};

/// The entries of `file` in the order written; they refer to it. Files are written as those that ship are: sections
/// begin a line, names of entries stand two blanks in, in no quotes, and what belongs to an entry stands further in. A
/// test reads every shipped file as YAML and compares.
[[nodiscard]] std::vector<EntryText> entry_texts(std::string_view file, const std::string& path);

/// The entry, parsed: what stands behind its name, with the positions it has in the file.
[[nodiscard]] schema::ConfigNode read_entry(const EntryText& entry);

}  // namespace kvsim::models
