#include "tools/cli/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

namespace kvsim::cli {
namespace {

std::atomic<int> noted{0};  // the signal
std::atomic<bool> only_noted{false};
std::atomic<const EndsAtOnce*> at_once{nullptr};
static_assert(std::atomic<int>::is_always_lock_free && std::atomic<bool>::is_always_lock_free &&
                  std::atomic<const EndsAtOnce*>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

/// Ends the process by calls that a signal handler may make.
[[noreturn]] void end_now(int signal, std::span<const std::string> left) {
  for (const std::string& path : left) {
    if (::unlink(path.c_str()) != 0 && ::rmdir(path.c_str()) != 0) break;  // there is something in it
  }
  constexpr std::string_view said = "kvsim: interrupted, no results written\n";
  static_cast<void>(::write(STDERR_FILENO, said.data(), said.size()) + 0);
  ::_exit(signal == SIGTERM ? kTerminated : kInterrupted);
}

void note_or_end(int signal) {
  if (const EndsAtOnce* now = at_once.load()) now->end(signal);
  if (!only_noted.load()) end_now(signal, {});
  noted.store(signal);
}

}  // namespace

EndsAtOnce::EndsAtOnce(std::span<const std::string> left) : left_(left) {
  at_once.store(this);
  if (const int signal = noted.load(); signal != 0) end(signal);  // it has come before
}

EndsAtOnce::~EndsAtOnce() {
  at_once.store(nullptr);
}

void EndsAtOnce::end(int signal) const {
  end_now(signal, left_);
}

void note_signals() {
  only_noted.store(true);
}

void handle_signals() {
  struct sigaction note {};
  note.sa_handler = note_or_end;
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
