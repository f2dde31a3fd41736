// Values for figures that no path of a run's result has: catalogue entries, single transfers, timelines, recordings.
// Expressions name a probe like a function, `link(pcie5-x16, read, 8192, 1, 1)`, or behind a run,
// `staggered.mean_slice_s(/GPU, draft, 4)`.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/calibration/samples.h"
#include "planner/backtest/backtest.h"
#include "planner/experiment.h"
#include "sim/engine/recording_trace.h"
#include "tools/results/section.h"
#include "tools/validation/measured_data.h"

namespace kvsim::validation {

/// A run that figures ask: what it was, its result document, and its timeline where that was asked for.
struct SimulatedRun {
  scenario::Scenario scenario;
  results::Json document;
  serving::Timeline load;
  engine::RecordingTrace trace;
};

/// Measured data that was read, kept for the next figure.
struct ReadData {
  std::string folder;  ///< empty: there is none
  std::map<std::string, std::shared_ptr<const models::Samples>> kernels;
  std::map<std::string, std::shared_ptr<const planner::backtest::Recording>> recordings;
  std::map<std::string, std::shared_ptr<const planner::backtest::Backtest>> backtests;
};

struct Question {
  const std::vector<std::string>& arguments;
  const SimulatedRun* run;  ///< null for probes of no run
  ReadData& measured;
  /// Throws ExpressionError where the argument is no number.
  [[nodiscard]] double number(std::size_t i) const;
  /// The index of the argument among these words; throws ExpressionError with the nearest of them.
  [[nodiscard]] std::size_t word(std::size_t i, const std::vector<std::string>& words) const;
};

struct Probe {
  std::string_view name;
  std::size_t arguments = 0;
  bool of_run = false;
  double (*answer)(const Question& question) = nullptr;
};

/// All but those of measured data.
std::span<const Probe> probes();
/// Probes of measured kernels.
std::span<const Probe> measured_probes();
/// Probes of measured serving points.
std::span<const Probe> backtest_probes();
/// Probes of recorded serving runs.
std::span<const Probe> recording_probes();

}  // namespace kvsim::validation
