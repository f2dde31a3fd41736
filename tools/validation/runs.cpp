#include "tools/validation/runs.h"

#include <atomic>
#include <utility>
#include <vector>

#include "planner/parallel.h"
#include "planner/paths/path_plan.h"
#include "planner/sweep/journal.h"
#include "planner/sweep/plan.h"
#include "tools/results/result_document.h"

namespace kvsim::validation {
namespace {

/// As it is judged: the path LP's own mix, where kvsim run would try it beside that of full-KV paths. No value where it
/// was interrupted.
std::optional<results::Json> result_of(scenario::Scenario scenario, const planner::ExperimentOptions& options,
                                       serving::Timeline* load) {
  results::Outcome outcome;
  outcome.scenario =
      planner::needs_planned_weights(scenario) ? planner::with_planned_weights(scenario) : std::move(scenario);
  outcome.result = planner::run_experiment(outcome.scenario, options);
  if (outcome.result.interrupted) return std::nullopt;
  results::Json document = results::result_document(outcome, false);
  if (load != nullptr) *load = std::move(outcome.result.timeline);
  return document;
}

}  // namespace

void simulate(SimulatedRun& run, bool trace) {
  planner::ExperimentOptions options;
  if (trace) options.trace = &run.trace;
  options.timeline = trace;
  run.document = *result_of(run.scenario, options, &run.load);
}

const results::Json* Runs::document(const scenario::Scenario& scenario, std::string& fingerprint) {
  if (options_.proceed && !options_.proceed()) {
    interrupted_ = true;
    throw Stopped();
  }
  if (fingerprint.empty()) {
    fingerprint = planner::sweep::fingerprint(planner::sweep::make_plan(scenario, {}, {}, results::kvsim_version()));
  }
  const auto known = documents_.find(fingerprint);
  if (known != documents_.end()) return &known->second;
  missing_.try_emplace(fingerprint, scenario);
  ++in_vain_;
  return nullptr;
}

bool Runs::simulate_missing() {
  std::vector<std::pair<std::string, scenario::Scenario>> todo;
  const std::size_t before = documents_.size();
  for (auto& [fingerprint, scenario] : std::exchange(missing_, {})) {
    const std::optional<std::string> text = options_.find ? options_.find(fingerprint) : std::nullopt;
    if (text && planner::sweep::is_intact(*text)) {
      results::Json document = results::Json::parse(*text);
      document.erase("crc32");
      documents_.emplace(fingerprint, std::move(document));
    } else {
      todo.emplace_back(fingerprint, std::move(scenario));
    }
  }
  if (todo.empty()) return documents_.size() > before;
  if (options_.begin) options_.begin(todo.size());
  std::vector<std::optional<results::Json>> done(todo.size());
  std::atomic<bool> stopped{false};
  const auto proceed = [&] { return !stopped && (!options_.proceed || options_.proceed()); };
  planner::for_each_index(todo.size(), options_.jobs, [&](std::size_t i) {
    if (!proceed()) {
      stopped = true;
      return;
    }
    planner::ExperimentOptions options;
    options.progress = [&](std::size_t, double) { return proceed(); };
    done[i] = result_of(todo[i].second, options, nullptr);
    if (!done[i]) {
      stopped = true;
      return;
    }
    if (options_.keep) options_.keep(todo[i].first, planner::sweep::sealed(done[i]->dump()));
    if (options_.finished) options_.finished();
  });
  for (std::size_t i = 0; i < todo.size(); ++i) {
    if (!done[i]) continue;
    documents_.emplace(todo[i].first, std::move(*done[i]));
    ++simulated_;
  }
  interrupted_ = stopped;
  return !interrupted_;
}

}  // namespace kvsim::validation
