// What the values of options may be, as far as that is known: what shells offer after them.
#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/cli/named_things.h"

namespace kvsim::cli {

enum class Shape {
  none,        ///< a number, a text
  word,        ///< one of a set
  list,        ///< some of a set, with commas between
  assignment,  ///< one of a set, an equals sign, and more
  file,
  folder
};

struct Values {
  Shape shape = Shape::none;
  std::string set;  ///< its name; empty for the shapes that have none
};

/// Words that several options may share.
struct ValueSet {
  std::string name;
  std::vector<NamedThing> words;
};

/// What may stand after `option` (or in its place, where it is positional) of `command`.
Values values_of(const CLI::App& command, const CLI::Option& option);

/// The sets that values_of() names for any option below `app`, each once. Throws std::logic_error where the table of
/// values names an option that is not there.
std::vector<ValueSet> value_sets(const CLI::App& app);

}  // namespace kvsim::cli
