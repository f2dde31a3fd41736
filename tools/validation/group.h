// Figures that belong together. To add a group: a file in groups/ with a function that returns its figures, the
// function's declaration in groups/groups.h, and one line in the table of group.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/validation/figure.h"

namespace kvsim::validation {

/// What a group may read beside what the binary carries.
struct Inputs {
  /// The folder of measured data (measured_folder.h); empty where there is none, and figures that need it are skipped.
  std::string measured;
};

struct Group {
  std::string_view name;
  std::string_view description;
  /// Computes every figure of the group; ids begin with its name and a slash.
  std::vector<Figure> (*figures)(const Inputs& inputs) = nullptr;
};

/// All groups, in the order in which they are reported.
std::span<const Group> groups();

/// Throws schema::InputError with the nearest name.
const Group& find_group(std::string_view name);

}  // namespace kvsim::validation
