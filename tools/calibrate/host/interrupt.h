// Ctrl-C.
#pragma once

#include <exception>

namespace kvsim::calibrate {

/// The user ended the run. Exit status 130.
class Interrupted : public std::exception {
 public:
  [[nodiscard]] const char* what() const noexcept override { return "interrupted"; }
};

/// From now on the first SIGINT or SIGTERM is noted; a second one ends the program at once.
void note_interrupts();
bool interrupt_noted();
/// Throws Interrupted where one was noted.
void stop_if_interrupted();

}  // namespace kvsim::calibrate
