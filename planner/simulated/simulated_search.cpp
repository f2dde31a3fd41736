#include "planner/simulated/simulated_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "planner/experiment.h"
#include "planner/parallel.h"
#include "planner/plan/scenario_costs.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::planner {
namespace {

// Candidates simulated side by side with common random numbers, the clearly worse ones stopped early.

class Race {
 public:
  /// All arguments outlive the race.
  Race(const scenario::Scenario& scenario, const SimulatedSearchOptions& options)
      : scenario_(scenario), options_(options) {}

  /// Adds a candidate; false where its plan is there already.
  bool enter(SimulatedCandidate candidate);

  /// Simulates everyone not stopped with the first seeds, stops the clearly worse, and simulates the others with all.
  void run();

  /// The best of those not stopped: the highest mean over all seeds. Precondition: run() with a candidate.
  [[nodiscard]] std::size_t leader() const;

  /// Tokens/s of a plan with seeds after those of the race.
  [[nodiscard]] std::vector<double> judge(const SimulatedCandidate& candidate);

  [[nodiscard]] const std::vector<SimulatedCandidate>& candidates() const { return candidates_; }
  [[nodiscard]] std::size_t simulations() const { return simulations_; }
  [[nodiscard]] bool interrupted() const { return interrupted_; }

 private:
  [[nodiscard]] double simulate(const SimulatedCandidate& candidate, std::int64_t seed);
  /// Brings everyone not stopped to `seeds` seeds.
  void simulate_all(std::int64_t seeds);
  void stop_the_worse();

  const scenario::Scenario& scenario_;
  const SimulatedSearchOptions& options_;
  std::vector<SimulatedCandidate> candidates_;
  std::atomic<std::size_t> simulations_{0};
  std::size_t known_ = 0;
  std::atomic<bool> interrupted_{false};
};

bool same_plan(const SimulatedCandidate& a, const SimulatedCandidate& b) {
  if (a.point.x != b.point.x || a.point.c != b.point.c || a.open_batch != b.open_batch) return false;
  return a.open_batch || (a.point.batch.B_c == b.point.batch.B_c && a.point.batch.B_g == b.point.batch.B_g);
}

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
  return static_cast<double>(m.output_tokens) / m.measured_s /
         static_cast<double>(scenario_.serving.cluster.replicas());
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

constexpr std::size_t kBestOfForms = 6;
constexpr std::array<std::int64_t, 4> kDraftSteps{-5, -2, 2, 5};

/// Predictions by the closed forms of any plan, feasible to them or not.
class Predictor {
 public:
  Predictor(const scenario::Scenario& s, const PlanRequest& request)
      : costs_(s, request.refinements), request_(request), limits_(costs_.limits()) {}

  /// Prediction for a candidate; for an open batch, that of the best fixed one.
  [[nodiscard]] std::optional<double> operator()(const SimulatedCandidate& candidate) const {
    const OperatingPoint& p = candidate.point;
    const Cycle cycle = p.x == 0 ? costs_.full_kv() : costs_.drafting(p.c, p.x, p.x).front();
    const auto point = candidate.open_batch ? search(request_.model, {cycle}, limits_).optimum
                                            : evaluate(request_.model, cycle, limits_, p.batch);
    return point ? std::optional(point->throughput_tokens_per_s) : std::nullopt;
  }

