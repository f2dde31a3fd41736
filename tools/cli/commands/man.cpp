// kvsim man: the man page, made from the commands themselves.
#include "tools/cli/command.h"
#include "tools/cli/man/man_page.h"

namespace kvsim::cli {
namespace man_internal {
namespace {

std::function<void(Console&)> declare(CLI::App& app) {
  return [&app](Console& console) { console.print(man_page(*app.get_parent())); };
}

}  // namespace
}  // namespace man_internal

extern const Command man_command;
const Command man_command{"man", "Print the man page kvsim(1) in roff", "kvsim man | man -l -", man_internal::declare};

}  // namespace kvsim::cli
