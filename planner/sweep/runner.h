// Runs the points of a sweep. A point is one task: its replications, on the same seeds as every other point's.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "planner/experiment.h"
#include "planner/sweep/journal.h"
#include "planner/sweep/plan.h"
#include "sim/scenario/keys_without_effect.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::sweep {

struct RunnerOptions {
  int jobs = 1;  ///< points at once; no result depends on it
  /// Turns what a point came to into JSON on one line. Called from any thread.
  std::function<std::string(scenario::Scenario, ExperimentResult)> encode;
  /// Assumptions of a scenario, in words. Called from any thread. May be empty.
  std::function<std::vector<std::string>(const scenario::Scenario&)> assumptions;
  /// How wrong what a point came to may be, in words. Called from any thread. May be empty.
  std::function<std::vector<std::string>(const scenario::Scenario&, const serving::Measurements&)> how_sure;
  /// Shown the scenario of every point that check_points reads and that can be simulated. Called from any thread. May
  /// be empty.
  std::function<void(const scenario::Scenario&)> checked;
  /// Whether to go on, asked often and from any thread; false interrupts. May be empty.
  std::function<bool()> proceed;
  /// Told of every point that has been done with. Called from any thread. May be empty.
  std::function<void()> finished;
};

struct SweepResult {
  std::vector<PointResult> points;  ///< by number; where interrupted, those that were done
  bool interrupted = false;
};

/// The numbers of the plan's points that are not in `done`.
std::vector<std::size_t> remaining(const Plan& plan, const std::vector<PointResult>& done);

/// The keys that no point reads, of the whole design: a shard alone may lack the points that read one. Points that
/// cannot be simulated read nothing.
scenario::UnreadByAll unread_by_all(const scenario::ScenarioFile& file, const Design& design, int jobs);

/// Reads every point as running it would, so that a mistake in the last one does not cost the time of all others.
/// Points that cannot be simulated pass. Throws schema::InputError of the first one that is wrong. False where
/// `options.proceed` ended it.
bool check_points(const scenario::ScenarioFile& file, const Design& design, const std::vector<std::size_t>& points,
                  const RunnerOptions& options);

/// Runs the points of the plan that are not in `done`, and returns all. Every point that finishes goes to `journal`
/// (may be null) first. Throws JournalError, schema::InputError, and what run_experiment throws except
/// serving::ConfigurationError, which makes the point one that cannot be simulated.
SweepResult run_sweep(const scenario::ScenarioFile& file, const Plan& plan, std::vector<PointResult> done,
                      Journal* journal, const RunnerOptions& options);

}  // namespace kvsim::planner::sweep
