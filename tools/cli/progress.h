// How far runs have come, on one line of the terminal.
#pragma once

#include <cstddef>
#include <mutex>
#include <optional>
#include <vector>

#include "tools/cli/status_line.h"

namespace kvsim::cli {

/// Shows nothing unless stderr is a terminal. Threads may report at the same time.
class Progress {
 public:
  struct Run {
    std::optional<double> duration_s;  ///< simulated; none: unknown
    std::size_t replications = 1;
  };

  explicit Progress(const std::vector<Run>& runs);

  void report(std::size_t run, std::size_t replication, double simulated_s);
  void finished(std::size_t run);

 private:
  struct State {  // of a replication
    std::optional<double> goal_s;
    double simulated_s = 0;
    bool done = false;
  };
  void show();

  StatusLine line_;
  std::mutex mutex_;
  std::vector<std::vector<State>> states_;  // by run and replication
};

}  // namespace kvsim::cli