 private:
  ScenarioCosts costs_;
  PlanRequest request_;
  BatchLimits limits_;
};

/// The best batches of the most promising (x, c), best first.
std::vector<OperatingPoint> most_promising(const ScenarioPlan& plan) {
  std::vector<OperatingPoint> points;
  for (const auto& point : plan.best_of_each) {
    if (point) points.push_back(*point);
  }
  const std::size_t count = std::min(kBestOfForms, points.size());
  std::partial_sort(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(count), points.end(),
                    [](const OperatingPoint& a, const OperatingPoint& b) {
                      return a.throughput_tokens_per_s > b.throughput_tokens_per_s;
                    });
  points.resize(count);
  return points;
}

/// One step away in x, c, B_c or B_g.
std::vector<SimulatedCandidate> neighbours(const SimulatedCandidate& of, const PlanRequest& request) {
  std::vector<SimulatedCandidate> around;
  const OperatingPoint& p = of.point;
  const auto add = [&](const OperatingPoint& point) {
    around.push_back({"beside a better one", point, of.open_batch, std::nullopt, {}, false});
  };
  if (p.x == 0) return around;
  for (const std::int64_t step : kDraftSteps) {
    OperatingPoint other = p;
    other.x += step;
    if (other.x >= request.least_draft_length && other.x <= request.most_draft_length) add(other);
  }
  std::vector<double> ratios = request.keep_ratios;
  std::sort(ratios.begin(), ratios.end());
  const auto at = std::find(ratios.begin(), ratios.end(), p.c);
  for (const std::ptrdiff_t step : {-1, 1}) {
    if (at == ratios.end() || (step < 0 ? at == ratios.begin() : at + 1 == ratios.end())) continue;
    OperatingPoint other = p;
    other.c = *(at + step);
    add(other);
  }
  if (of.open_batch) return around;
  for (const std::int64_t step : {-1, 1}) {
    OperatingPoint other = p;
    other.batch.B_c += step;
    if (other.batch.B_c >= 0 && other.batch.requests() > 0) add(other);
    other = p;
    other.batch.B_g += step;
    if (other.batch.B_g >= 0 && other.batch.requests() > 0) add(other);
  }
  return around;
}

/// The scenario's own plan.
SimulatedCandidate own_plan(const scenario::Scenario& s) {
  const serving::DecodeConfig& decode = s.serving.decode;
  SimulatedCandidate own{"the scenario's own", {}, !decode.offloaded && decode.resident == 0, std::nullopt, {}, false};
  own.point.x = decode.draft_length;
  own.point.c = decode.keep_ratio;
  own.point.batch.B_c = decode.offloaded.value_or(s.serving.schedule.max_requests);
  own.point.batch.B_g = decode.resident;
  return own;
}

SimulatedCandidate predicted(SimulatedCandidate candidate, const Predictor& predict) {
  candidate.predicted = predict(candidate);
  return candidate;
}

/// Whether it is among what was asked for.
bool within(const OperatingPoint& p, const PlanRequest& request) {
  const auto same_ratio = [&p](double c) { return std::abs(c - p.c) < 1e-9; };
  return p.x >= request.least_draft_length && p.x <= request.most_draft_length &&
         std::any_of(request.keep_ratios.begin(), request.keep_ratios.end(), same_ratio);
}

void enter_all(Race& race, const scenario::Scenario& s, const ScenarioPlan& plan, const Predictor& predict) {
  const auto enter = [&](std::string origin, const OperatingPoint& point, bool open_batch) {
    race.enter(predicted({std::move(origin), point, open_batch, std::nullopt, {}, false}, predict));
  };
  const std::string optimum = fmt::format("optimum, {}", name_of(plan.request.model));
  enter(optimum, plan.optimum, false);
  enter(optimum + ", open batch", plan.optimum, true);
  for (const auto& [model, point] : plan.by_model) enter(fmt::format("optimum, {}", name_of(model)), point, false);
  for (const OperatingPoint& point : most_promising(plan)) {
    enter("among the best of the closed forms", point, false);
    enter("among the best, open batch", point, true);
  }
  if (plan.full_kv) enter("full_kv", *plan.full_kv, true);
  if (const SimulatedCandidate own = own_plan(s);
      serving::find_decode_policy(s.serving.decode.policy)->verifies && within(own.point, plan.request)) {
    race.enter(predicted(own, predict));
  }
}

/// Best first, the stopped ones behind, each group by its mean.
std::vector<SimulatedCandidate> ranked(std::vector<SimulatedCandidate> candidates) {
  std::stable_sort(candidates.begin(), candidates.end(), [](const SimulatedCandidate& a, const SimulatedCandidate& b) {
    if (a.stopped != b.stopped) return b.stopped;
    return a.mean() > b.mean();
  });
  return candidates;
}

}  // namespace

double SimulatedCandidate::mean() const {
  if (tokens_per_s.empty()) return 0;
  return std::accumulate(tokens_per_s.begin(), tokens_per_s.end(), 0.0) / static_cast<double>(tokens_per_s.size());
}

std::optional<double> SimulatedPlan::gap() const {
  if (!best().predicted || throughput.mean <= 0) return std::nullopt;
  return *best().predicted / throughput.mean - 1;
}

SimulatedPlan simulate_plans(const scenario::Scenario& s, const ScenarioPlan& plan,
                             const SimulatedSearchOptions& options) {
  const Predictor predict(s, plan.request);
  Race race(s, options);
  enter_all(race, s, plan, predict);
  race.run();
  for (std::size_t move = 0; move < options.most_moves && !race.interrupted(); ++move) {
    const std::size_t leader = race.leader();
    bool any = false;
    const SimulatedCandidate from = race.candidates()[leader];
    for (const SimulatedCandidate& one : neighbours(from, plan.request)) {
      any = race.enter(predicted(one, predict)) || any;
    }
    if (!any) break;
    race.run();
    if (race.leader() == leader) break;
  }
  SimulatedPlan result;
  if (!race.interrupted()) {
    const std::vector<double> winner = race.judge(race.candidates()[race.leader()]);
    result.throughput = engine::confidence_95(winner);
    if (plan.full_kv) {
      const std::vector<double> baseline = race.judge({"full_kv", *plan.full_kv, true, std::nullopt, {}, false});
      result.full_kv = engine::confidence_95(baseline);
      std::vector<double> ratios;
      for (std::size_t i = 0; i < winner.size(); ++i) {
        if (baseline[i] > 0) ratios.push_back(winner[i] / baseline[i]);
      }
      result.speedup = engine::confidence_95(ratios);
    }
  }
  result.candidates = ranked(race.candidates());
  result.simulations = race.simulations();
  result.interrupted = race.interrupted();
  return result;
}

}  // namespace kvsim::planner
