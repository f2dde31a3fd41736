// JSON Schema (draft 2020-12) from a field table, for editors and for checking files without kvsim.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "models/schema/object_info.h"

namespace kvsim::schema {

/// The form of the document: keys, kinds, words, units and the ranges of bare numbers. Cross-field checks and ranges of
/// quantities with units are left to the parser, which refuses everything this schema refuses.
nlohmann::ordered_json make_json_schema(const ObjectInfo& info);

}  // namespace kvsim::schema
