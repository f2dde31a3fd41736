// Schemas for programs (JSON Schema) and for people (a reference in Markdown).
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/schema/object_info.h"

namespace kvsim::schema {

/// The form of the document: keys, kinds, words, units and the ranges of bare numbers. Cross-field checks and ranges of
/// quantities with units are left to the parser, which refuses everything this schema refuses.
nlohmann::ordered_json make_json_schema(const ObjectInfo& info);

/// A heading and a table of keys for the object, then for every object nested in it, each type once.
/// `level`: number of # of the first heading.
std::string make_markdown(const ObjectInfo& info, int level = 2);

/// One field's value in words: "time, > 0 s", "one of `a`, `b`", "list of maps (storage)".
std::string describe_value(const FieldInfo& field);

}  // namespace kvsim::schema
