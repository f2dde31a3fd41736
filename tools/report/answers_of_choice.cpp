// Which policy, draft length and keep ratio: by comparisons, plans and sweeps.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/best_policy.h"
#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/report/words.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

/// What the policy does, for those who do not know its name.
std::string said_of(const Json& result) {
  const std::string said = policy_words(result);
  return said.empty() ? said : "\n" + said;
}

/// Who else prints the same figure, and whether the baseline is within chance.
std::string ties_of(const Inputs::Compared& compared, std::size_t chosen) {
  const Criterion by = criterion_of(compared);
  const Json& best = compared.results[chosen].result;
  std::string as_good;
  for (std::size_t i = 0; i < compared.results.size(); ++i) {
    const Json& other = compared.results[i].result;
    if (i == chosen || by.print(by.of(other)) != by.print(by.of(best))) continue;
    as_good += (as_good.empty() ? "" : ", ") + compared.results[i].policy;
  }
  std::string said = as_good.empty() ? "" : fmt::format("\nThe same figure: {}.", as_good);
  if (chosen == 0 || by.interval.empty()) return said;
  const Json& first = compared.results.front().result;
  const double apart = std::fabs(by.of(best) - by.of(first));
  if (apart < half_width(best, by.interval) + half_width(first, by.interval)) {
    said += fmt::format("\nIts interval and that of {} overlap: the difference may be chance.",
                        compared.results.front().policy);
  }
  return said;
}

/// How many requests met the objectives, where there are some, and whom they rule out.
std::string objectives_of_policies(const Inputs::Compared& compared, std::size_t chosen, const Bests& best) {
  const auto share = [&](std::size_t i) {
    return results::percent(number_or_nan(compared.results[i].result, {"slo", "attainment"}));
  };
  const std::string objectives = objectives_words(compared.results[chosen].result);
  if (objectives.empty()) return {};
  std::string said = fmt::format("\n{} of the requests under {} met the objectives ({}).", share(chosen),
                                 compared.results[chosen].policy, objectives);
  if (!meets_objectives(compared.results[chosen].result)) {
    said += fmt::format("\nNo policy meets them for {} of the requests.", results::percent(kMetByEnough));
  } else if (best.outside && *best.outside != chosen) {
    said += fmt::format("\nMore, but outside of the objectives: {} ({} of its requests met them).",
                        compared.results[*best.outside].policy, share(*best.outside));
  }
  return said;
}

constexpr const char* kSymbols =
    "\nx: tokens drafted before they are verified; c: share of the KV that drafts are made on.";

std::string speedup_text(const Json& simulated) {
  const double mean = number_or_nan(simulated, {"speedup", "mean"});
  if (!std::isfinite(mean)) return {};
  return fmt::format(", {} {} of full-KV decoding", results::factor(mean),
                     results::plus_minus(number_or_nan(simulated, {"speedup", "half_width_95"}), results::factor));
}

/// Draft lengths that were simulated with the best plan's other choices, and came within 1 % of it.
std::string as_good(const Json& simulated) {
  constexpr double close = 0.01;
  const Json& best = at(simulated, {"best"});
  const Json& candidates = at(simulated, {"candidates"});
  if (!candidates.is_array() || candidates.empty()) return {};
  const double most = number_or_nan(candidates[0], {"simulated_tokens_per_s"});
  std::set<double> lengths;
  for (const Json& candidate : candidates) {
    Json plan = at(candidate, {"plan"});
    const auto x = number(plan, {"x"});
    if (!x || !(number_or_nan(candidate, {"simulated_tokens_per_s"}) >= most * (1 - close))) continue;
    plan["x"] = at(best, {"x"});
    if (plan == best) lengths.insert(*x);
  }
  if (lengths.size() < 2) return {};
  return fmt::format("\nDraft lengths from {} to {} came within 1 % of it: take any.", plain(*lengths.begin()),
                     plain(*lengths.rbegin()));
}

/// The settings whose paths end so, or the others.
std::string setting_text(const Json& set, std::string_view end, bool others) {
  std::string said;
  for (const auto& [path, value] : set.items()) {
    if (path.ends_with(end) == others) continue;
    said += fmt::format("{}{} = {}", said.empty() ? "" : ", ", path.substr(path.rfind('.') + 1), scalar_text(value));
  }
  return said;
}

bool sweeps_over(const Json& sweep, std::initializer_list<std::string_view> ends) {
  for (const Json& axis : at(sweep, {"axes"})) {
    const std::string path = text(axis, {"path"});
    if (std::any_of(ends.begin(), ends.end(), [&path](std::string_view end) { return path.ends_with(end); }))
      return true;
  }
  return false;
}

