#include "planner/simulated/race.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "planner/experiment.h"
#include "planner/parallel.h"

namespace kvsim::planner::detail {
namespace {

bool same_plan(const SimulatedCandidate& a, const SimulatedCandidate& b) {
  if (a.point.x != b.point.x || a.point.c != b.point.c || a.open_batch != b.open_batch) return false;
  return a.open_batch || (a.point.batch.B_c == b.point.batch.B_c && a.point.batch.B_g == b.point.batch.B_g);
}

}  // namespace

bool Race::enter(SimulatedCandidate candidate) {
  const auto there = [&candidate](const SimulatedCandidate& c) { return same_plan(c, candidate); };
  if (std::any_of(candidates_.begin(), candidates_.end(), there)) return false;
  candidates_.push_back(std::move(candidate));
  return true;
}

double Race::simulate(const SimulatedCandidate& candidate, std::int64_t seed) {
  scenario::Scenario one = with_plan(scenario_, candidate.point);
  if (candidate.open_batch) {
    one.serving.decode.offloaded.reset();
    one.serving.decode.resident = 0;
    one.serving.schedule.max_requests = scenario_.serving.schedule.max_requests;
  }
  one.replications = 1;
  one.serving.run.seed += static_cast<std::uint64_t>(seed);
  ExperimentOptions run;
  const auto go_on = [this] {
    if (options_.progress && !options_.progress(simulations_, known_)) interrupted_ = true;
    return !interrupted_;
  };
  run.progress = [&go_on](std::size_t, double) { return go_on(); };
  const serving::Measurements m = run_experiment(one, run).measured;
  ++simulations_;
  go_on();
  if (m.measured_s <= 0) return 0;
  return static_cast<double>(m.output_tokens) / m.measured_s / static_cast<double>(scenario_.serving.cluster.replicas);
}

void Race::simulate_all(std::int64_t seeds) {
  struct Task {
    std::size_t candidate;
    std::int64_t seed;
    double tokens_per_s = 0;
  };
  std::vector<Task> tasks;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].stopped) continue;
    for (auto s = static_cast<std::int64_t>(candidates_[i].tokens_per_s.size()); s < seeds; ++s) {
      tasks.push_back({i, s, 0});
    }
  }
  known_ = simulations_ + tasks.size();
  for_each_index(tasks.size(), options_.jobs, [&](std::size_t i) {
    if (!interrupted_) tasks[i].tokens_per_s = simulate(candidates_[tasks[i].candidate], tasks[i].seed);
  });
  for (const Task& task : tasks) candidates_[task.candidate].tokens_per_s.push_back(task.tokens_per_s);
}

void Race::stop_the_worse() {
  const SimulatedCandidate& best = candidates_[leader()];
  for (SimulatedCandidate& c : candidates_) {
    if (&c == &best || c.stopped) continue;
    const std::size_t pairs = std::min(c.tokens_per_s.size(), best.tokens_per_s.size());
    std::vector<double> differences;
    for (std::size_t s = 0; s < pairs; ++s) differences.push_back(c.tokens_per_s[s] - best.tokens_per_s[s]);
    const engine::ConfidenceInterval interval = engine::confidence_95(differences);
    c.stopped = interval.mean + interval.half_width_95 < 0;
  }
}

void Race::run() {
  simulate_all(std::min(options_.first_seeds, options_.seeds));
  if (interrupted_) return;
  stop_the_worse();
  simulate_all(options_.seeds);
}

std::size_t Race::leader() const {
  std::size_t best = candidates_.size();
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    if (candidates_[i].stopped) continue;
    if (best == candidates_.size() || candidates_[i].mean() > candidates_[best].mean()) best = i;
  }
  return best;
}

std::vector<double> Race::judge(const SimulatedCandidate& candidate) {
  std::vector<double> tokens(static_cast<std::size_t>(options_.seeds), 0.0);
  known_ = simulations_ + tokens.size();
  for_each_index(tokens.size(), options_.jobs, [&](std::size_t i) {
    if (!interrupted_) tokens[i] = simulate(candidate, options_.seeds + static_cast<std::int64_t>(i));
  });
  return tokens;
}

}  // namespace kvsim::planner::detail
