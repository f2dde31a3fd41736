// The man page kvsim(1), from the same definitions as --help.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace kvsim::cli {

/// In roff with the man macros: every command below `app`, every option with its type, choices and default.
std::string man_page(const CLI::App& app);

}  // namespace kvsim::cli
