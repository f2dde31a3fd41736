// Which policy, draft length and keep ratio: by comparisons, plans and sweeps.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/best_policy.h"
#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/report/words.h"
#include "tools/results/numbers.h"
#include "tools/results/sweep.h"

namespace kvsim::report {
namespace {

/// What the policy does, for those who do not know its name.
std::string said_of(const Json& result) {
  const std::string said = policy_words(result);
  return said.empty() ? said : "\n" + said;
}

std::string listed(const std::vector<std::string>& names) {
  std::string said;
  for (const std::string& name : names) said += (said.empty() ? "" : ", ") + name;
  return said;
}

/// Who else prints the same figure, and whose interval overlaps that of the chosen one.
std::string ties_of(const Inputs::Compared& compared, std::size_t chosen) {
  const Criterion by = criterion_of(compared);
  const std::vector<Candidate> all = candidates_of(compared);
  const Candidate& best = all[chosen];
  const auto half = [&by](const Candidate& c) { return half_width(*c.result, by.interval); };
  std::vector<std::string> alike, even;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (i == chosen) continue;
    if (by.print(all[i].value) == by.print(best.value)) {
      alike.push_back(compared.results[i].policy);
    } else if (!by.interval.empty() && all[i].behind == best.behind &&
               std::fabs(all[i].value - best.value) < half(all[i]) + half(best)) {
      even.push_back(compared.results[i].policy);
    }
  }
  std::string said = alike.empty() ? "" : fmt::format("\nThe same figure: {}.", listed(alike));
  if (!even.empty()) {
    said += fmt::format("\nEven with {}, for the intervals overlap: {}. The difference{} may be chance.",
                        compared.results[chosen].policy, listed(even), even.size() == 1 ? "" : "s");
  }
  return said;
}

/// The share of requests that met the objectives, with as many digits as show on which side of what is enough it is;
/// not a number where none finished.
std::string met_text(double share) {
  if (std::isnan(share)) return "none";
  constexpr int most = 6;
  double parts = 1000;
  for (int digits = 1; digits < most; ++digits, parts *= 10) {
    if ((std::round(share * parts) / parts >= kMetByEnough) == (share >= kMetByEnough)) {
      return fmt::format("{:.{}f} %", share * 100, digits);
    }
  }
  return "just under " + results::percent(kMetByEnough);
}

std::string capitalized(std::string words) {
  if (!words.empty()) words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  return words;
}

/// How many requests met the objectives, where there are some, and whom they rule out.
std::string objectives_of_policies(const Inputs::Compared& compared, std::size_t chosen) {
  const auto share = [&](std::size_t i) {
    return met_text(number_or_nan(compared.results[i].result, {"slo", "attainment"}));
  };
  const std::string objectives = objectives_words(compared.results[chosen].result);
  if (objectives.empty()) return {};
  std::string said = fmt::format("\n{} of the requests under {} met the objectives ({}).", capitalized(share(chosen)),
                                 compared.results[chosen].policy, objectives);
  if (!meets_objectives(compared.results[chosen].result)) {
    said += fmt::format("\nNo policy meets them for {} of the requests.", results::percent(kMetByEnough));
  } else if (const auto outside = outside_objectives(compared)) {
    const Criterion by = criterion_of(compared);
    const Simulated& other = compared.results[*outside];
    said += fmt::format("\nBetter, but outside of the objectives: {}, {} {} ({} of its requests met them, {} have to).",
                        other.policy, by.name, by.print(by.of(other.result)), share(*outside),
                        results::percent(kMetByEnough));
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

/// The settings whose paths end so, or the others, without those that are `given`.
std::string setting_text(const Json& set, std::string_view end, bool others,
                         const std::vector<std::string>& given = {}) {
  std::string said;
  for (const auto& [path, value] : set.items()) {
    if (path.ends_with(end) == others || std::find(given.begin(), given.end(), path) != given.end()) continue;
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

/// The axes none of whose values is a choice: how much traffic comes, where requests arrive on their own (of less of it
/// latencies are always lower), and what is asked for.
std::vector<std::string> given_of(const Json& sweep) {
  std::vector<std::string> paths;
  const bool service = asks_for_service(sweep) || truth(sweep, {"best", "steady_first"});
  for (const Json& axis : at(sweep, {"axes"})) {
    std::string path = text(axis, {"path"});
    if (results::is_given(path, service) && at(axis, {"values"}).size() > 1) paths.push_back(std::move(path));
  }
  return paths;
}

/// The points of a sweep that have such axes in common; all of them where there is none.
struct Choice {
  std::string given;  ///< "rate = 4/s"; empty where nothing is
  std::vector<const Json*> points;
  std::vector<Candidate> candidates;  ///< the same
  std::optional<std::size_t> chosen;

  [[nodiscard]] const Json& point() const { return *points[*chosen]; }
  [[nodiscard]] const Candidate& best() const { return candidates[*chosen]; }
};

Order order_of(const Json& sweep) {
  return {text(sweep, {"best", "order"}) == "lowest", text(sweep, {"best", "metric"}).starts_with("slo.goodput")};
}

/// Those of the figure that the sweep is about, and how far they are behind what was asked for.
std::vector<Choice> choices_of(const Json& sweep) {
  const std::string metric = text(sweep, {"best", "metric"});
  const Order order = order_of(sweep);
  const bool service = asks_for_service(sweep);
  const std::vector<std::string> given = given_of(sweep);
  std::vector<Choice> choices;
  std::string first_policy;
  for (const Json& point : at(sweep, {"points"})) {
    const Json& result = at(point, {"result"});
    const double value = figure_at(result, metric);
    if (!std::isfinite(value)) continue;
    const Json& set = at(point, {"set"});
    std::string at_given;
    for (const std::string& path : given) {
      at_given += fmt::format("{}{} = {}", at_given.empty() ? "" : ", ", path.substr(path.rfind('.') + 1),
                              scalar_text(at(set, {path})));
    }
    auto own = std::find_if(choices.begin(), choices.end(), [&](const Choice& c) { return c.given == at_given; });
    if (own == choices.end()) own = choices.insert(own, Choice{at_given, {}, {}, {}});
    const std::string policy = setting_text(set, ".policy", false);
    if (choices.size() == 1 && own->points.empty()) first_policy = policy;
    own->points.push_back(&point);
    own->candidates.push_back(
        {&result, value, behind(result, service, order.knows_quality), !policy.empty() && policy == first_policy});
  }
  for (Choice& c : choices) c.chosen = chosen_of(c.candidates, order);
  return choices;
}

/// Why it is not the first by the figure alone; empty where it is. `asks`: whether there are objectives.
std::string chosen_words(const Choice& choice, const Order& order, bool asks) {
  const Candidate& best = choice.best();
  const auto passed = [&](auto is) {
    return std::any_of(choice.candidates.begin(), choice.candidates.end(),
                       [&](const Candidate& c) { return order.better(c.value, best.value) && is(c); });
  };
  using results::Shortfall;
  const Shortfall& own = best.behind;
  const auto passed_by = [&](auto is) { return passed([&is](const Candidate& c) { return is(c.behind); }); };
  const bool steady = passed_by([&own](const Shortfall& s) { return s.unsteady && !own.unsteady; });
  const bool good = own.below_floor <= 0 &&
                    passed_by([&own](const Shortfall& s) { return s.unsteady == own.unsteady && s.below_floor > 0; });
  const bool met = own.missed <= 0 && passed_by([&own](const Shortfall& s) {
                     return s.unsteady == own.unsteady && s.below_floor == own.below_floor && s.missed > 0;
                   });
  const bool quality = passed_by([&own](const Shortfall& s) { return s == own; });
  std::string said = quality ? " " + quality_words(choice.candidates, order, *choice.chosen) : "";
  if (good) said += " that reaches slo.quality_floor";
  const bool finished = own.missed < 1 && passed_by([](const Shortfall& s) { return s.missed >= 1; });
  if (met && asks) said += fmt::format("{} meets the objectives", good ? " and" : " that");
  if (finished && !(met && asks)) said += " at which requests finished";
  return said + (steady ? " in a steady state" : "");
}

/// What is better than the chosen point where less of the output's quality is enough.
std::string other_qualities(const Choice& choice, const Json& sweep, bool of_policy) {
  const std::string metric = text(sweep, {"best", "metric"});
  const Bests bests = bests_of(choice.candidates, order_of(sweep));
  std::string said;
  const auto also = [&](const std::optional<std::size_t>& other, const std::string& what) {
    if (!other || other == choice.chosen) return;
    const Candidate& c = choice.candidates[*other];
    said += fmt::format("\n{}: {}: {} {}; {}.", what,
                        setting_text(at(*choice.points[*other], {"set"}), ".policy", !of_policy, given_of(sweep)),
                        metric_name(metric), printed(metric, c.value), output_words(*c.result));
  };
  if (order_of(sweep).knows_quality) return said;
  also(bests.nearly_lossless, fmt::format("At a task score of {} or more", plain(kNearlyLossless)));
  if (bests.all != bests.nearly_lossless) also(bests.all, "Whatever the quality");
  return said;
}

/// The answer of a sweep over what is no choice: what is best at each of its values.
Fact swept_over_given(const Json& sweep, const char* question, const std::vector<Choice>& choices) {
  const bool of_policy = question == std::string_view(kWhichPolicy);
  const std::string metric = text(sweep, {"best", "metric"});
  const bool objectives = !objectives_words(sweep).empty();
  Fact f{question, "", "", "maps"};
  const std::vector<std::string> given = given_of(sweep);
  const std::string paths = listed(given);
  f.detail = fmt::format("No point is best: {}. At each:", results::given_words(given));
  constexpr std::size_t most = 8;
  std::set<std::string> answers;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const Choice& c = choices[i];
    const std::string setting = setting_text(at(c.point(), {"set"}), ".policy", !of_policy, given);
    answers.insert(setting);
    if (i >= most) continue;
    const Json& result = *c.best().result;
    f.detail += fmt::format("\n{}: {}{}: {} {}; {}", c.given, setting, chosen_words(c, order_of(sweep), objectives),
                            metric_name(metric), printed(metric, c.best().value), output_words(result));
    if (objectives) {
      f.detail += fmt::format("; {} of its requests met the objectives",
                              met_text(number_or_nan(result, {"slo", "attainment"})));
    }
    if (const std::string why = unsteady_state(result); !why.empty()) f.detail += "; no steady state: " + why;
    f.detail += "." + on_one_line(other_qualities(c, sweep, of_policy));
  }
  if (choices.size() > most) {
    f.detail += fmt::format("\nAnd {} more values of it, in sweep.json.", choices.size() - most);
  }
  f.answer = answers.size() == 1 ? fmt::format("{}, at every {} swept", *answers.begin(), paths)
                                 : fmt::format("it depends on {}", paths);
  return f;
}

/// The best point of a sweep, as the answer to a question: of those that meet the objectives, where any does.
Fact swept(const Json& sweep, const char* question) {
  const bool of_policy = question == std::string_view(kWhichPolicy);
  const Json& points = at(sweep, {"points"});
  const std::string metric = text(sweep, {"best", "metric"});
  const std::string objectives = objectives_words(sweep);
  const Order order = order_of(sweep);
  const std::vector<Choice> choices = choices_of(sweep);
  if (choices.empty()) {
    const bool any = std::any_of(points.begin(), points.end(), [](const Json& p) { return has(p, {"result"}); });
    if (any) return {question, "no point of the sweep has a figure to rank by", "Did a request finish?", "maps"};
    return {question, "no point of the sweep can be simulated", "The reasons are listed with it.", "maps"};
  }
  std::size_t simulated = 0;
  for (const Choice& c : choices) simulated += c.points.size();
  std::string others;
  const auto refused = static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(), [](const Json& p) { return !has(p, {"result"}); }));
  const auto say_others = [&others](std::size_t count, const char* what) {
    if (count > 0) others += fmt::format("\n{} other{} {}.", count, count == 1 ? "" : "s", what);
  };
  say_others(refused, "cannot be simulated");
  say_others(points.size() - simulated - refused, "came to no such figure");
  if (!choices.front().given.empty()) {
    Fact f = swept_over_given(sweep, question, choices);
    f.detail += others;
    return f;
  }
  const Choice& choice = choices.front();
  const Candidate& best = choice.best();
  Fact f{question, setting_text(at(choice.point(), {"set"}), ".policy", !of_policy),
         fmt::format("The {} of {} simulated{}: {} {}; {}.",
                     best.behind.nothing() ? "best" : "nearest to what is asked for",
                     simulated == 1 ? "the one point" : fmt::format("{} points", simulated),
                     chosen_words(choice, order, !objectives.empty()), metric_name(metric), printed(metric, best.value),
                     output_words(*best.result)),
         "maps"};
  f.detail += other_qualities(choice, sweep, of_policy);
  f.detail += others;
  if (!objectives.empty()) {
    f.detail += fmt::format("\n{} of its requests met the objectives ({}).",
                            capitalized(met_text(number_or_nan(*best.result, {"slo", "attainment"}))), objectives);
  }
  f.detail += unsteady_words(*best.result);
  const double half = half_width(*best.result, metric);
  const auto close = std::count_if(choice.candidates.begin(), choice.candidates.end(), [&](const Candidate& c) {
    return c.behind == best.behind && std::fabs(c.value - best.value) <= half;
  });
  if (close > 1) {
    f.detail += fmt::format("\nIts 95 % interval holds {} other point{}: chance may have chosen among them.", close - 1,
                            close == 2 ? "" : "s");
  }
  return f;
}

}  // namespace

std::vector<const Json*> answering_points(const Json& sweep) {
  std::vector<const Json*> steady, all;
  for (const Choice& c : choices_of(sweep)) {
    all.push_back(&c.point());
    if (!c.best().behind.unsteady) steady.push_back(all.back());
  }
  return steady.empty() ? all : steady;
}

std::string unsteady_words(const Json& result) {
  const std::string why = unsteady_state(result);
  return why.empty() ? "" : fmt::format("\nNo steady state: {}.", why);
}

std::string output_words(const Json& result) {
  if (is_lossless(result)) return "its output is that of full-KV decoding";
  const auto score = number(result, {"quality", "mean_score"});
  return (score ? fmt::format("task score {} of the full KV", results::figure(*score)) : "its output is lossy") +
         results::floor_words(result);
}

Fact policy_of(const Inputs::Compared& compared) {
  const Criterion by = criterion_of(compared);
  const std::size_t chosen = chosen_of(compared);
  const Simulated& run = compared.results[chosen];
  const auto figures = [&](std::size_t i) {
    const Json& result = compared.results[i].result;
    std::string said =
        fmt::format("{} {}", by.name, interval_text(by.of(result), half_width(result, by.interval), by.print));
    if (i != 0 && std::isfinite(gain_of(compared, i))) {
      said += fmt::format(", {} of {}", results::factor(gain_of(compared, i)), text(compared.document, {"baseline"}));
    }
    return said + "; " + output_words(result) + ".";
  };
  const std::vector<Candidate> candidates = candidates_of(compared);
  const Order order = order_of(compared);
  const Bests best = bests_of(candidates, order);
  const std::string of_quality = quality_words(candidates, order, chosen);
  std::string why = "Best " + (of_quality.empty() ? "of all" : of_quality);
  const bool passed = std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& one) {
    return order.better(one.value, candidates[chosen].value) && candidates[chosen].behind < one.behind;
  });
  if (of_quality.empty() && passed) why = "Best of those that meet the objectives";
  if (!candidates[chosen].behind.nothing()) why = "Nearest to what is asked for";
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
  f.detail += objectives_of_policies(compared, chosen);
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

std::optional<Fact> swept_policy(const Json& sweep) {
  if (!sweeps_over(sweep, {".policy"})) return std::nullopt;
  return swept(sweep, kWhichPolicy);
}

/// A sweep over what a plan is about.
std::optional<Fact> swept_plan(const Json& sweep) {
  if (!sweeps_over(sweep, {"draft_length", "keep_ratio"})) return std::nullopt;
  return swept(sweep, kWhichPlan);
}

}  // namespace kvsim::report