/// Plans do not look at objectives.
std::string without_objectives(const Json& plan) {
  const std::string objectives = objectives_words(plan);
  if (objectives.empty()) return {};
  return fmt::format("\nChosen by tokens/s alone: the objectives ({}) are no part of a plan.", objectives);
}

struct SweptPoint {
  const Json* point = nullptr;
  double value = 0;
  double attainment = 1;
  bool steady = true;  ///< or no service is asked for

  [[nodiscard]] bool meets() const { return attainment >= kMetByEnough; }
};

/// Those that have the figure that the sweep is about, the best first.
std::vector<SweptPoint> by_figure(const Json& sweep) {
  const std::string metric = text(sweep, {"best", "metric"});
  const bool less = text(sweep, {"best", "order"}) == "lowest";
  const std::string objectives = objectives_words(sweep);
  const bool service = asks_for_service(sweep);
  std::vector<SweptPoint> points;
  for (const Json& point : at(sweep, {"points"})) {
    const double value = figure_at(at(point, {"result"}), metric);
    if (!std::isfinite(value)) continue;
    const double met = objectives.empty() ? 1 : number(at(point, {"result"}), {"slo", "attainment"}).value_or(0);
    points.push_back({&point, value, met, !service || unsteady_state(at(point, {"result"})).empty()});
  }
  const auto better = [less](const SweptPoint& a, const SweptPoint& b) {
    return less ? a.value < b.value : a.value > b.value;
  };
  std::stable_sort(points.begin(), points.end(), better);
  return points;
}

/// The best of those that keep up with the traffic and meet the objectives; where none does, of those that keep up;
/// where none does that, of all.
std::vector<SweptPoint>::const_iterator best_of(const std::vector<SweptPoint>& points) {
  const auto first = [&points](auto is) { return std::find_if(points.begin(), points.end(), is); };
  auto found = first([](const SweptPoint& p) { return p.steady && p.meets(); });
  if (found == points.end()) found = first([](const SweptPoint& p) { return p.steady; });
  return found == points.end() ? points.begin() : found;
}

/// Why it is not the first by the figure alone; empty where it is.
std::string chosen_words(std::vector<SweptPoint>::const_iterator first, std::vector<SweptPoint>::const_iterator found) {
  const auto passed = [&](auto is) { return std::any_of(first, found, is); };
  const bool met = found->meets() && passed([](const SweptPoint& p) { return !p.meets(); });
  const bool steady = passed([](const SweptPoint& p) { return !p.steady; });
  return std::string(met ? " that meets the objectives" : "") + (steady ? " in a steady state" : "");
}

/// The best point of a sweep, as the answer to a question: of those that meet the objectives, where any does.
Fact swept(const Json& sweep, const char* question) {
  const bool of_policy = question == std::string_view(kWhichPolicy);
  const std::size_t tried = at(sweep, {"points"}).size();
  const std::string metric = text(sweep, {"best", "metric"});
  const std::string objectives = objectives_words(sweep);
  const std::vector<SweptPoint> points = by_figure(sweep);
  if (points.empty())
    return {question, "no point of the sweep can be simulated", "The reasons are listed with it.", "maps"};
  const auto found = best_of(points);
  const SweptPoint& best = *found;
  Fact f{question, setting_text(at(*best.point, {"set"}), ".policy", !of_policy),
         fmt::format("The best of {} simulated{}: {} {}.",
                     points.size() == 1 ? "the one point" : fmt::format("{} points", points.size()),
                     chosen_words(points.begin(), found), metric_name(metric), printed(metric, best.value)),
         "maps"};
  if (tried > points.size()) {
    const std::size_t others = tried - points.size();
    f.detail += fmt::format("\n{} other{} cannot be simulated.", others, others == 1 ? "" : "s");
  }
  if (!objectives.empty()) {
    f.detail +=
        fmt::format("\n{} of its requests met the objectives ({}).", results::percent(best.attainment), objectives);
  }
  f.detail += unsteady_words(at(*best.point, {"result"}));
  const double half = half_width(at(*best.point, {"result"}), metric);
  const auto close = std::count_if(points.begin(), points.end(),
                                   [&](const SweptPoint& p) { return std::fabs(p.value - best.value) <= half; });
  if (close > 1) {
    f.detail += fmt::format("\nIts 95 % interval holds {} other point{}: chance may have chosen among them.", close - 1,
                            close == 2 ? "" : "s");
  }
  return f;
}

}  // namespace

const Json* answering_point(const Json& sweep) {
  const std::vector<SweptPoint> points = by_figure(sweep);
  return points.empty() ? nullptr : best_of(points)->point;
}

