// How far a capacity search has come, on one line of the terminal.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

#include "planner/capacity/probe.h"
#include "tools/cli/status_line.h"

namespace kvsim::cli {

/// Shows nothing unless stderr is a terminal. Threads may report at the same time.
class CapacityProgress {
 public:
  explicit CapacityProgress(std::size_t configurations) : probes_(configurations, 0) {}

  /// A rate of configuration `i` has been probed.
  void report(std::size_t i, const planner::capacity::Probe& probe);

 private:
  StatusLine line_;
  std::mutex mutex_;
  std::vector<std::size_t> probes_;  // by configuration
};

}  // namespace kvsim::cli
