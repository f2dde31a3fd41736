// Ctrl-C and its kin.
#pragma once

#include <stdexcept>
#include <string>

namespace kvsim::cli {

/// The user ended the run. what() says what is left of it. Exit status 130.
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(const std::string& left = "no results written") : std::runtime_error(left) {}
};

/// From now on SIGINT and SIGTERM are only noted, the second one ends the program; writing to a closed pipe or past a
/// file size limit is an error of write(), not a signal. Signals that the caller ignores stay ignored.
void handle_signals();

/// Whether SIGINT or SIGTERM has come. May be called from any thread.
bool interrupted();

}  // namespace kvsim::cli
