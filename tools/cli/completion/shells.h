// The shells that kvsim knows how to complete in. To add one: a function here in a file of its own, and a line in the
// table of shells.cpp.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace kvsim::cli {

struct Shell {
  std::string_view name;
  std::string_view description;
  /// A script for the shell, made by walking the commands below `app`.
  std::string (*script)(const CLI::App& app);
};

std::span<const Shell> shells();

std::string bash_script(const CLI::App& app);
std::string zsh_script(const CLI::App& app);
std::string fish_script(const CLI::App& app);

/// The first clause of a description, which has room beside an option.
std::string first_clause(const std::string& description);

/// `text` with `escape` before each of `special`.
std::string escaped(std::string_view text, std::string_view special, std::string_view escape = "\\");

}  // namespace kvsim::cli
