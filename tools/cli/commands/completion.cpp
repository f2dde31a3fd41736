// kvsim completion: a script for the shell, made from the commands themselves.
#include <algorithm>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/schema/spelling.h"
#include "tools/cli/command.h"
#include "tools/cli/completion/shells.h"

namespace kvsim::cli {
namespace completion_internal {
namespace {

const Shell& find_shell(const std::string& name) {
  const auto all = shells();
  const auto found = std::find_if(all.begin(), all.end(), [&name](const Shell& shell) { return shell.name == name; });
  if (found != all.end()) return *found;
  std::vector<std::string> names;
  for (const Shell& shell : all) names.emplace_back(shell.name);
  throw schema::InputError(fmt::format("no completion for shell \"{}\"{}", name, schema::suggest(name, names)));
}

std::function<void(Console&)> declare(CLI::App& app) {
  auto name = std::make_shared<std::string>();
  app.add_option("SHELL", *name, "bash, zsh or fish")->required()->type_name("");
  std::string lines;
  for (const Shell& shell : shells()) lines += fmt::format("\n  {}", shell.description);
  app.footer("Example:" + lines);
  return [name, &app](Console& console) { console.print(find_shell(*name).script(*app.get_parent())); };
}

}  // namespace
}  // namespace completion_internal

extern const Command completion_command;
const Command completion_command{"completion", "Print a script that completes kvsim's arguments in a shell",
                                 ". <(kvsim completion bash)", completion_internal::declare};

}  // namespace kvsim::cli
