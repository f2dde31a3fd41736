#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/command_tree.h"
#include "tools/cli/completion/shells.h"
#include "tools/cli/completion/values.h"

namespace kvsim::cli {
namespace {

/// "list:policies", what _kvsim offers; empty where nothing is known.
std::string offer(const Values& values) {
  switch (values.shape) {
    case Shape::none:
      return {};
    case Shape::word:
      return "word:" + values.set;
    case Shape::list:
      return "list:" + values.set;
    case Shape::assignment:
      return "assignment:" + values.set;
    case Shape::file:
      return "file:";
    case Shape::folder:
      return "folder:";
  }
  return {};
}

/// Offers after options that take a value, and in the place of positional words.
void add_offers(const CLI::App& app, std::string& out) {
  for (const CLI::Option* option : named_options_of(app)) {
    if (!takes_value(*option)) continue;
    for (const std::string& name : names_of(*option)) {
      out += fmt::format("    \"{} {}\") offer=\"{}\" ;;\n", path_of(app), name, offer(values_of(app, *option)));
    }
  }
  for (const CLI::App* command : subcommands_of(app)) add_offers(*command, out);
}

void add_words(const CLI::App& app, std::string& out) {
  std::string options;
  for (const CLI::Option* option : named_options_of(app)) {
    for (const std::string& name : names_of(*option)) {
      if (name.starts_with("--")) options += (options.empty() ? "" : " ") + name;
    }
  }
  std::vector<std::string> commands;
  for (const CLI::App* command : subcommands_of(app)) commands.push_back(command->get_name());
  const std::vector<const CLI::Option*> positionals = positionals_of(app);
  out += fmt::format("      \"{}\") options=\"{}\" commands=\"{}\" offer=\"{}\" ;;\n", path_of(app), options,
                     fmt::join(commands, " "), positionals.empty() ? "" : offer(values_of(app, *positionals.front())));
  for (const CLI::App* command : subcommands_of(app)) add_words(*command, out);
}

std::string bash_sets(const CLI::App& app) {
  std::string out;
  for (const ValueSet& set : value_sets(app)) {
    std::string words;
    for (const NamedThing& word : set.words) words += (words.empty() ? "" : " ") + word.name;
    out += fmt::format("    \"{}\") echo \"{}\" ;;\n", set.name, words);
  }
  return out;
}

/// Commands that have commands.
std::string parents(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : subcommands_of(app)) {
    if (!subcommands_of(*command).empty()) out += (out.empty() ? "" : "|") + command->get_name();
  }
  return out;
}

}  // namespace

std::string bash_script(const CLI::App& app) {
  std::string offers, words;
  add_offers(app, offers);
  add_words(app, words);
  return fmt::format(R"bash(# bash completion of kvsim: . <(kvsim completion bash)
_kvsim_values() {{
  case "$1" in
{sets}  esac
}}

_kvsim() {{
  # bash splits words at = and :, which belong to ours: the line itself is read.
  local line="${{COMP_LINE:0:COMP_POINT}}" word option path offer="-" options="" commands="" before="" list
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  word="${{words[${{#words[@]}}-1]}}"
  option="${{words[${{#words[@]}}-2]}}"
  if [[ "$word" == --*=* ]]; then
    option="${{word%%=*}}"
    word="${{word#*=}}"
  fi
  path=""
  if [[ ${{#words[@]}} -gt 2 ]]; then
    path="${{words[1]}}"
    case "$path" in
      {parents}) [[ ${{#words[@]}} -gt 3 ]] && path="$path ${{words[2]}}" ;;
    esac
  fi
  case "$path $option" in
{offers}  esac
  if [[ "$offer" == - ]]; then
    case "$path" in
{words}    esac
    [[ "$word" == -* || ( -z "$commands" && ( -z "$offer" || "$offer" == - ) ) ]] && offer="" commands="$options"
  fi
  COMPREPLY=()
  case "$offer" in
    word:*) commands="$(_kvsim_values "${{offer#*:}}")" ;;
    list:*)
      commands="$(_kvsim_values "${{offer#*:}}")"
      [[ "$word" == *,* ]] && before="${{word%,*}},"
      compopt -o nospace 2> /dev/null
      ;;
    assignment:*)
      [[ "$word" == *=* ]] && return
      commands="$(_kvsim_values "${{offer#*:}}")"
      commands="${{commands// /= }}="
      compopt -o nospace 2> /dev/null
      ;;
    file:) compopt -o default 2> /dev/null; return ;;
    folder:) compopt -o dirnames 2> /dev/null; return ;;
  esac
  for list in $(compgen -W "$commands" -- "${{word#"$before"}}"); do
    list="$before$list"
    # readline replaces only what follows the last = or : that is typed.
    if [[ "$word" == *[=:]* ]]; then list="${{list#"${{word%"${{word##*[=:]}}"}}"}}"; fi
    COMPREPLY+=("$list")
  done
}}
complete -F _kvsim kvsim
)bash",
                     fmt::arg("sets", bash_sets(app)), fmt::arg("parents", parents(app)), fmt::arg("offers", offers),
                     fmt::arg("words", words));
}

}  // namespace kvsim::cli
