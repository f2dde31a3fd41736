// kvsim completion: a script for the shell, which asks `kvsim __complete`.
#include "tools/cli/completion.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"

namespace kvsim::cli {
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
