// How far things have come: on one line of a terminal, else a line on stderr every half minute.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace kvsim::planner::capacity {
struct Probe;
struct ProbeProgress;
}  // namespace kvsim::planner::capacity

namespace kvsim::cli {

/// How often a line is written where stderr is no terminal, in seconds: $KVSIM_PROGRESS, else 30; 0: never.
[[nodiscard]] double seconds_between_lines();

/// The line; gone from a terminal when it is destroyed. Without a terminal "kvsim: TEXT, 60 s so far", by a thread of
/// its own, so that it comes whatever is done meanwhile. For one thread at a time.
class StatusLine {
 public:
  /// `text` is what is done until more is known; a terminal does not show it.
  explicit StatusLine(std::string text);
  ~StatusLine();
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Whether anybody sees it.
  [[nodiscard]] bool enabled() const { return terminal_ || writer_.joinable(); }
  /// Whether the line that is shown is old enough for another one.
  [[nodiscard]] bool due() const;
  /// Since the line was made.
  [[nodiscard]] double elapsed_s() const;
  void show(const std::string& text);

 private:
  void write_until_stopped(std::chrono::duration<double> period);

  bool terminal_;
  std::chrono::steady_clock::time_point begin_;
  std::chrono::steady_clock::time_point shown_;
  bool visible_ = false;

  std::mutex mutex_;
  std::condition_variable stop_;
  bool stopping_ = false;
  std::string text_;    // for writer_
  std::thread writer_;  // last: it uses the others
};

/// Progress of runs. Threads may report at the same time, here and below.
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
  PointProgress(std::size_t total, std::size_t before);

  /// One more point is done.
  void finished();

 private:
  [[nodiscard]] std::string done() const;

  std::size_t total_;
  std::size_t before_;
  std::size_t now_ = 0;
  std::mutex mutex_;
  StatusLine line_;  // last: it begins with what is done
};

/// How far a capacity search has come.
class CapacityProgress {
 public:
  explicit CapacityProgress(std::size_t configurations);

  /// A rate of configuration `i` has been probed.
  void report(std::size_t i, const planner::capacity::Probe& probe);
  /// A simulation has come so far. Said of fleets, whose simulations are long.
  void simulating(const planner::capacity::ProbeProgress& progress);

 private:
  StatusLine line_;
  std::mutex mutex_;
  std::vector<std::size_t> probes_;  // by configuration
};

}  // namespace kvsim::cli
