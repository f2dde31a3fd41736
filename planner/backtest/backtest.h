// Measured serving points simulated, and by how much the predictions miss.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/calibration/fit_problem.h"
#include "planner/backtest/point_scenario.h"
#include "planner/stated_error.h"
#include "sim/serving/bottleneck.h"

namespace kvsim::planner::backtest {

/// Result of a simulated point. TPOT is the mean over requests of (last token - first token) / (output tokens - 1),
/// TTFT the mean over requests of the time from sending to the first token.
struct Prediction {
  double ttft_s = 0;
  double tpot_s = 0;  ///< NaN where every request has one token
  double output_tokens_per_s = 0;
  serving::Bottleneck bound_by;  ///< what the GPUs' time went to
  double memory_short = 0;       ///< share of the GPUs' time in which a request waited for GPU memory
  double tokeniser_busy = 0;     ///< share of the time in which the threads that tokenise were at work
  std::uint64_t preemptions = 0;
  double output_tokens = 0;  ///< of a request, on average
};

/// A recording beside its replay.
struct Replayed {
  std::vector<LatencyBeside> latencies;
  std::vector<LoadBeside> load;  ///< empty where it was not recorded
};

struct BacktestPoint {
  ServingPoint point;
  PointGroup group;
  std::string out_of_scope;  ///< why it was not simulated, in words that points have in common; empty: it was
  std::string detail;        ///< the same more precisely, where there is more to say
  ModelKind kind = ModelKind::dense;
  std::optional<Prediction> predicted;
  std::optional<Replayed> replayed;    ///< of recordings
  std::vector<std::string> fallbacks;  ///< figures that had to be replaced, in words

  // predicted / measured - 1; none where either is missing.
  [[nodiscard]] std::optional<double> tpot_error() const;
  [[nodiscard]] std::optional<double> ttft_error() const;
  [[nodiscard]] std::optional<double> throughput_error() const;
  /// Error of TTFT + (output tokens - 1) x TPOT.
  [[nodiscard]] std::optional<double> e2e_error() const;
};

struct PointErrors {
  models::ErrorSummary tpot, ttft, throughput;
};

struct GroupErrors {
  PointGroup group;
  std::size_t points = 0;
  PointErrors errors;
};

struct OutOfScope {
  std::string reason;
  std::size_t points = 0;
  std::vector<std::string> first;  ///< some of their ids
};

struct Backtest {
  std::vector<std::string> files;
  std::vector<BacktestPoint> points;  ///< in the order of the files
  std::vector<std::string> changes;   ///< as of --set, of every scenario
  bool interrupted = false;

  [[nodiscard]] std::size_t simulated() const;
  /// Errors of all points of a group, by the group's words.
  [[nodiscard]] std::vector<GroupErrors> by_group() const;
  /// Errors by engine alone: the other words of the group are empty.
  [[nodiscard]] std::vector<GroupErrors> by_engine() const;
  [[nodiscard]] PointErrors overall() const;
  /// The most frequent reason first.
  [[nodiscard]] std::vector<OutOfScope> out_of_scope() const;
};

struct BacktestOptions {
  std::vector<std::string> include;  ///< files with further catalogue entries
  std::vector<std::string> changes;  ///< `a.b.c=v`, of every scenario
  int jobs = 1;                      ///< points at once; no result depends on it
  std::function<bool()> proceed;     ///< whether to go on, asked often and from any thread; may be empty
  std::function<void()> finished;    ///< told of every point that is done, from any thread; may be empty
};

/// Simulates every point. What kvsim cannot describe or cannot simulate is out of scope. Throws schema::InputError for
/// changes and included files that are wrong, and what run_experiment throws.
[[nodiscard]] Backtest run_backtest(std::vector<ServingPoint> points, const BacktestOptions& options);

/// Throws schema::InputError, with the nearest key, where a change (`a.b.c=v`) names what the scenario of a point
/// cannot have, or gives it another kind of value.
void check_changes(const schema::ConfigNode& document, const std::vector<std::string>& changes);

/// Errors of the points, for stated_error(): groups whose points have all three figures. Intervals are widened so
/// that those of groups left out hold nine tenths of their points. Ratios have three digits.
[[nodiscard]] StatedErrors stated_errors_of(const Backtest& backtest);

}  // namespace kvsim::planner::backtest
