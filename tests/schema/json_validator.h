// As much of JSON Schema (draft 2020-12) as kvsim's schemas use, to check them against the parser.
#pragma once

#include <nlohmann/json.hpp>

namespace kvsim::schema {

/// Throws std::logic_error for keywords it does not know, so that no constraint goes unchecked.
bool json_is_valid(const nlohmann::ordered_json& schema, const nlohmann::ordered_json& value);

}  // namespace kvsim::schema
