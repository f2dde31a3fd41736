// Options that take whole numbers, with a message that says what was expected.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

namespace kvsim::cli {

/// Declares an option whose value is a whole number in [least, most]; `use` gets it.
CLI::Option* add_whole_number(CLI::App& app, const std::string& name, std::int64_t least, std::int64_t most,
                              const std::function<void(std::int64_t)>& use, const std::string& description);

}  // namespace kvsim::cli
