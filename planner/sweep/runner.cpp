#include "planner/sweep/runner.h"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "planner/parallel.h"
#include "planner/planned_dispatch.h"

namespace kvsim::planner::sweep {
namespace {

bool goes_on(const RunnerOptions& options) {
  return !options.proceed || options.proceed();
}

/// No value where it was interrupted.
std::optional<PointResult> run_point(const scenario::ScenarioFile& file, const Design& design, std::size_t point,
                                     int jobs, const RunnerOptions& options) {
  try {
    scenario::Scenario scenario = load_point(file, design, point);
    ExperimentOptions experiment;
    experiment.jobs = jobs;
    experiment.progress = [&options](std::size_t, double) { return goes_on(options); };
    const auto dispatched = with_best_planned_weights(scenario, [&options] { return goes_on(options); });
    ExperimentResult result = run_experiment(dispatched, experiment);
    if (result.interrupted) return std::nullopt;
    PointResult done{point, "", ""};
    if (options.assumptions) done.assumptions = options.assumptions(scenario);
    done.fallbacks = result.fallbacks;
    done.fallbacks.insert(done.fallbacks.end(), result.own_fallbacks.begin(), result.own_fallbacks.end());
    if (options.how_sure) done.how_sure = options.how_sure(scenario, result.measured);
    done.result = options.encode(std::move(scenario), std::move(result));
    return done;
  } catch (const scenario::UnworkableScenario& error) {
    return PointResult{point, error.reason(), ""};
  } catch (const serving::ConfigurationError& error) {
    return PointResult{point, fmt::format("{}: {}", error.key(), error.what()), ""};
  }
}

}  // namespace

std::vector<std::size_t> remaining(const Plan& plan, const std::vector<PointResult>& done) {
  std::vector<bool> known(plan.design.size());
  for (const PointResult& result : done) known[result.point] = true;
  std::vector<std::size_t> points = plan.points();
  std::erase_if(points, [&known](std::size_t point) { return known[point]; });
  return points;
}

scenario::UnreadByAll unread_by_all(const scenario::ScenarioFile& file, const Design& design, int jobs) {
  scenario::UnreadByAll all;
  std::mutex adding;
  std::atomic<bool> open{true};
  for_each_index(design.size(), jobs, [&](std::size_t point) {
    if (!open) return;
    try {
      const scenario::Scenario scenario = load_point(file, design, point);
      const std::scoped_lock lock(adding);
      all.add(scenario);
      open = all.open();
    } catch (const schema::InputError&) {
      // check_points says what is wrong with it.
    }
  });
  return all;
}

bool check_points(const scenario::ScenarioFile& file, const Design& design, const std::vector<std::size_t>& points,
                  const RunnerOptions& options) {
  std::atomic<bool> interrupted{false};
  for_each_index(points.size(), options.jobs, [&](std::size_t i) {
    if (interrupted || !goes_on(options)) {
      interrupted = true;
      return;
    }
    try {
      const scenario::Scenario scenario = load_point(file, design, points[i]);
      if (options.checked) options.checked(scenario);
    } catch (const scenario::UnworkableScenario&) {
      // Its row will say so.
    }
  });
  return !interrupted;
}

SweepResult run_sweep(const scenario::ScenarioFile& file, const Plan& plan, std::vector<PointResult> done,
                      Journal* journal, const RunnerOptions& options) {
  const std::vector<std::size_t> points = remaining(plan, done);
  if (points.empty()) {
    std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a.point < b.point; });
    return {std::move(done), false};
  }
  // Threads that would have no point of their own help with replications.
  const int jobs_each = std::max(1, options.jobs / static_cast<int>(std::min<std::size_t>(points.size(), 1U << 20U)));
  std::vector<std::optional<PointResult>> results(points.size());
  std::atomic<bool> interrupted{false};
  for_each_index(points.size(), options.jobs, [&](std::size_t i) {
    if (interrupted || !goes_on(options)) {
      interrupted = true;
      return;
    }
    std::optional<PointResult> result = run_point(file, plan.design, points[i], jobs_each, options);
    if (!result) {
      interrupted = true;
      return;
    }
    if (journal != nullptr) journal->append(*result);
    results[i] = std::move(result);
    if (options.finished) options.finished();
  });
  for (std::optional<PointResult>& result : results) {
    if (result) done.push_back(std::move(*result));
  }
  std::sort(done.begin(), done.end(), [](const auto& a, const auto& b) { return a.point < b.point; });
  return {std::move(done), interrupted};
}

}  // namespace kvsim::planner::sweep
