// Basis of a report's figures, and how sure its answers are.
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
#include "tools/report/words.h"
#include "tools/results/capacity.h"
#include "tools/results/numbers.h"
#include "tools/results/stated_error.h"

namespace kvsim::report {
namespace {

using results::add_once;

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

/// Known facts of kvsim's own error; docs/validation.md and docs/kernel_timing.md have the comparisons.
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

/// Results in no steady state, in words; the reasons stand with the fall-backs.
struct Unsteady {
  std::string answers;              ///< of what the answers rest on
  std::vector<std::string> others;  ///< points swept that no answer rests on: a sentence a sweep
};

Unsteady unsteady_runs(const Inputs& inputs) {
  const bool several = scenarios_of(inputs).size() > 1;
  const auto of_scenario = [several](const Json& document) {
    return several ? fmt::format(" ({})", scenario_of(document)) : std::string();
  };
  std::set<std::string> whose;
  const auto look = [&](const Simulated& run) {
    if (!unsteady_state(run.result).empty()) whose.insert(run.policy + of_scenario(run.result));
  };
  for (const Inputs::Compared& c : inputs.compares) std::for_each(c.results.begin(), c.results.end(), look);
  std::for_each(inputs.runs.begin(), inputs.runs.end(), look);
  Unsteady said;
  const auto add = [&said](const std::string& what) { said.answers += (said.answers.empty() ? "" : ", ") + what; };
  std::for_each(whose.begin(), whose.end(), add);
  for (const Json& sweep : inputs.sweeps) {
    const std::vector<const Json*> bests = answering_points(sweep);
    const Json& points = at(sweep, {"points"});
    const auto answers = [&bests](const Json& p) { return std::find(bests.begin(), bests.end(), &p) != bests.end(); };
    const auto unsteady = [](const Json& p) { return !unsteady_state(at(p, {"result"})).empty(); };
    const auto count =
        std::count_if(points.begin(), points.end(), [&](const Json& p) { return !answers(p) && unsteady(p); });
    if (std::any_of(bests.begin(), bests.end(), [&](const Json* p) { return unsteady(*p); })) {
      add((bests.size() == 1 ? "the best point swept" : "the best points swept") + of_scenario(sweep));
    }
    if (count == 0) continue;
    said.others.push_back(fmt::format("No steady state in {} of the {} {}points swept{}, on which no answer rests",
                                      count, points.size() - bests.size(), bests.empty() ? "" : "other ",
                                      of_scenario(sweep)));
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

/// Facts on how sure the results of a scenario are; `answer` is the first of it, `model` the first of what
/// backtests say.
struct Sureness {
  std::string scenario;
  std::string answer, model;
  std::vector<std::string> sentences;
  std::set<std::size_t> intervals;  ///< positions of the sentences that are of a result's interval

  void first(std::string text) {
    if (answer.empty()) answer = std::move(text);
  }
  void add_interval(std::string sentence) {
    intervals.insert(sentences.size());
    sentences.push_back(std::move(sentence));
  }
  /// Both in words; empty where nothing is known.
  [[nodiscard]] std::string words() const {
    if (answer.empty()) return {};
    return fmt::format("by chance: {}; {}", answer,
                       model.empty() ? "kvsim's own error comes on top" : "by the model: " + model);
  }
  /// Leaves the first, and says how many of which kind were left out.
  void shorten(std::size_t most) {
    if (sentences.size() <= most) return;
    const auto of_results = static_cast<std::size_t>(std::distance(intervals.lower_bound(most), intervals.end()));
    const std::size_t others = sentences.size() - most - of_results;
    sentences.resize(most);
    if (of_results > 0) {
      sentences.push_back(
          fmt::format("And the intervals of {} more, in the sections below", results::counted(of_results, "result")));
    }
    if (others > 0) {
      sentences.push_back(
          fmt::format("And {} more on the error of the model, in the results", results::counted(others, "sentence")));
    }
  }
};

/// Sureness of every scenario, in the order in which results bring them up.
class Surenesses {
 public:
  Sureness& of(const Json& document) {
    const std::string scenario = scenario_of(document);
    const auto own = std::find_if(all_.begin(), all_.end(), [&](const Sureness& s) { return s.scenario == scenario; });
    if (own != all_.end()) return *own;
    return all_.emplace_back(Sureness{scenario, "", "", {}, {}});
  }

  /// Sureness of a single scenario; among several, each says its own in a line.
  [[nodiscard]] std::string answer() const {
    if (all_.size() == 1) return all_.front().words();
    const bool any = std::any_of(all_.begin(), all_.end(), [](const Sureness& s) { return !s.words().empty(); });
    return any ? "a line below for each scenario" : "";
  }

  [[nodiscard]] std::vector<std::string> take_sentences() {
    constexpr std::size_t most = 6, most_of_several = 3;
    std::vector<std::string> list;
    for (Sureness& s : all_) {
      if (all_.size() == 1) {
        s.shorten(most);
        return std::move(s.sentences);
      }
      s.shorten(most_of_several);
      if (!s.words().empty()) list.push_back(fmt::format("{}: {}", s.scenario, s.words()));
      for (const std::string& sentence : s.sentences) list.push_back(fmt::format("{}: {}", s.scenario, sentence));
    }
    return list;
  }

 private:
  std::vector<Sureness> all_;
};

/// Adds the errors of backtests that are nearest to a run.
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
  if (sure.model.empty()) sure.model = results::interval_words(error.e2e, "time of a request");
  add_once(sure.sentences, results::error_words(error));
  const std::string unknown = text(said, {"not_measured"});
  if (!unknown.empty()) add_once(sure.sentences, results::unknown_words({unknown}));
}

void add_run(Sureness& sure, const Simulated& run, std::string_view metric = "throughput.output_tokens_per_s",
             std::string_view name = "tokens/s") {
  const double relative = relative_half(run.result, metric);
  if (!std::isfinite(relative)) return;
  sure.first(within(relative, name));
  const double replications = number(run.result, {"details", "replications"}).value_or(1);
  sure.add_interval(fmt::format("Under {}: {} ({})", run.policy, within(relative, name),
                                replications > 1 ? fmt::format("95 % interval over {} seeds", plain(replications))
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
  sure.add_interval(fmt::format("Plan: {} (95 % interval over {} seeds that were not used to choose)", within(relative),
                                plain(number_or_nan(tokens, {"replications"}))));
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
  const std::vector<const Json*> bests = answering_points(sweep);
  double relative = std::nan("");
  for (const Json* best : bests) {
    const double one = relative_half(at(*best, {"result"}), metric);
    if (!(one <= relative)) relative = std::isfinite(one) ? one : relative;
  }
  if (!std::isfinite(relative)) return;
  const std::string interval = within(relative, metric_name(metric));
  sure.first(interval);
  sure.add_interval(bests.size() == 1 ? fmt::format("The best point swept: {} (95 % interval)", interval)
                                      : fmt::format("The best points swept: {} at most (95 % intervals)", interval));
}

/// Adds counts of what the figures rest on.
void add_figures(std::vector<std::string>& sentences, const Inputs& inputs) {
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
    sentences.push_back(std::move(said));
  }
  if (assumptions > 0) sentences.push_back(results::counted(assumptions, "assumption") + " listed");
  if (const std::size_t count = fallbacks_of(inputs).size(); count > 0) {
    sentences.push_back(results::counted(count, "fall-back") + " listed");
  }
  if (assumed_prices > 0) {
    sentences.push_back(fmt::format("{} of {} prices are assumptions", assumed_prices, prices.size()));
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
  for (const Json& capacity : inputs.capacities) add_once(list, texts(capacity, {"fallbacks"}));
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
  Surenesses all;
  for (const Json& plan : inputs.plans) add_plan(all.of(plan), plan);
  for (const Inputs::Compared& c : inputs.compares) {
    const Criterion by = criterion_of(c);
    const Simulated& run = c.results[chosen_of(c)];
    Sureness& sure = all.of(c.document);
    add_model_error(sure, run);
    add_once(sure.sentences, results::even_sentences(rivals_of(c), compared_ttft(c)));
    if (by.interval.empty()) {
      add_run(sure, run);
    } else {
      add_run(sure, run, by.interval, by.name);
    }
  }
  for (const Simulated& run : inputs.runs) {
    add_run(all.of(run.result), run);
    add_model_error(all.of(run.result), run);
  }
  for (const Json& sweep : inputs.sweeps) add_sweep(all.of(sweep), sweep);
  for (const Json& capacity : inputs.capacities) {
    Sureness& sure = all.of(capacity);
    const std::string confidence = results::percent(number_or_nan(capacity, {"confidence"}));
    sure.first(fmt::format("the objectives hold with a confidence of {}", confidence));
    sure.add_interval(fmt::format("Fleet: the objectives hold with a confidence of {}", confidence));
    const Json& configurations = at(capacity, {"configurations"});
    if (!configurations.is_array() || configurations.empty()) continue;
    const Json& first = configurations.front();
    if (const std::string error = text(first, {"model_error"}); !error.empty()) sure.sentences.push_back(error);
    const double replicas = number_or_nan(first, {"fleet", "replicas_with_model_error"});
    const double rate = number_or_nan(first, {"rate_with_model_error"});
    if (!std::isfinite(replicas) && std::isfinite(rate) && sure.model.empty()) {
      sure.model = fmt::format("its error leaves {}", results::load_figure(load_of(capacity), rate));
    }
    if (std::isfinite(replicas) && sure.model.empty()) {
      sure.model = "its error asks for " +
                   results::counted(static_cast<std::size_t>(std::clamp(replicas, 0.0, 1e15)), "replica");
    }
  }
  Fact f{"How sure is this?", all.answer(), "", "provenance"};
  const Unsteady unsteady = unsteady_runs(inputs);
  if (!unsteady.answers.empty()) {
    f.answer = fmt::format("not at all, of a service: no steady state in {}{}{}", unsteady.answers,
                           f.answer.empty() ? "" : "; ", f.answer);
  }
  std::vector<std::string> sentences = all.take_sentences();
  add_once(sentences, unsteady.others);
  f.detail = std::string(kKernelError) + (drafts_on_compressed_kv(inputs) ? kDraftingError : kOtherError);
  add_figures(sentences, inputs);
  for (const std::string& sentence : sentences) f.detail += "\n" + sentence + ".";
  return f;
}

}  // namespace kvsim::report
