// Probes of measured serving points: what they were predicted to be, and what is stated of the error.
#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "planner/backtest/backtest.h"
#include "planner/stated_error.h"
#include "tools/validation/is_there.h"
#include "tools/validation/probes.h"

namespace kvsim::validation {
namespace {

/// All points of a file, simulated once; none where it is missing.
const planner::backtest::Backtest& backtest_of(const Question& q) {
  auto& done = q.measured.backtests[q.arguments[0]];
  if (!done) {
    const std::string path = q.measured.folder + "/" + q.arguments[0];
    const bool there = !q.measured.folder.empty() && is_there(path);
    planner::backtest::BacktestOptions options;
    options.jobs = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
    done = std::make_shared<planner::backtest::Backtest>(
        there ? planner::backtest::run_backtest(planner::backtest::read_points(path), options)
              : planner::backtest::Backtest());
  }
  return *done;
}

/// backtest_error(file, tpot | ttft, engine | all, count | median | p90 | bias): of the points of an engine that can be
/// simulated; 1 where there are none.
double backtest_error(const Question& q) {
  const planner::backtest::Backtest& done = backtest_of(q);
  planner::backtest::PointErrors errors;
  if (q.arguments[2] == "all") {
    errors = done.overall();
  } else {
    for (const planner::backtest::GroupErrors& group : done.by_engine()) {
      if (group.group.engine == q.arguments[2]) errors = group.errors;
    }
  }
  const models::ErrorSummary& e = q.word(1, {"tpot", "ttft"}) == 0 ? errors.tpot : errors.ttft;
  const std::size_t statistic = q.word(3, {"count", "median", "p90", "bias"});
  if (statistic == 0) return static_cast<double>(e.count);
  if (e.count == 0) return 1;
  return statistic == 1 ? e.median : statistic == 2 ? e.p90 : e.bias;
}

/// backtest_coverage(file, tpot | ttft | e2e, confidence): share of the points of groups that lie in the interval which
/// the other groups' errors state of them.
double backtest_coverage(const Question& q) {
  const planner::StatedErrors errors = stated_errors_of(backtest_of(q));
  if (errors.groups.empty()) return 0;
  return planner::coverage(errors, planner::kErrorFigures[q.word(1, {"tpot", "ttft", "e2e"})], q.number(2));
}

/// backtest_shipped(file): largest |ln| between a median ratio of a group as shipped and as of now; infinite where the
/// groups are not the same.
double backtest_shipped(const Question& q) {
  const planner::StatedErrors now = stated_errors_of(backtest_of(q));
  const planner::StatedErrors& shipped = planner::StatedErrors::built_in();
  double most = now.groups.size() == shipped.groups.size() ? 0 : std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(now.groups.size(), shipped.groups.size()); ++i) {
    const planner::ErrorGroup &a = now.groups[i], &b = shipped.groups[i];
    if (!a.same_machine(b) || a.points != b.points) return std::numeric_limits<double>::infinity();
    for (const planner::ErrorFigure figure : planner::kErrorFigures) {
      const std::size_t median = planner::kErrorShares.size() / 2;
      most = std::max(most, std::abs(std::log((a.ratios.*figure)[median] / (b.ratios.*figure)[median])));
    }
  }
  return most;
}

/// backtest_latency_s(recording, ttft | tpot | e2e, mean | p50 | p90 | p99): as predicted of a recording; 0 where it is
/// not.
double backtest_latency_s(const Question& q) {
  for (const planner::backtest::BacktestPoint& p : backtest_of(q).points) {
    if (!p.replayed) continue;
    for (const planner::backtest::LatencyBeside& l : p.replayed->latencies) {
      if (l.latency == q.arguments[1] && l.statistic == q.arguments[2]) return l.predicted_s;
    }
  }
  return 0;
}

constexpr Probe kBacktestProbes[] = {
    {"backtest_error", 4, false, backtest_error},
    {"backtest_coverage", 3, false, backtest_coverage},
    {"backtest_shipped", 1, false, backtest_shipped},
    {"backtest_latency_s", 3, false, backtest_latency_s},
};

}  // namespace

std::span<const Probe> backtest_probes() {
  return kBacktestProbes;
}

}  // namespace kvsim::validation
