// How many points of a sweep are done, on one line of the terminal.
#pragma once

#include <cstddef>
#include <mutex>

#include "tools/cli/status_line.h"

namespace kvsim::cli {

/// Shows nothing unless stderr is a terminal. Threads may report at the same time.
class PointProgress {
 public:
  /// `before` of the `total` were done in an earlier sitting and tell nothing of the rate.
  PointProgress(std::size_t total, std::size_t before) : total_(total), before_(before) {}

  /// One more point is done.
  void finished();

 private:
  StatusLine line_;
  std::mutex mutex_;
  std::size_t total_;
  std::size_t before_;
  std::size_t now_ = 0;
};

}  // namespace kvsim::cli
