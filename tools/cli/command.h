// A command of kvsim. To add one: a file in commands/ that defines `const Command name_command`, and its line in the
// table of main.cpp.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/cli/console.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace kvsim::cli {

struct Command {
  const char* name;
  const char* description;
  const char* example;  ///< shown below the command's help
  /// Declares the command's arguments on `app`; what it returns runs once they have been read. Results go to the
  /// console, problems are thrown (main.cpp says which exception ends with which status).
  std::function<void(Console&)> (*declare)(CLI::App& app);
};

// The commands and options of an app, as whatever is generated from them walks it: the man page, shell completion.

/// In the order of their declaration.
std::vector<const CLI::App*> subcommands_of(const CLI::App& app);
std::vector<const CLI::Option*> named_options_of(const CLI::App& app);
std::vector<const CLI::Option*> positionals_of(const CLI::App& app);

/// The words that lead to a command, without kvsim itself: "workload info".
std::string path_of(const CLI::App& app);

/// "-h" and "--help", as they are typed.
std::vector<std::string> names_of(const CLI::Option& option);
bool takes_value(const CLI::Option& option);
/// May be given more than once, or be several words.
bool repeatable(const CLI::Option& option);
/// Word that stands for the value, "FILE"; empty where the option has no word for it.
std::string type_of(const CLI::Option& option);
/// The only words it takes (CLI::IsMember); empty: others too.
std::vector<std::string> choices_of(const CLI::Option& option);

/// A description without the line breaks that --help needs.
std::string on_one_line(std::string text);

}  // namespace kvsim::cli
