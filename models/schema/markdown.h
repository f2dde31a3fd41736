// The reference of a field table as Markdown, for the documentation and `kvsim show`.
#pragma once

#include <string>

#include "models/schema/object_info.h"

namespace kvsim::schema {

/// A heading and a table of keys for the object, then for every object nested in it, each type once.
/// `level`: number of # of the first heading.
std::string make_markdown(const ObjectInfo& info, int level = 2);

/// One field's value in words: "time, > 0 s", "one of `a`, `b`", "list of maps (storage)".
std::string describe_value(const FieldInfo& field);

}  // namespace kvsim::schema
