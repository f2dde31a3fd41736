// How kvsim ends: its exit status, and the signals that end it early.
#pragma once

#include <array>
#include <span>
#include <stdexcept>
#include <string>

namespace kvsim::cli {

/// For main.cpp, which returns it, and for the man page.
enum ExitStatus { kDone = 0, kFailed = 1, kBadInput = 2, kInfeasible = 4, kInterrupted = 130, kTerminated = 143 };

struct StatusMeaning {
  ExitStatus status;
  const char* meaning;  ///< sentences
};

inline constexpr std::array<StatusMeaning, 6> kStatusMeanings{
    {{kDone, "Done. A reader that closes the pipe early is no error."},
     {kFailed, "An error at run time, such as a full disk, or a figure of validate outside its tolerance."},
     {kBadInput, "Bad usage or bad input. The message names the option, or file, line and column."},
     {kInfeasible, "Nothing meets the constraints. The message says what comes nearest."},
     {kInterrupted,
      "Interrupted by SIGINT. Nothing is left half written; run has written what the replications that had finished "
      "come"
      " to, capacity the configurations that were done, and sweep --resume goes on."},
     {kTerminated, "The same by SIGTERM."}}};

/// The user, or whoever manages jobs, ended the run. what() says what is left of it. Its exit status is
/// interrupted_status().
class Interrupted : public std::runtime_error {
 public:
  explicit Interrupted(const std::string& left = "no results written") : std::runtime_error(left) {}
};

/// From now on SIGINT and SIGTERM end the program at once, with the message and the status of Interrupted, until
/// note_signals(): a command that only reads leaves nothing, and whoever waits for a pipe asks nobody. Writing to a
/// closed pipe or past a file size limit is an error of write(), not a signal. Signals that the caller ignores stay
/// ignored.
void handle_signals();

/// From now on SIGINT and SIGTERM are noted, and the second one ends the program: something is begun that has to be
/// tidied up, or says how far it came, and asks interrupted() whether it may go on. Output files and lines of progress
/// call it themselves.
void note_signals();

/// Whether SIGINT or SIGTERM has come and was noted. May be called from any thread.
bool interrupted();

/// 128 + the signal that has come.
ExitStatus interrupted_status();

/// While it lives, SIGINT and SIGTERM end the program at once again, after note_signals() too: for what takes long, is
/// not asked whether it may go on and leaves nothing but a lock and folders, such as reading a file. One at a time.
class EndsAtOnce {
 public:
  /// `left` are files and, innermost first, folders, which are removed where they are empty; they must outlive it.
  explicit EndsAtOnce(std::span<const std::string> left = {});
  ~EndsAtOnce();
  EndsAtOnce(const EndsAtOnce&) = delete;
  EndsAtOnce& operator=(const EndsAtOnce&) = delete;

  /// For the handler of signals, of what such may call.
  [[noreturn]] void end(int signal) const;

 private:
  std::span<const std::string> left_;
};

}  // namespace kvsim::cli
