#include "tools/cli/signals.h"

#include <csignal>

#include <atomic>

namespace kvsim::cli {
namespace {

std::atomic<int> noted{0};  // the signal
static_assert(std::atomic<int>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

}  // namespace

void handle_signals() {
  struct sigaction note {};
  note.sa_handler = [](int signal) { noted.store(signal); };
  note.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigemptyset(&note.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) {
    struct sigaction before {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_IGN) sigaction(signal, &note, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
}

bool interrupted() {
  return noted.load() != 0;
}

ExitStatus interrupted_status() {
  return noted.load() == SIGTERM ? kTerminated : kInterrupted;
}

}  // namespace kvsim::cli
