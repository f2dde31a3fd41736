// Ctrl-C and its kin.
#pragma once

#include <exception>

namespace kvsim::cli {

/// The user ended the run. Exit status 130.
class Interrupted : public std::exception {};

/// From now on SIGINT and SIGTERM are only noted, the second one ends the program; writing to a closed pipe or past a
/// file size limit is an error of write(), not a signal. Signals that the caller ignores stay ignored.
void handle_signals();

/// Whether SIGINT or SIGTERM has come. May be called from any thread.
bool interrupted();

}  // namespace kvsim::cli
