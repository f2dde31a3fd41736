// What the figures of a report rest on, and how sure its answers are.
#include "tools/report/documents.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/best_policy.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/results/numbers.h"
#include "tools/results/stated_error.h"

namespace kvsim::report {
namespace {

template <class T>
void add_once(std::vector<T>& list, const T& item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(item);
}

void add_once(std::vector<std::string>& list, const std::vector<std::string>& items) {
  for (const std::string& item : items) add_once(list, item);
}

template <class Use>
void for_each_run(const Inputs& inputs, Use use) {
  for (const Inputs::Compared& c : inputs.compares) {
    for (const Simulated& run : c.results) use(run.result);
  }
  for (const Simulated& run : inputs.runs) use(run.result);
}

/// What is known of kvsim's own error; docs/validation.md and docs/kernel_timing.md have the comparisons.
constexpr const char* kKernelError =
    "Where it can be checked: kernel times and recorded runs are compared in docs/validation.md, serving points in "
    "docs/backtest.md.";
constexpr const char* kDraftingError = "\nDrafting on compressed KV: the published headline's tokens/s within 9 %.";
constexpr const char* kOtherError = "\nPublished figures of this kind of scenario are compared by kvsim validate.";

/// Whether the results are of the kind that the published headline is of.
bool drafts_on_compressed_kv(const Inputs& inputs) {
  const auto drafts = [](const Simulated& run) {
    return text(run.result, {"details", "policies", "decode"}) == "draft_verify" && !has(run.result, {"placement"}) &&
           !has(run.result, {"answers"}) && !has(run.result, {"details", "pools"});
  };
  const auto any = [&](const std::vector<Simulated>& runs) { return std::any_of(runs.begin(), runs.end(), drafts); };
  return any(inputs.runs) || std::any_of(inputs.compares.begin(), inputs.compares.end(),
                                         [&](const Inputs::Compared& c) { return any(c.results); });
}

/// Whose figures are those of no steady state, in words; the reasons stand with the fall-backs.
struct Unsteady {
  std::string answers;              ///< of what the answers rest on
  std::vector<std::string> others;  ///< points swept that no answer rests on: a sentence a sweep
};

Unsteady unsteady_runs(const Inputs& inputs) {
  std::set<std::string> whose;
  const auto look = [&whose](const Simulated& run) {
    if (!unsteady_state(run.result).empty()) whose.insert(run.policy);
  };
  for (const Inputs::Compared& c : inputs.compares) std::for_each(c.results.begin(), c.results.end(), look);
  std::for_each(inputs.runs.begin(), inputs.runs.end(), look);
  Unsteady said;
  const auto add = [&said](const std::string& what) { said.answers += (said.answers.empty() ? "" : ", ") + what; };
  std::for_each(whose.begin(), whose.end(), add);
  for (const Json& sweep : inputs.sweeps) {
    const Json* best = answering_point(sweep);
    const Json& points = at(sweep, {"points"});
    const auto count = std::count_if(points.begin(), points.end(), [best](const Json& p) {
      return &p != best && !unsteady_state(at(p, {"result"})).empty();
    });
    if (best != nullptr && !unsteady_state(at(*best, {"result"})).empty()) add("the best point swept");
    if (count == 0) continue;
    said.others.push_back(fmt::format("No steady state in {} of the {} other points swept, on which no answer rests",
                                      count, points.size() - 1));
  }
  return said;
}

/// Half of the 95 % interval of a figure, relative to it; not a number where there is none.
double relative_half(const Json& result, std::string_view metric) {
  return half_width(result, metric) / figure_at(result, metric);
}

std::string within(double relative, std::string_view what = "tokens/s") {
  return fmt::format("{} within ± {:.1f} %", what, relative * 100);
}

planner::ErrorInterval interval_of(const Json& error, std::string_view figure) {
  const Json& interval = at(error, {figure});
  return {number_or_nan(interval, {"low"}), number_or_nan(interval, {"middle"}), number_or_nan(interval, {"high"})};
}

/// What is known of how sure a report is; `answer` is the first of it, `model` the first of what backtests say.
struct Sureness {
  std::string answer, model;
  std::vector<std::string> sentences;

