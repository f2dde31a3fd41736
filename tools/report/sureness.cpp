#include "tools/report/sureness.h"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "tools/report/choice.h"
#include "tools/report/objectives.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

/// Half of the 95 % interval of a figure, relative to it; not a number where there is none.
double relative_half(const Json& result, std::string_view metric) {
  return half_width(result, metric) / figure_at(result, metric);
}

std::string within(double relative, std::string_view what = "tokens/s") {
  return fmt::format("{} within ± {:.1f} %", what, relative * 100);
}

/// What is known of how sure a report is; `answer` is the first of it.
struct Sureness {
  std::string answer;
  std::vector<std::string> sentences;

  void first(std::string text) {
    if (answer.empty()) answer = std::move(text);
  }
};

void add_run(Sureness& sure, const Simulated& run, std::string_view metric = "throughput.output_tokens_per_s",
             std::string_view name = "tokens/s") {
  const double relative = relative_half(run.result, metric);
  if (!std::isfinite(relative)) return;
  sure.first(within(relative, name));
  const double replications = number(run.result, {"details", "replications"}).value_or(1);
  sure.sentences.push_back(fmt::format("Under {}: {} ({})", run.policy, within(relative, name),
                                       replications > 1
                                           ? fmt::format("95 % interval over {} seeds", plain(replications))
                                           : "95 % interval by batch means of one run"));
}

void add_plan(Sureness& sure, const Json& plan) {
  const Json& tokens = at(plan, {"simulated", "throughput_tokens_per_s"});
  const double relative = number_or_nan(tokens, {"half_width_95"}) / number_or_nan(tokens, {"mean"});
  if (!std::isfinite(relative)) {
    sure.sentences.emplace_back("Plan: closed forms alone, not checked by simulation");
    return;
  }
  sure.first(within(relative));
  sure.sentences.push_back(fmt::format("Plan: {} (95 % interval over {} seeds that were not used to choose)",
                                       within(relative), plain(number_or_nan(tokens, {"replications"}))));
}

/// What the figures rest on, counted.
void add_figures(Sureness& sure, const std::vector<const Json*>& results) {
  std::set<std::string> all, assumed, fallbacks, assumptions;
  for (const Json* result : results) {
    for (const Json& s : at(*result, {"details", "sources"})) {
      all.insert(text(s, {"figure"}));
      if (text(s, {"source"}) == "assumption") assumed.insert(text(s, {"figure"}));
    }
    for (const std::string& f : texts(*result, {"details", "fallbacks"})) fallbacks.insert(f);
    for (const std::string& a : texts(*result, {"details", "assumptions"})) assumptions.insert(a);
  }
  if (!all.empty()) {
    sure.sentences.push_back(
        fmt::format("Of {} figures of machines, models and compressors, {} are assumptions; the "
                    "others are measured, published, derived or a datasheet's",
                    all.size(), assumed.size()));
  }
  if (!assumptions.empty()) sure.sentences.push_back(fmt::format("Assumptions listed: {}", assumptions.size()));
  if (!fallbacks.empty()) {
    sure.sentences.push_back(
        fmt::format("Fall-backs, such as kernels measured on another machine: {}", fallbacks.size()));
  }
}

}  // namespace

Fact how_sure(const Inputs& inputs) {
  Sureness sure;
  std::vector<const Json*> results;
  for (const Json& plan : inputs.plans) {
    add_plan(sure, plan);
    results.push_back(&plan);
  }
  for (const Inputs::Compared& c : inputs.compares) {
    const Criterion by = criterion_of(c);
    if (by.interval.empty()) {
      add_run(sure, c.results[chosen_of(c)]);
    } else {
      add_run(sure, c.results[chosen_of(c)], by.interval, by.name);
    }
    for (const Simulated& run : c.results) results.push_back(&run.result);
  }
  for (const Simulated& run : inputs.runs) {
    add_run(sure, run);
    results.push_back(&run.result);
  }
  for (const Json& capacity : inputs.capacities) {
    const std::string confidence = results::percent(number_or_nan(capacity, {"confidence"}));
    sure.first(fmt::format("the objectives hold with a confidence of {}", confidence));
    sure.sentences.push_back(fmt::format("Fleet: the objectives hold with a confidence of {}", confidence));
  }
  add_figures(sure, results);
  Fact f{"How sure is this?", sure.answer, "", "provenance"};
  for (const std::string& sentence : sure.sentences) f.detail += sentence + ". ";
  if (f.detail.empty()) f.detail = "These results say nothing about it. ";
  f.detail += "That is chance alone: how far kvsim's models are off is in its documentation (docs/validation.md).";
  return f;
}

}  // namespace kvsim::report
