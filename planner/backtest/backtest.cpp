#include "planner/backtest/backtest.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "models/schema/yaml.h"
#include "planner/experiment.h"
#include "planner/parallel.h"
#include "sim/scenario/keys_without_effect.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner::backtest {
namespace {

constexpr std::size_t kFirstShown = 3;

std::optional<double> error_of(const std::optional<double>& measured, const std::optional<Prediction>& predicted,
                               double Prediction::*figure) {
  if (!measured || !predicted || !std::isfinite((*predicted).*figure)) return std::nullopt;
  return (*predicted).*figure / *measured - 1;
}

/// Errors of some points, gathered.
class Gathered {
 public:
  void add(const BacktestPoint& p) {
    ++points_;
    keep(tpot_, p.tpot_error());
    keep(ttft_, p.ttft_error());
    keep(throughput_, p.throughput_error());
  }
  [[nodiscard]] std::size_t points() const { return points_; }
  [[nodiscard]] PointErrors errors() const {
    return {models::summarise(tpot_), models::summarise(ttft_), models::summarise(throughput_)};
  }

 private:
  static void keep(std::vector<double>& errors, const std::optional<double>& error) {
    if (error) errors.push_back(*error);
  }
  std::size_t points_ = 0;
  std::vector<double> tpot_, ttft_, throughput_;
};

template <class GroupOf>
std::vector<GroupErrors> grouped(const std::vector<BacktestPoint>& points, GroupOf group_of) {
  std::map<PointGroup, Gathered> groups;
  for (const BacktestPoint& p : points) {
    if (p.predicted) groups[group_of(p.group)].add(p);
  }
  std::vector<GroupErrors> result;
  for (const auto& [group, gathered] : groups) result.push_back({group, gathered.points(), gathered.errors()});
  return result;
}

Prediction prediction_of(const serving::Measurements& m) {
  Prediction p;
  p.ttft_s = m.ttft_s.mean();
  p.tpot_s = m.tpot_s.mean();
  p.output_tokens_per_s = static_cast<double>(m.output_tokens) / m.measured_s;
  p.bound_by = serving::bottleneck(m);
  p.memory_short = m.memory_short_s / m.capacity_s;
  p.tokeniser_busy = serving::tokeniser_busy(m);
  p.preemptions = m.preemptions;
  p.output_tokens = static_cast<double>(m.output_tokens) / static_cast<double>(m.completed_measured);
  return p;
}

void cannot_be_simulated(BacktestPoint& point, const std::string& key, const std::string& why) {
  point.out_of_scope = fmt::format("kvsim cannot simulate it: {}", key);
  point.detail = why;
}

void simulate(BacktestPoint& point, const schema::ConfigNode& document, const BacktestOptions& options) {
  try {
    const scenario::Scenario scenario =
        scenario::ScenarioFile::from_text(to_yaml(document), point.point.origin.str(), options.changes).load();
    const Recording* recording = point.point.recording.get();
    ExperimentOptions experiment;
    experiment.timeline = recording != nullptr && !recording->load.empty();
    experiment.progress = [&options](std::size_t, double) { return !options.proceed || options.proceed(); };
    const ExperimentResult result = run_experiment(scenario, experiment);
    if (result.interrupted) return;
    const serving::Measurements& m = result.measured;
    if (m.refused > 0) {
      return cannot_be_simulated(point, "requests are refused", result.refusals.empty() ? "" : result.refusals.front());
    }
    point.kind = model_kind(scenario.serving.model);
    point.predicted = prediction_of(m);
    point.fallbacks = result.fallbacks;
    if (recording != nullptr) {
      point.replayed.emplace();
      point.replayed->latencies = latencies_beside(*recording, m);
      if (experiment.timeline) point.replayed->load = load_beside(*recording, result.timeline);
    }
  } catch (const scenario::UnworkableScenario& e) {
    cannot_be_simulated(point, e.does_not_fit() ? "the model does not fit" : e.reason().substr(0, e.reason().find(':')),
                        e.reason());
  } catch (const serving::ConfigurationError& e) {
    cannot_be_simulated(point, e.key(), e.what());
  }
}

/// Refuses a change that has an effect at no point that can be simulated.
void refuse_idle_changes(const std::vector<ServingPoint>& points, const models::Catalogue& catalogue,
                         const BacktestOptions& options) {
  scenario::UnreadByAll unread;
  for (std::size_t i = 0; !options.changes.empty() && i < points.size() && unread.open(); ++i) {
    const PointScenario point = point_scenario(points[i], Published::built_in(), catalogue, options.include);
    if (!point.out_of_scope.empty()) continue;
    try {
      unread.add(
          scenario::ScenarioFile::from_text(to_yaml(point.document), "a point's scenario", options.changes).load());
    } catch (const scenario::UnworkableScenario&) {
      // It is out of scope, and its row says so.
    }
  }
  unread.refuse();
}

/// As those of points, where no point of the files has one.
schema::ConfigNode any_scenario(const models::Catalogue& catalogue, const std::vector<std::string>& include) {
  ServingPoint point;
  point.id = "any";
  point.model = "llama-3.1-8b";
  point.gpu = "h100-sxm";
  point.prompt_tokens = point.output_tokens = point.clients = 1;
  return point_scenario(point, Published::built_in(), catalogue, include).document;
}

}  // namespace

