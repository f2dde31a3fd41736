#include "tools/cli/usage_hints.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/not_modelled.h"
#include "models/schema/spelling.h"
#include "tools/cli/command.h"
#include "tools/cli/completion.h"

namespace kvsim::cli {
namespace {

struct Hint {
  std::string_view word, hint;
};

// Commands and options of other programs.
constexpr std::array kOtherPrograms{
    Hint{"--dry-run", "`kvsim check SCENARIO` reads a scenario and runs nothing"},
    Hint{"--format", "--json prints JSON, `kvsim report --format` writes a report as Markdown or CSV"},
    Hint{"--output", "give --out"},
    Hint{"--quiet", "progress and warnings go to stderr, 2>/dev/null hides them"},
    Hint{"--verbose", "`kvsim check SCENARIO --full` says all that is set, --json all results"},
    Hint{"-q", "progress and warnings go to stderr, 2>/dev/null hides them"},
    Hint{"-v", "`kvsim --version` prints the version"},
    Hint{"help", "`kvsim --help` lists the commands, `kvsim run --help` the options of one"},
    Hint{"init", "copy one of the files in scenarios/; docs/tutorial.md writes one from nothing"},
    Hint{"optimize", "`kvsim plan` chooses settings, `kvsim capacity` machines"},
    Hint{"simulate", "`kvsim run` simulates a scenario"},
    Hint{"version", "`kvsim --version` prints the version"},
};

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

bool has(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// "kvsim plan --export", "kvsim model import": the commands below `app` that have the option or are the command.
void find_elsewhere(const CLI::App& app, const std::string& name, std::vector<std::string>& found) {
  const std::string option = "--" + name.substr(std::min(name.find_first_not_of('-'), name.size()));
  for (const CLI::App* command : subcommands_of(app)) {
    const std::string path = "`kvsim " + path_of(*command);
    if (command->get_name() == name) found.push_back(path + "`");
    if (has(option_names(*command), option)) found.push_back(path + " " + option + "`");
    find_elsewhere(*command, name, found);
  }
}

std::string elsewhere(const CLI::App& app, const std::string& name) {
  const CLI::App* root = &app;
  while (root->get_parent() != nullptr) root = root->get_parent();
  std::vector<std::string> found;
  find_elsewhere(*root, name, found);
  constexpr std::size_t most = 3;  // an option that more have says nothing
  return found.empty() || found.size() > most ? "" : fmt::format("; there is {}", fmt::join(found, ", "));
}

/// The keys nearest to the root of a scenario whose last part is an option's name: "workload.arrivals.rate" of "rate".
std::vector<std::string> keys_of_option(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  std::vector<std::string> found;
  std::ptrdiff_t least = 0;
  for (const std::string& key : scenario_keys()) {
    if (key.substr(key.rfind('.') + 1) != name) continue;
    const std::ptrdiff_t depth = std::count(key.begin(), key.end(), '.');
    if (!found.empty() && depth > least) continue;
    if (depth < least) found.clear();
    least = depth;
    found.push_back(key);
  }
  return found;
}

std::string about_option(const CLI::App& app, const std::string& name) {
  const std::string bare = name.substr(std::min(name.find_first_not_of('-'), name.size()));
  const std::vector<std::string> options = option_names(app);
  if (has(options, "--set")) {
    if (const std::string_view key = schema::key_of_engine_option(bare); !key.empty()) {
      return fmt::format("; give --set {}=VALUE", key);
    }
    if (const std::vector<std::string> keys = keys_of_option(bare); keys.size() == 1) {
      return fmt::format("; give --set {}=VALUE", keys.front());
    }
  }
  const std::string meant = schema::did_you_mean(schema::nearest(name, options));
  return meant.empty() ? elsewhere(app, name) : "; " + meant;
}

}  // namespace

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : subcommands_of(app)) names.push_back(command->get_name());
  return names;
}

std::string about_leftover(const CLI::App& app, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const bool option = word.starts_with("-");
  const std::vector<std::string> commands = command_names(app);
  if (!option && commands.empty()) return fmt::format("unexpected argument \"{}\"", word);
  const std::string unknown = fmt::format("unknown {} \"{}\"", option ? "option" : "command", option ? name : word);
  for (const Hint& other : kOtherPrograms) {
    if (other.word == name) return fmt::format("{}; {}", unknown, other.hint);
  }
  if (option) return unknown + about_option(app, name);
  const std::string there = elsewhere(app, word);
  return unknown + (there.empty() ? schema::suggest(word, commands) : there);
}

}  // namespace kvsim::cli
