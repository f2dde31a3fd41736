#include "tools/calibrate/host/interrupt.h"

#include <csignal>

#include <atomic>

namespace kvsim::calibrate {
namespace {

/// A signal handler can reach nothing but a variable of static storage.
std::atomic<bool>& noted() {
  static constinit std::atomic<bool> flag{false};
  return flag;
}

}  // namespace

void note_interrupts() {
  struct sigaction note {};
  note.sa_handler = [](int) { noted().store(true); };
  note.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&note.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &note, nullptr);
  }
}

bool interrupt_noted() {
  return noted().load();
}

void stop_if_interrupted() {
  if (interrupt_noted()) throw Interrupted();
}

}  // namespace kvsim::calibrate
