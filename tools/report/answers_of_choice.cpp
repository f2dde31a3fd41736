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

/// Description of the policy, for those who do not know its name.
std::string said_of(const Json& result) {
  const std::string said = policy_words(result);
  return said.empty() ? said : "\n" + said;
}

std::string listed(const std::vector<std::string>& names) {
  std::string said;
  for (const std::string& name : names) said += (said.empty() ? "" : ", ") + name;
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

/// As a line of its own; empty where there are no words.
std::string sentence(const std::string& words) {
  return words.empty() ? words : "\n" + capitalized(words) + ".";
}

/// The policies that are even with the chosen one.
std::string ties_of(const Inputs::Compared& compared, const results::Best& best) {
  std::vector<std::string> names;
  for (const std::size_t i : best.even) names.push_back(compared.results[i].policy);
  return sentence(results::even_words(best, listed(names)));
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
    said += fmt::format("\nNo policy meets them for {} of the requests.",
                        results::needed_words(compared.results[chosen].result));
  } else if (const auto outside = outside_objectives(compared)) {
    const Criterion by = criterion_of(compared);
    const Simulated& other = compared.results[*outside];
    said += fmt::format("\nBetter, but outside of the objectives: {}, {} {} ({} of its requests met them, {} have to).",
                        other.policy, by.name, by.print(by.of(other.result)), share(*outside),
                        results::needed_words(other.result));
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

/// The points of a sweep that have the given axes in common; all of them where there is none.
struct Group {
  std::string given;  ///< "rate = 4/s"; empty where nothing is
  std::vector<const Json*> points;
  Contest contest{};
  results::Choice choice{};

  [[nodiscard]] const Json& point() const { return *points[choice.best.chosen]; }
  [[nodiscard]] const Json& result() const { return at(point(), {"result"}); }
  [[nodiscard]] const results::Candidate& best() const { return contest.candidates[choice.best.chosen]; }
};

/// Those of the figure that the sweep is about.
std::vector<Group> groups_of(const Json& sweep) {
  if (!has(sweep, {"best"})) return {};
  const SweepRule rule = rule_of(sweep);
  const std::vector<std::string> given = given_axes(sweep);
  std::vector<Group> groups;
  for (const Json& point : at(sweep, {"points"})) {
    if (!std::isfinite(swept_figure(at(point, {"result"}), rule.metric))) continue;
    const Json& set = at(point, {"set"});
    std::string at_given;
    for (const std::string& path : given) {
      at_given += (at_given.empty() ? "" : ", ") + results::at_value(path, scalar_text(at(set, {path})));
    }
    auto own = std::find_if(groups.begin(), groups.end(), [&](const Group& g) { return g.given == at_given; });
    if (own == groups.end()) own = groups.insert(own, Group{at_given, {}});
    own->points.push_back(&point);
  }
  for (Group& g : groups) {
    g.contest = contest_of(rule, g.points);
    g.choice = *g.contest.choice();
  }
  return groups;
}

/// Why it is not the first by the figure alone; empty where it is. `asks`: whether there are objectives.
std::string chosen_words(const Group& group, bool asks) {
  return results::passed_over_words(group.contest.candidates, group.contest.order, group.choice, asks);
}

/// Points that are better than the chosen one where less of the output's quality is enough.
std::string other_qualities(const Group& group, const Json& sweep, bool of_policy) {
  const std::string metric = rule_of(sweep).metric;
  std::string said;
  for (const auto& [what, other] : results::other_qualities(group.contest.candidates, group.contest.order)) {
    const Json& point = *group.points[other];
    said += fmt::format("\n{}: {}: {} {}; {}.", capitalized(what),
                        setting_text(at(point, {"set"}), ".policy", !of_policy, given_axes(sweep)), metric_name(metric),
                        printed(metric, group.contest.candidates[other].value), output_words(at(point, {"result"})));
  }
  return said;
}

/// The answer of a sweep over what is no choice: what is best at each of its values.
Fact swept_over_given(const Json& sweep, const char* question, const std::vector<Group>& groups) {
  const bool of_policy = question == std::string_view(kWhichPolicy);
  const std::string metric = rule_of(sweep).metric;
  const bool objectives = !objectives_words(sweep).empty();
  Fact f{question, "", "", "maps"};
  const std::vector<std::string> given = given_axes(sweep);
  const std::string paths = listed(given);
  f.detail = fmt::format("No point is best: {}. At each:", results::given_words(given));
  constexpr std::size_t most = 8;
  std::set<std::string> answers;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Group& c = groups[i];
    const std::string setting = setting_text(at(c.point(), {"set"}), ".policy", !of_policy, given);
    answers.insert(setting);
    if (i >= most) continue;
    const Json& result = c.result();
    f.detail += fmt::format("\n{}: {}{}: {} {}; {}", c.given, setting, chosen_words(c, objectives), metric_name(metric),
                            printed(metric, c.best().value), output_words(result));
    if (objectives) {
      f.detail += fmt::format("; {} of its requests met the objectives",
                              met_text(number_or_nan(result, {"slo", "attainment"})));
    }
    if (const std::string why = unsteady_state(result); !why.empty()) f.detail += "; no steady state: " + why;
    f.detail +=
        "." + on_one_line(other_qualities(c, sweep, of_policy) + sentence(even_points(sweep, c.choice.best, c.points)));
  }
  if (groups.size() > most) {
    f.detail += fmt::format("\nAnd {} more values of it, in sweep.json.", groups.size() - most);
  }
  f.answer = answers.size() == 1 ? fmt::format("{}, at every {} swept", *answers.begin(), paths)
                                 : fmt::format("it depends on {}", paths);
  return f;
}

/// The best point of a sweep, as the answer to a question: of those that meet the objectives, where any does.
Fact swept(const Json& sweep, const char* question) {
  const bool of_policy = question == std::string_view(kWhichPolicy);
  const Json& points = at(sweep, {"points"});
  const std::string metric = rule_of(sweep).metric;
  const std::string objectives = objectives_words(sweep);
  const std::vector<Group> groups = groups_of(sweep);
  if (groups.empty()) {
    const bool any = std::any_of(points.begin(), points.end(), [](const Json& p) { return has(p, {"result"}); });
    if (any) return {question, "no point of the sweep has a figure to rank by", "Did a request finish?", "maps"};
    return {question, "no point of the sweep can be simulated", "The reasons are listed with it.", "maps"};
  }
  std::size_t simulated = 0;
  for (const Group& c : groups) simulated += c.points.size();
  std::string others;
  const auto refused = static_cast<std::size_t>(
      std::count_if(points.begin(), points.end(), [](const Json& p) { return !has(p, {"result"}); }));
  const auto say_others = [&others](std::size_t count, const char* what) {
    if (count > 0) others += fmt::format("\n{} other{} {}.", count, count == 1 ? "" : "s", what);
  };
  say_others(refused, "cannot be simulated");
  say_others(points.size() - simulated - refused, "came to no such figure");
  if (!groups.front().given.empty()) {
    Fact f = swept_over_given(sweep, question, groups);
    f.detail += others;
    return f;
  }
  const Group& group = groups.front();
  const results::Candidate& best = group.best();
  const Json& result = group.result();
  Fact f{question, setting_text(at(group.point(), {"set"}), ".policy", !of_policy),
         fmt::format("The {} of {} simulated{}: {} {}; {}.",
                     best.behind.nothing() ? results::rule_words(group.choice.best) : "nearest to what is asked for",
                     simulated == 1 ? "the one point" : fmt::format("{} points", simulated),
                     chosen_words(group, !objectives.empty()), metric_name(metric), printed(metric, best.value),
                     output_words(result)),
         "maps"};
  f.detail += other_qualities(group, sweep, of_policy);
  f.detail += others;
  if (!objectives.empty()) {
    f.detail += fmt::format("\n{} of its requests met the objectives ({}).",
                            capitalized(met_text(number_or_nan(result, {"slo", "attainment"}))), objectives);
  }
  f.detail += unsteady_words(result);
  f.detail += sentence(even_points(sweep, group.choice.best, group.points));
  if (results::none_chosen(group.choice.best, simulated)) {
    f.detail += "\nNo point is the best: their differences may be chance.";
  }
  return f;
}

}  // namespace

