// What kvsim's exit status says: for main.cpp, which returns it, and for the man page.
#pragma once

#include <array>

namespace kvsim::cli {

enum ExitStatus { kDone = 0, kFailed = 1, kBadInput = 2, kInfeasible = 4, kInterrupted = 130 };

struct StatusMeaning {
  ExitStatus status;
  const char* meaning;  ///< sentences
};

inline constexpr std::array<StatusMeaning, 5> kStatusMeanings{
    {{kDone, "Done. A reader that closes the pipe early is no error."},
     {kFailed, "An error at run time, such as a full disk, or a figure of validate outside its tolerance."},
     {kBadInput, "Bad usage or bad input. The message names the option, or file, line and column."},
     {kInfeasible, "Nothing meets the constraints. The message says what comes nearest."},
     {kInterrupted, "Interrupted by SIGINT or SIGTERM. Nothing is left half written; sweep --resume goes on."}}};

}  // namespace kvsim::cli
