// Shell completion: the scripts that shells load are stubs, which ask kvsim itself about the line as it stands.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace kvsim::cli {

struct Shell {
  std::string_view name;
  std::string_view use;     ///< the line that makes the shell complete
  std::string_view script;  ///< calls `kvsim __complete NAME WORD...` and offers what that prints
};

std::span<const Shell> shells();

/// Throws schema::InputError with the names of all.
const Shell& find_shell(std::string_view name);

/// Candidates in place of the last of `words`, which follow "kvsim" on a command line. A candidate a line, as the
/// shell wants it: bash what replaces the word from its last = or : on; zsh and fish the word with its description.
/// Lines that begin with a colon say more: ":nospace" where a candidate may go on, ":files" and ":folders" where
/// the shell knows better.
std::string completions(const CLI::App& app, const Shell& shell, std::span<const std::string> words);

/// The keys of a scenario as --set takes them, without those within catalogue entries and lists.
std::vector<std::string> scenario_keys();

/// Throws std::logic_error where the table of values names an option that is not there.
void check_values(const CLI::App& app);

}  // namespace kvsim::cli
