// The six paths as words of a field table.
#pragma once

#include <vector>

#include "models/schema/scalar_spec.h"

namespace kvsim::models {

/// Each path's name and description; its value is the Path.
std::vector<schema::Word> path_words();

}  // namespace kvsim::models
