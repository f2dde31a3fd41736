// kvsim completion: a script for the shell, made from the commands themselves.
#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/cli/command.h"
#include "tools/cli/named_things.h"
#include "tools/validation/group.h"

namespace kvsim::cli {
namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// Options and commands that may follow `app`, and the words its argument takes.
std::string words_after(const CLI::App& app) {
  std::string words;
  for (const CLI::App* command : commands_of(app)) words += command->get_name() + " ";
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) words += "--" + name + " ";
  }
  if (app.get_name() == "list") {
    for (const ThingKind& kind : thing_kinds()) words += std::string(kind.plural) + " ";
  }
  if (app.get_name() == "validate") {
    for (const validation::Group& group : validation::groups()) words += std::string(group.name) + " ";
  }
  if (!words.empty()) words.pop_back();
  return words;
}

void add_cases(const CLI::App& app, const std::string& path, std::string& out) {
  out += fmt::format("    \"{}\") words=\"{}\" ;;\n", path, words_after(app));
  for (const CLI::App* command : commands_of(app)) {
    add_cases(*command, path.empty() ? command->get_name() : path + " " + command->get_name(), out);
  }
}

std::string names(const CLI::App& app) {
  std::string out;
  for (const CLI::App* command : commands_of(app)) {
    out += fmt::format("{}{}", out.empty() ? "" : "|", command->get_name());
    for (const CLI::App* sub : commands_of(*command)) out += "|" + sub->get_name();
  }
  return out;
}

std::string bash_script(const CLI::App& app) {
  std::string cases;
  add_cases(app, "", cases);
  return fmt::format(R"bash(# bash completion of kvsim: . <(kvsim completion bash)
_kvsim() {{
  local word path="" words="" i
  word="${{COMP_WORDS[COMP_CWORD]}}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "${{COMP_WORDS[i]}}" in
      {}) path="${{path:+$path }}${{COMP_WORDS[i]}}" ;;
    esac
  done
  case "$path" in
{}  esac
  if [[ "$path" == show && "$word" != -* ]]; then
    words="$(kvsim list --json 2>/dev/null | sed -n 's/.*"name": "\(.*\)".*/\1/p')"
  fi
  COMPREPLY=($(compgen -W "$words" -- "$word"))
}}
complete -o default -F _kvsim kvsim
)bash",
                     names(app), cases);
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash")->required()->type_name("");
  return [shell, &app](Console& console) {
    if (*shell != "bash")
      throw schema::InputError(fmt::format("no completion for shell \"{}\", expected bash", *shell));
    console.print(bash_script(*app.get_parent()));
  };
}

}  // namespace

extern const Command completion_command;
const Command completion_command{"completion", "Print a script that completes kvsim's arguments in a shell",
                                 ". <(kvsim completion bash)", declare};

}  // namespace kvsim::cli