std::string unsteady_words(const Json& result) {
  const std::string why = unsteady_state(result);
  return why.empty() ? "" : fmt::format("\nNo steady state: {}.", why);
}

std::string output_words(const Json& result) {
  if (is_lossless(result)) return "its output is that of full-KV decoding";
  const auto score = number(result, {"quality", "mean_score"});
  return score ? fmt::format("task score {} of the full KV", results::figure(*score)) : "its output is lossy";
}

Fact policy_of(const Inputs::Compared& compared) {
  const Criterion by = criterion_of(compared);
  const Bests best = bests_of(compared);
  const std::size_t chosen = chosen_of(compared);
  const Simulated& run = compared.results[chosen];
  const auto figures = [&](std::size_t i) {
    const Json& result = compared.results[i].result;
    std::string said =
        fmt::format("{} {}", by.name, interval_text(by.of(result), half_width(result, by.interval), by.print));
    if (i != 0) {
      said += fmt::format(", {} of {}", results::factor(gain_of(compared, i)), text(compared.document, {"baseline"}));
    }
    return said + "; " + output_words(result) + ".";
  };
  std::string why = "Best of all";
  if (!by.knows_quality && best.nearly_lossless) {
    why = is_lossless(run.result) ? "Best with lossless output"
                                  : fmt::format("Best at a task score of {} or more", plain(kNearlyLossless));
  }
  Fact f{kWhichPolicy, run.policy, "", "headline"};
  f.detail = fmt::format("{}: {}", why, figures(chosen));
  if (!by.knows_quality) {
    const auto also = [&](const std::optional<std::size_t>& other, const std::string& what) {
      if (!other || *other == chosen) return false;
      f.detail += fmt::format("\n{}: {}: {}", what, compared.results[*other].policy, figures(*other));
      return true;
    };
    also(best.nearly_lossless, fmt::format("At a task score of {} or more", plain(kNearlyLossless)));
    if (best.all != best.nearly_lossless) also(best.all, "Whatever the quality");
  }
  f.detail += ties_of(compared, chosen);
  f.detail += objectives_of_policies(compared, chosen, best);
  f.detail += unsteady_words(run.result);
  const Json& policies = at(run.result, {"details", "policies"});
  const auto x = number(policies, {"draft_length"}), c = number(policies, {"keep_ratio"});
  if (x && c) f.detail += fmt::format("\nDrafts were made with x = {}, c = {}.", plain(*x), plain(*c));
  if (compared.results.size() > 1) f.detail += fmt::format("\n{} policies compared.", compared.results.size());
  f.detail += said_of(run.result);
  return f;
}

Fact plan_of(const Json& plan) {
  const Json& simulated = at(plan, {"simulated"});
  const Json& optimum = at(plan, {"optimum"});
  if (!simulated.empty()) {
    Fact f{kWhichPlan, plan_text(at(simulated, {"best"})), "", "alternatives"};
    f.detail = fmt::format(
        "Simulated: {} tokens/s a replica{}, the best of {}.\nThe closed forms alone would "
        "choose {}",
        interval_text(number_or_nan(simulated, {"throughput_tokens_per_s", "mean"}),
                      number_or_nan(simulated, {"throughput_tokens_per_s", "half_width_95"}), results::figure),
        speedup_text(simulated), results::counted(at(simulated, {"candidates"}).size(), "candidate"),
        plan_text(optimum));
    if (const auto ratio = number(simulated, {"predicted_over_simulated"})) {
      f.detail += fmt::format("; for the plan above they predict {:.1f} % {}", std::fabs(*ratio - 1) * 100,
                              *ratio < 1 ? "less" : "more");
    }
    f.detail += "." + as_good(simulated) + without_objectives(plan) + kSymbols;
    return f;
  }
  return {kWhichPlan, plan_text(optimum),
          fmt::format("By the closed forms ({}), not simulated: {} tokens/s a replica, {} of full-KV decoding. "
                      "kvsim plan --simulate checks it.{}",
                      text(plan, {"model"}), results::figure(number_or_nan(optimum, {"throughput_tokens_per_s"})),
                      results::factor(number_or_nan(plan, {"speedup"})), kSymbols),
          "maps"};
}

std::optional<Fact> swept_policy(const Inputs& inputs) {
  for (const Json& sweep : inputs.sweeps) {
    if (sweeps_over(sweep, {".policy"})) return swept(sweep, kWhichPolicy);
  }
  return std::nullopt;
}

/// A sweep over what a plan is about.
std::optional<Fact> swept_plan(const Json& sweep) {
  if (!sweeps_over(sweep, {"draft_length", "keep_ratio"})) return std::nullopt;
  return swept(sweep, kWhichPlan);
}

}  // namespace kvsim::report
