// How far things have come, on one line of the terminal: nothing is shown unless stderr is one.
#pragma once

#include <chrono>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace kvsim::planner::capacity {
struct Probe;
}

namespace kvsim::cli {

/// The line; gone when it is destroyed. For one thread at a time.
class StatusLine {
 public:
  StatusLine();
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  [[nodiscard]] bool enabled() const { return enabled_; }
  /// Whether the line that is shown is old enough for another one.
  [[nodiscard]] bool due() const;
  /// Since the line was made.
  [[nodiscard]] double elapsed_s() const;
  void show(const std::string& text);

 private:
  bool enabled_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_;
  bool visible_ = false;
};

/// Of runs. Threads may report at the same time, here and below.
class RunProgress {
 public:
  struct Run {
    std::optional<double> duration_s;  ///< simulated; none: unknown
    std::size_t replications = 1;
  };

  explicit RunProgress(const std::vector<Run>& runs);

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

/// How many points of a sweep are done.
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

/// How far a capacity search has come.
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
