// Writes a configuration as YAML that the reader reads back to the same tree.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "models/schema/config_node.h"

namespace kvsim::schema {

/// Block style, two blanks per level, a final newline; short lists of scalars on one line.
std::string to_yaml(const ConfigNode& node);

/// On one line: {value: 80 GiB, source: datasheet}.
std::string to_flow_yaml(const ConfigNode& node);

/// JSON with plain numbers, true, false and null as such, everything else as strings.
nlohmann::ordered_json to_json(const ConfigNode& node);

}  // namespace kvsim::schema
