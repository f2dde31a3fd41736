// Hints for a word on the command line that no command or option has: what was probably meant.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace kvsim::cli {

/// The names of an app's commands, in the order of their declaration.
std::vector<std::string> command_names(const CLI::App& app);

/// `unknown option "--jsn"; did you mean "--json"?` for a word that `app` was given and does not know: an option or a
/// command that is spelt alike, an option of a serving engine, the key of a scenario that it is here, or the other
/// command that has it.
std::string about_leftover(const CLI::App& app, const std::string& word);

}  // namespace kvsim::cli
