// How far a capacity search has come, on one line of the terminal.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <vector>

#include "planner/capacity/probe.h"

namespace kvsim::cli {

/// Shows nothing unless stderr is a terminal. Threads may report at the same time.
class CapacityProgress {
 public:
  explicit CapacityProgress(std::size_t configurations);
  ~CapacityProgress();
  CapacityProgress(const CapacityProgress&) = delete;
  CapacityProgress& operator=(const CapacityProgress&) = delete;

  /// A rate of configuration `i` has been probed.
  void report(std::size_t i, const planner::capacity::Probe& probe);

 private:
  bool enabled_;
  bool visible_ = false;
  std::mutex mutex_;
  std::vector<std::size_t> probes_;  // by configuration
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace kvsim::cli