std::vector<const Json*> answering_points(const Json& sweep) {
  std::vector<const Json*> steady, all;
  for (const Group& c : groups_of(sweep)) {
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
  return results::output_words(results::quality_of(result));
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
  const Contest contest = contest_of(compared);
  const std::optional<results::Choice> choice = contest.choice();
  const std::string of_quality = choice ? choice->quality : "";
  std::string why = "Best";
  if (choice && choice->best.by != results::TieBreak::none) why = "The " + results::rule_words(choice->best);
  const results::Candidate& best = contest.candidates[chosen];
  const bool passed =
      std::any_of(contest.candidates.begin(), contest.candidates.end(), [&](const results::Candidate& one) {
        return contest.order.better(one.value, best.value) && best.behind < one.behind;
      });
  if (!of_quality.empty()) {
    why += " " + of_quality;
  } else {
    why += passed ? " of those that meet the objectives" : why == "Best" ? " of all" : "";
  }
  if (!best.behind.nothing()) why = "Nearest to what is asked for";
  Fact f{kWhichPolicy, run.policy, "", "headline"};
  f.detail = fmt::format("{}: {}", why, figures(chosen));
  for (const auto& [what, other] : results::other_qualities(contest.candidates, contest.order)) {
    f.detail += fmt::format("\n{}: {}: {}", capitalized(what), compared.results[other].policy, figures(other));
  }
  if (choice) f.detail += ties_of(compared, choice->best);
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
