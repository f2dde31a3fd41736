// kvsim completion: a script for the shell, which asks `kvsim __complete`.
#include "tools/cli/completion.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "tools/cli/command.h"

namespace kvsim::cli {
namespace {

// Each reads the line itself where the shell would split it at = and :, which belong to our words.
constexpr std::string_view kBash = R"bash(# bash completion of kvsim: . <(kvsim completion bash)
_kvsim() {
  local line="${COMP_LINE:0:COMP_POINT}" candidate
  local -a words
  read -ra words <<< "$line"
  [[ "$line" == *[[:space:]] ]] && words+=("")
  COMPREPLY=()
  while IFS= read -r candidate; do
    case "$candidate" in
      :nospace) compopt -o nospace 2> /dev/null ;;
      :files) compopt -o default 2> /dev/null ;;
      :folders) compopt -o dirnames 2> /dev/null ;;
      *) COMPREPLY+=("$candidate") ;;
    esac
  done < <("${words[0]/#\~/$HOME}" __complete bash "${words[@]:1}" 2> /dev/null)
}
complete -F _kvsim kvsim
)bash";

constexpr std::string_view kZsh = R"zsh(#compdef kvsim
# zsh completion of kvsim: kvsim completion zsh > FOLDER/_kvsim, with FOLDER in $fpath
_kvsim() {
  local candidate
  local -a described suffix
  for candidate in "${(@f)$("${(Q)words[1]/#\~/$HOME}" __complete zsh "${(@Q)words[2,CURRENT]}" 2> /dev/null)}"; do
    case "$candidate" in
      :nospace) suffix=(-S '') ;;
      :files) compset -P 1 '--*='; _files; return ;;
      :folders) compset -P 1 '--*='; _files -/; return ;;
      ?*) described+=("$candidate") ;;
    esac
  done
  _describe -t values value described "${suffix[@]}"
}
if [[ "$funcstack[1]" == _kvsim ]]; then
  _kvsim "$@"
else
  compdef _kvsim kvsim
fi
)zsh";

constexpr std::string_view kFish = R"fish(# fish completion of kvsim: kvsim completion fish | source
function __kvsim_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l program (string replace -r '^~' "$HOME" -- $words[1])
    set -e words[1]
    set -l option (string match -r '^--[^=]*=' -- "$word")
    set -l path (string replace -r '^--[^=]*=' '' -- "$word")
    for candidate in (command $program __complete fish $words "$word" 2> /dev/null)
        switch "$candidate"
            case ':files'
                __fish_complete_path "$path" | string replace -r '^' -- "$option"
            case ':folders'
                __fish_complete_directories "$path" | string replace -r '^' -- "$option"
            case ':*'
            case '*'
                echo -- $candidate
        end
    end
end
complete -c kvsim -f -a '(__kvsim_complete)'
)fish";

constexpr std::array<Shell, 3> kShells{{{"bash", "source <(kvsim completion bash)", kBash},
                                        {"zsh", "kvsim completion zsh > FOLDER_IN_FPATH/_kvsim", kZsh},
                                        {"fish", "kvsim completion fish | source", kFish}}};

}  // namespace

std::span<const Shell> shells() {
  return kShells;
}

const Shell& find_shell(std::string_view name) {
  const auto* found = std::find_if(kShells.begin(), kShells.end(), [name](const Shell& s) { return s.name == name; });
  if (found != kShells.end()) return *found;
  std::vector<std::string> names;
  for (const Shell& shell : kShells) names.emplace_back(shell.name);
  throw schema::InputError(
      fmt::format("no completion for shell \"{}\"{}", name, schema::suggest(std::string(name), names)));
}

namespace completion_internal {
namespace {

std::function<void(Console&)> declare(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("SHELL", *name, "bash, zsh or fish")->required()->type_name("");
  std::string lines;
  for (const Shell& shell : shells()) lines += fmt::format("\n  {}", shell.use);
  app.footer("Example:" + lines);
  return [name, &app](Console& console) {
    check_values(*app.get_parent());
    console.print(find_shell(*name).script);
  };
}

}  // namespace
}  // namespace completion_internal

extern const Command completion_command;
const Command completion_command{"completion", "Print a script that completes kvsim's arguments in a shell",
                                 ". <(kvsim completion bash)", completion_internal::declare};

}  // namespace kvsim::cli
