#include "planner/simulated/simulated_search.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "planner/plan/scenario_costs.h"
#include "planner/simulated/race.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::planner {
namespace {

using detail::Race;

constexpr std::size_t kBestOfForms = 6;
constexpr std::array<std::int64_t, 4> kDraftSteps{-5, -2, 2, 5};

/// What the closed forms say of any plan, feasible to them or not.
class Predictor {
 public:
  Predictor(const scenario::Scenario& s, const PlanRequest& request)
      : costs_(s, request.refinements), request_(request), limits_(costs_.limits()) {}

  /// Of an open batch, what the best fixed one would reach.
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