  void first(std::string text) {
    if (answer.empty()) answer = std::move(text);
  }
};

/// What backtests missed by where they are nearest to a run.
void add_model_error(Sureness& sure, const Simulated& run) {
  if (!has(run.result, {"details", "model_error"})) return;
  const Json& said = at(run.result, {"details", "model_error"});
  const auto count = [&said](std::string_view key) {  // documents come from anywhere
    constexpr double kMost = 1e15;
    const double n = number_or_nan(said, {key});
    return n >= 0 && n <= kMost ? static_cast<std::int64_t>(n) : 0;
  };
  const planner::StatedError error{text(said, {"group"}),     count("groups"),
                                   count("points"),           number_or_nan(said, {"confidence"}),
                                   interval_of(said, "tpot"), interval_of(said, "ttft"),
                                   interval_of(said, "e2e")};
  const auto add = [&sure](const std::string& sentence) {
    std::vector<std::string>& all = sure.sentences;
    if (std::find(all.begin(), all.end(), sentence) == all.end()) all.push_back(sentence);
  };
  if (sure.model.empty()) sure.model = results::interval_words(error.e2e, "time of a request");
  add(results::error_words(error));
  const std::string unknown = text(said, {"not_measured"});
  if (!unknown.empty()) add(results::unknown_words({unknown}));
}

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

void add_sweep(Sureness& sure, const Json& sweep) {
  constexpr std::size_t most = 3;  // groups of points
  std::vector<std::string> said = texts(sweep, {"how_sure"});
  const std::size_t left = said.size() > most ? said.size() - most : 0;
  said.resize(said.size() - left);
  add_once(sure.sentences, said);
  if (left > 0) {
    sure.sentences.push_back(
        fmt::format("And {} more for other points swept, in sweep.json", left == 1 ? "one" : std::to_string(left)));
  }
  const std::string metric = text(sweep, {"best", "metric"});
  const Json* best = answering_point(sweep);
  const double relative = best == nullptr ? std::nan("") : relative_half(at(*best, {"result"}), metric);
  if (!std::isfinite(relative)) return;
  sure.first(within(relative, metric_name(metric)));
  sure.sentences.push_back(
      fmt::format("The best point swept: {} (95 % interval)", within(relative, metric_name(metric))));
}

/// What the figures rest on, counted.
void add_figures(Sureness& sure, const Inputs& inputs) {
  std::set<std::string> listed;
  for (const Assumed& a : assumptions_of(inputs)) listed.insert(a.items.begin(), a.items.end());
  const std::size_t assumptions = listed.size();
  std::map<std::string, std::size_t> by_source;
  const std::vector<SourcedFigure> figures = sources_of(inputs);
  for (const SourcedFigure& f : figures) ++by_source[f.source];
  const std::vector<Json> prices = prices_of(inputs);
  const auto assumed_prices =
      std::count_if(prices.begin(), prices.end(), [](const Json& p) { return text(p, {"source"}) == "assumption"; });
  if (!figures.empty()) {
    std::string said =
        fmt::format("{} of machines, models and compressors:", results::counted(figures.size(), "figure"));
    const char* separator = " ";
    for (const auto& [source, count] : by_source) {
      said += fmt::format("{}{} {}", separator, count, source);
      separator = ", ";
    }
    sure.sentences.push_back(std::move(said));
  }
  if (assumptions > 0) sure.sentences.push_back(results::counted(assumptions, "assumption") + " listed");
  if (const std::size_t count = fallbacks_of(inputs).size(); count > 0) {
    sure.sentences.push_back(results::counted(count, "fall-back") + " listed");
  }
  if (assumed_prices > 0) {
    sure.sentences.push_back(fmt::format("{} of {} prices are assumptions", assumed_prices, prices.size()));
  }
}

}  // namespace

std::vector<Assumed> assumptions_of(const Inputs& inputs) {
  std::vector<Assumed> lists;
  const auto add = [&lists](const Json& document, const std::vector<std::string>& items) {
    if (items.empty()) return;
    const std::string scenario = scenario_of(document);
    auto own = std::find_if(lists.begin(), lists.end(), [&](const Assumed& a) { return a.scenario == scenario; });
    if (own == lists.end()) own = lists.insert(lists.end(), {scenario, {}});
    add_once(own->items, items);
  };
  for_each_run(inputs, [&add](const Json& r) { add(r, texts(r, {"details", "assumptions"})); });
  for (const Json& sweep : inputs.sweeps) add(sweep, texts(sweep, {"assumptions"}));
  for (const Json& plan : inputs.plans) add(plan, texts(plan, {"details", "assumptions"}));
  for (const Json& capacity : inputs.capacities) add(capacity, texts(capacity, {"details", "assumptions"}));
  return lists;
}

std::vector<std::string> fallbacks_of(const Inputs& inputs) {
  std::vector<std::string> list;
  for_each_run(inputs, [&list](const Json& r) { add_once(list, texts(r, {"details", "fallbacks"})); });
  for (const Json& sweep : inputs.sweeps) add_once(list, texts(sweep, {"fallbacks"}));
  for (const Json& plan : inputs.plans) add_once(list, texts(plan, {"details", "fallbacks"}));
  for (const Json& capacity : inputs.capacities) {
    for (const Json& c : at(capacity, {"configurations"})) add_once(list, texts(c, {"fallbacks"}));
  }
  return list;
}

std::vector<SourcedFigure> sources_of(const Inputs& inputs) {
  std::vector<SourcedFigure> list;
  for_each_run(inputs, [&list](const Json& r) {
    for (const Json& s : at(r, {"details", "sources"})) {
      add_once(list,
               SourcedFigure{text(s, {"figure"}), text(s, {"value"}), text(s, {"source"}), text(s, {"reference"})});
    }
  });
  return list;
}

std::vector<Json> prices_of(const Inputs& inputs) {
  std::vector<Json> list;
  const auto add = [&list](const Json& document) {
    for (const Json& price : at(document, {"prices"})) add_once(list, price);
  };
  for (const Json& capacity : inputs.capacities) add(capacity);
  for (const Inputs::Compared& c : inputs.compares) add(c.document);
  return list;
}

Section provenance(const Inputs& inputs) {
  Section s{"provenance", "What the figures rest on", {}};
  std::vector<Assumed> assumed = assumptions_of(inputs);
  for (Assumed& a : assumed) {
    std::string title = "Assumptions";
    if (assumed.size() > 1) title += ": " + a.scenario;
    s.add(List{std::move(title), std::move(a.items)});
  }
  if (auto list = fallbacks_of(inputs); !list.empty()) {
    s.add(List{"Fall-backs: what was taken for want of something better", std::move(list)});
  }
  Table t = table("Sources of the figures", {{"figure"}, {"value"}, {"source"}, {"reference"}});
  for (const SourcedFigure& f : sources_of(inputs)) {
    t.rows.push_back({f.figure, f.value, f.source, f.reference});
  }
  s.add(std::move(t));
  return s;
}

Fact how_sure(const Inputs& inputs) {
  Sureness sure;
  for (const Json& plan : inputs.plans) add_plan(sure, plan);
  for (const Inputs::Compared& c : inputs.compares) {
    const Criterion by = criterion_of(c);
    add_model_error(sure, c.results[chosen_of(c)]);
    if (by.interval.empty()) {
      add_run(sure, c.results[chosen_of(c)]);
    } else {
      add_run(sure, c.results[chosen_of(c)], by.interval, by.name);
    }
  }
  for (const Simulated& run : inputs.runs) {
    add_run(sure, run);
    add_model_error(sure, run);
  }
  for (const Json& sweep : inputs.sweeps) add_sweep(sure, sweep);
  for (const Json& capacity : inputs.capacities) {
    const std::string confidence = results::percent(number_or_nan(capacity, {"confidence"}));
    sure.first(fmt::format("the objectives hold with a confidence of {}", confidence));
    sure.sentences.push_back(fmt::format("Fleet: the objectives hold with a confidence of {}", confidence));
    const Json& all = at(capacity, {"configurations"});
    const double replicas = all.is_array() && !all.empty()
                                ? number_or_nan(all.front(), {"fleet", "replicas_with_model_error"})
                                : std::nan("");
    if (std::isfinite(replicas) && sure.model.empty()) {
      sure.model = "its error asks for " +
                   results::counted(static_cast<std::size_t>(std::clamp(replicas, 0.0, 1e15)), "replica");
    }
  }
  constexpr std::size_t most = 6;
  if (sure.sentences.size() > most) {
    const std::size_t others = sure.sentences.size() - most;
    sure.sentences.resize(most);
    sure.sentences.push_back(fmt::format("And {} more results, whose intervals are under headline numbers", others));
  }
  Fact f{"How sure is this?", "", "", "provenance"};
  if (!sure.answer.empty()) f.answer = "by chance: " + sure.answer + "; kvsim's own error comes on top";
  if (!sure.answer.empty() && !sure.model.empty()) {
    f.answer = fmt::format("by chance: {}; by the model: {}", sure.answer, sure.model);
  }
  const Unsteady unsteady = unsteady_runs(inputs);
  if (!unsteady.answers.empty()) {
    f.answer = fmt::format("not at all, of a service: no steady state in {}{}{}", unsteady.answers,
                           f.answer.empty() ? "" : "; ", f.answer);
  }
  add_once(sure.sentences, unsteady.others);
  f.detail = std::string(kKernelError) + (drafts_on_compressed_kv(inputs) ? kDraftingError : kOtherError);
  add_figures(sure, inputs);
  for (const std::string& sentence : sure.sentences) f.detail += "\n" + sentence + ".";
  return f;
}

}  // namespace kvsim::report