void check_changes(const schema::ConfigNode& document, const std::vector<std::string>& changes) {
  if (changes.empty()) return;
  static_cast<void>(scenario::ScenarioFile::from_text(to_yaml(document), "a point's scenario", changes).parse());
}

std::optional<double> BacktestPoint::tpot_error() const {
  return error_of(point.tpot_s, predicted, &Prediction::tpot_s);
}

std::optional<double> BacktestPoint::ttft_error() const {
  return error_of(point.ttft_s, predicted, &Prediction::ttft_s);
}

std::optional<double> BacktestPoint::throughput_error() const {
  return error_of(point.output_tokens_per_s, predicted, &Prediction::output_tokens_per_s);
}

std::optional<double> BacktestPoint::e2e_error() const {
  if (!predicted || !point.ttft_s || !point.tpot_s || !std::isfinite(predicted->tpot_s)) return std::nullopt;
  const double further = predicted->output_tokens - 1;
  return (predicted->ttft_s + further * predicted->tpot_s) / (*point.ttft_s + further * *point.tpot_s) - 1;
}

std::size_t Backtest::simulated() const {
  return static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(), [](const BacktestPoint& p) { return p.predicted.has_value(); }));
}

std::vector<GroupErrors> Backtest::by_group() const {
  return grouped(points, [](const PointGroup& group) { return group; });
}

std::vector<GroupErrors> Backtest::by_engine() const {
  return grouped(points, [](const PointGroup& group) { return PointGroup{"", "", group.engine, "", ""}; });
}

PointErrors Backtest::overall() const {
  Gathered all;
  for (const BacktestPoint& p : points) all.add(p);
  return all.errors();
}

std::vector<OutOfScope> Backtest::out_of_scope() const {
  std::map<std::string, OutOfScope> reasons;
  for (const BacktestPoint& p : points) {
    if (p.out_of_scope.empty()) continue;
    OutOfScope& o = reasons[p.out_of_scope];
    ++o.points;
    if (o.first.size() < kFirstShown) o.first.push_back(p.point.id);
  }
  std::vector<OutOfScope> result;
  for (auto& [reason, o] : reasons) result.push_back({reason, o.points, std::move(o.first)});
  std::stable_sort(result.begin(), result.end(),
                   [](const OutOfScope& a, const OutOfScope& b) { return a.points > b.points; });
  return result;
}

Backtest run_backtest(std::vector<ServingPoint> points, const BacktestOptions& options) {
  models::Catalogue catalogue = models::Catalogue::built_in();
  if (!options.include.empty()) catalogue.add_files(options.include);
  Backtest result;
  result.changes = options.changes;
  result.points.resize(points.size());
  refuse_idle_changes(points, catalogue, options);
  std::atomic<bool> interrupted{false}, described{false};
  for_each_index(points.size(), options.jobs, [&](std::size_t i) {
    if (interrupted || (options.proceed && !options.proceed())) {
      interrupted = true;
      return;
    }
    BacktestPoint& done = result.points[i];
    done.point = std::move(points[i]);
    PointScenario scenario = point_scenario(done.point, Published::built_in(), catalogue, options.include);
    done.group = std::move(scenario.group);
    done.out_of_scope = std::move(scenario.out_of_scope);
    if (done.out_of_scope.empty()) {
      described = true;
      simulate(done, scenario.document, options);
    }
    if (done.out_of_scope.empty() && !done.predicted) interrupted = true;
    if (done.predicted && !catalogue.contains(models::EntryKind::engine, done.point.engine)) {
      done.fallbacks.push_back(
          done.point.engine.empty()
              ? "points that name no engine: the schedule's defaults"
              : fmt::format("engine {} is not in the catalogue: the schedule's defaults", done.point.engine));
    }
    if (options.finished) options.finished();
  });
  result.interrupted = interrupted;
  if (!described) check_changes(any_scenario(catalogue, options.include), options.changes);
  return result;
}

}  // namespace kvsim::planner::backtest
