// A command of kvsim. To add one: a file in commands/ that defines `const Command name_command`, and its line in the
// table of main.cpp.
#pragma once

#include <functional>

#include "tools/cli/console.h"

namespace CLI {
class App;
}

namespace kvsim::cli {

struct Command {
  const char* name;
  const char* description;
  const char* example;  ///< shown below the command's help
  /// Declares the command's arguments on `app`; what it returns runs once they have been read. Results go to the
  /// console, problems are thrown (main.cpp says which exception ends with which status).
  std::function<void(Console&)> (*declare)(CLI::App& app);
};

}  // namespace kvsim::cli
