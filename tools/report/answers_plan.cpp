// Which draft length and keep ratio, by plans and sweeps.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "tools/report/answers.h"
#include "tools/report/objectives.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

constexpr const char* kSymbols =
    " x: tokens drafted before they are verified; c: share of the KV that drafts are made on.";

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
  return fmt::format(" Draft lengths from {} to {} came within 1 % of it: take any.", plain(*lengths.begin()),
                     plain(*lengths.rbegin()));
}

std::string setting_text(const Json& set) {
  std::string said;
  for (const auto& [path, value] : set.items()) {
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

/// The best point of a sweep, as the answer to a question.
Fact swept(const Json& sweep, const char* question) {
  std::size_t simulated = 0;
  for (const Json& point : at(sweep, {"points"})) simulated += has(point, {"result"}) ? 1 : 0;
  const std::string metric = text(sweep, {"best", "metric"});
  if (simulated == 0 || metric.empty()) {
    return {question, "no point of the sweep can be simulated", "The reasons are listed with it.", "maps"};
  }
  const double best = number_or_nan(sweep, {"best", "value"});
  std::size_t close = 0;
  for (const Json& point : at(sweep, {"points"})) {
    const Json& result = at(point, {"result"});
    if (std::fabs(figure_at(result, metric) - best) <= half_width(result, metric)) ++close;
  }
  Fact f{question, setting_text(at(sweep, {"best", "set"})),
         fmt::format("The best of {} points simulated: {} {}.", simulated, metric_name(metric), printed(metric, best)),
         "maps"};
  if (close > 1) {
    f.detail += fmt::format(" It lies within the 95 % interval of {} other{}: chance may have chosen among them.",
                            close - 1, close == 2 ? "" : "s");
  }
  return f;
}

}  // namespace

Fact plan_of(const Json& plan) {
  const Json& simulated = at(plan, {"simulated"});
  const Json& optimum = at(plan, {"optimum"});
  if (!simulated.empty()) {
    Fact f{kWhichPlan, plan_text(at(simulated, {"best"})), "", "alternatives"};
    f.detail = fmt::format(
        "Simulated: {} tokens/s a replica{}, the best of {} candidates. The closed forms alone would "
        "choose {}",
        interval_text(number_or_nan(simulated, {"throughput_tokens_per_s", "mean"}),
                      number_or_nan(simulated, {"throughput_tokens_per_s", "half_width_95"}), results::figure),
        speedup_text(simulated), at(simulated, {"candidates"}).size(), plan_text(optimum));
    if (const auto ratio = number(simulated, {"predicted_over_simulated"})) {
      f.detail += fmt::format("; for the plan above they predict {:.1f} % {}", std::fabs(*ratio - 1) * 100,
                              *ratio < 1 ? "less" : "more");
    }
    f.detail += "." + as_good(simulated) + kSymbols;
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
