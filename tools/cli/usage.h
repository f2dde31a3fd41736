// What is wrong with a command line, and what was probably meant.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace kvsim::cli {

/// A message for the user, from what CLI11 found and what it left over.
std::string usage_message(const CLI::App& app, const CLI::ParseError& error);

}  // namespace kvsim::cli
