// Figures that belong together: a YAML file in figures/, and the runner that reads it. A new figure is a few lines of
// YAML (docs/validation.md); a new group is a file, named in CMakeLists.txt.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tools/validation/book.h"
#include "tools/validation/figure.h"

namespace kvsim::validation {

struct Group {
  std::string name;
  std::string description;
  std::string_view path, text;  ///< its file
  /// Every figure of the group, what it needs simulated once; ids begin with the group's name and a slash. Throws
  /// schema::InputError where the file is wrong.
  [[nodiscard]] std::vector<Figure> figures(const Inputs& inputs) const;
};

/// All groups, in the order in which they are reported.
std::span<const Group> groups();

/// Throws schema::InputError with the nearest name.
const Group& find_group(std::string_view name);

/// The figures of a file's text; `path` is what errors call it, and its last part without .yaml the group's name.
std::vector<Figure> figures_of(std::string_view text, const std::string& path, const Inputs& inputs);

}  // namespace kvsim::validation
