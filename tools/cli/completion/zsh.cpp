#include <fmt/format.h>

#include "tools/cli/command_tree.h"
#include "tools/cli/completion/shells.h"
#include "tools/cli/completion/values.h"

namespace kvsim::cli {
namespace {

/// In single quotes.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string function_of(const CLI::App& app) {
  std::string name = "_kvsim";
  if (const std::string path = path_of(app); !path.empty()) name += "_" + path;
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

/// What _arguments does for a value. After a blank the words are run as they are.
std::string action(const Values& values) {
  switch (values.shape) {
    case Shape::none:
      return " ";
    case Shape::word:
      return fmt::format(" _kvsim__word \"{}\"", values.set);
    case Shape::list:
      return fmt::format(" _kvsim__list \"{}\"", values.set);
    case Shape::assignment:
      return fmt::format(" _kvsim__assignment \"{}\"", values.set);
    case Shape::file:
      return "_files";
    case Shape::folder:
      return "_files -/";
  }
  return {};
}

std::string value_part(const CLI::App& app, const CLI::Option& option) {
  const std::string type = option.get_positional() ? option.get_name(true) : type_of(option);
  return fmt::format(":{}:{}", escaped(type, ":\\"), action(values_of(app, option)));
}

std::string option_specs(const CLI::App& app, const CLI::Option& option) {
  const std::vector<std::string> names = names_of(option);
  std::string others;
  for (const std::string& name : names) others += (others.empty() ? "" : " ") + name;
  std::string out;
  for (const std::string& name : names) {
    std::string spec = repeatable(option) ? "*" : fmt::format("({})", others);
    spec += name + (takes_value(option) ? "=" : "");
    spec += fmt::format("[{}]", escaped(first_clause(option.get_description()), "[]\\"));
    if (takes_value(option)) spec += value_part(app, option);
    out += " \\\n    " + in_quotes(spec);
  }
  return out;
}

void add_functions(const CLI::App& app, std::string& out) {
  const std::vector<const CLI::App*> commands = subcommands_of(app);
  for (const CLI::App* command : commands) add_functions(*command, out);
  out += function_of(app) + "() {\n";
  if (!commands.empty()) out += "  local curcontext=\"$curcontext\" state line\n  local -A opt_args\n";
  out += commands.empty() ? "  _arguments" : "  _arguments -C";
  for (const CLI::Option* option : named_options_of(app)) out += option_specs(app, *option);
  for (const CLI::Option* option : positionals_of(app)) {
    out += " \\\n    " + in_quotes((repeatable(*option) ? "*" : "") + value_part(app, *option));
  }
  if (commands.empty()) {
    out += "\n}\n\n";
    return;
  }
  out += " \\\n    '1:command:->command' \\\n    '*::argument:->argument'\n  case \"$state\" in\n    command)\n";
  out += "      local -a commands=(\n";
  for (const CLI::App* command : commands) {
    const std::string entry = fmt::format("{}:{}", command->get_name(), command->get_description());
    out += fmt::format("        {}\n", in_quotes(entry));
  }
  out += "      )\n      _describe command commands\n      ;;\n    argument)\n      case \"$line[1]\" in\n";
  for (const CLI::App* command : commands) {
    out += fmt::format("        {}) {} ;;\n", command->get_name(), function_of(*command));
  }
  out += "      esac\n      ;;\n  esac\n}\n\n";
}

std::string sets(const CLI::App& app) {
  std::string out;
  for (const ValueSet& set : value_sets(app)) {
    out += fmt::format("    {}) described=(\n", in_quotes(set.name));
    for (const NamedThing& word : set.words) {
      const std::string what = word.description.empty() ? "" : ":" + first_clause(word.description);
      out += fmt::format("      {}\n", in_quotes(escaped(word.name, ":\\") + what));
    }
    out += "    ) ;;\n";
  }
  return out;
}

}  // namespace

std::string zsh_script(const CLI::App& app) {
  std::string functions;
  add_functions(app, functions);
  return fmt::format(R"zsh(#compdef kvsim
# zsh completion of kvsim: kvsim completion zsh > FOLDER/_kvsim, with FOLDER in $fpath

# Two underscores: functions of commands have one. Sets the caller's `described`.
_kvsim__values() {{
  case "$1" in
{sets}  esac
}}

_kvsim__word() {{
  local -a described
  _kvsim__values "$1"
  _describe -t values value described
}}

_kvsim__list() {{
  local -a described
  _kvsim__values "$1"
  compset -P '*,'
  compset -S ',*'
  _describe -t values value described -qS ,
}}

_kvsim__assignment() {{
  local -a described
  if compset -P '*='; then
    _message value
    return
  fi
  _kvsim__values "$1"
  _describe -t values key described -qS =
}}

{functions}if [[ "$funcstack[1]" == _kvsim ]]; then
  _kvsim "$@"
else
  compdef _kvsim kvsim
fi
)zsh",
                     fmt::arg("sets", sets(app)), fmt::arg("functions", functions));
}

}  // namespace kvsim::cli
