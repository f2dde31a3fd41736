#include <fmt/format.h>

#include "tools/cli/command_tree.h"
#include "tools/cli/completion/shells.h"
#include "tools/cli/completion/values.h"

namespace kvsim::cli {
namespace {

/// In single quotes.
std::string fish_quoted(std::string_view text) {
  return "'" + escaped(text, "'\\") + "'";
}

std::string arguments(const Values& values) {
  switch (values.shape) {
    case Shape::none:
      return " -x";
    case Shape::word:
      return fmt::format(" -x -a {}", fish_quoted(fmt::format("(__kvsim_values \"{}\")", values.set)));
    case Shape::list:
      return fmt::format(" -x -a {}", fish_quoted(fmt::format("(__kvsim_list \"{}\")", values.set)));
    case Shape::assignment:
      return fmt::format(" -x -a {}", fish_quoted(fmt::format("(__kvsim_assignment \"{}\")", values.set)));
    case Shape::file:
      return " -r -F";
    case Shape::folder:
      return " -x -a '(__fish_complete_directories)'";
  }
  return {};
}

void add_command(const CLI::App& app, std::string& out) {
  const std::string path = path_of(app);
  const std::string at = path.empty() ? "__kvsim_ends_with" : "__kvsim_at " + path;
  for (const CLI::Option* option : named_options_of(app)) {
    out += fmt::format("complete -c kvsim -n {}", fish_quoted(at));
    for (const std::string& name : option->get_snames()) out += " -s " + name;
    for (const std::string& name : option->get_lnames()) out += " -l " + name;
    if (takes_value(*option)) out += arguments(values_of(app, *option));
    out += fmt::format(" -d {}\n", fish_quoted(first_clause(option->get_description())));
  }
  for (const CLI::Option* option : positionals_of(app)) {
    const Values values = values_of(app, *option);
    if (values.shape == Shape::none) continue;
    // -x and -r are about an option's value; here there is none.
    std::string offered = arguments(values);
    offered.erase(0, offered.find(" -", 1));
    out += fmt::format("complete -c kvsim -n {}{}\n", fish_quoted(at), offered);
  }
  for (const CLI::App* command : subcommands_of(app)) {
    out += fmt::format("complete -c kvsim -n {} -a {} -d {}\n",
                       fish_quoted("__kvsim_ends_with" + (path.empty() ? "" : " " + path)), command->get_name(),
                       fish_quoted(command->get_description()));
  }
  for (const CLI::App* command : subcommands_of(app)) add_command(*command, out);
}

std::string fish_sets(const CLI::App& app) {
  std::string out;
  for (const ValueSet& set : value_sets(app)) {
    out += fmt::format("        case {}\n            printf '%s\\t%s\\n'", fish_quoted(set.name));
    for (const NamedThing& word : set.words) {
      out += fmt::format(" \\\n                {} {}", fish_quoted(word.name),
                         fish_quoted(first_clause(word.description)));
    }
    out += "\n";
  }
  return out;
}

}  // namespace

std::string fish_script(const CLI::App& app) {
  std::string commands;
  add_command(app, commands);
  return fmt::format(R"fish(# fish completion of kvsim: kvsim completion fish | source
function __kvsim_values
    switch "$argv"
{sets}    end
end

function __kvsim_list
    set -l before (string match -r '.*,' -- (commandline -ct | string replace -r '^--[^=]*=' ''))
    __kvsim_values $argv | string replace -r '^' -- "$before"
end

function __kvsim_assignment
    __kvsim_values $argv | string replace \t =\t
end

# Whether the command line begins with these words.
function __kvsim_at
    set -l words (commandline -opc)
    set -l last (math 1 + (count $argv))
    test "$words[2..$last]" = "$argv"
end

# Whether it has no others before the cursor.
function __kvsim_ends_with
    set -l words (commandline -opc)
    test "$words" = "$words[1] $argv" -o "$words" = "$words[1]" -a -z "$argv"
end

complete -c kvsim -f
{commands})fish",
                     fmt::arg("sets", fish_sets(app)), fmt::arg("commands", commands));
}

}  // namespace kvsim::cli
