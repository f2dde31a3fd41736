#include "tools/report/best_policy.h"

#include <algorithm>
#include <cmath>

#include "tools/report/parts.h"
#include "tools/results/figure_rows.h"
#include "tools/results/numbers.h"
#include "tools/results/sweep.h"

namespace kvsim::report {
namespace {

constexpr double kGoodputTie = 0.03;

/// Policies may differ in GPUs: those that only choose tokens count too. Where nothing is asked for, every request that
/// finished is good.
double goodput_per_gpu(const Json& result) {
  const double gpus = number_or_nan(result, {"throughput", "output_tokens_per_s"}) /
                      number_or_nan(result, {"throughput", "output_tokens_per_s_per_gpu"});
  const auto good = number(result, {"slo", "goodput_requests_per_s"});
  return good.value_or(number_or_nan(result, {"throughput", "requests_per_s"})) / gpus;
}

}  // namespace

Criterion criterion_of(const Inputs::Compared& compared) {
  if (has(compared.results.front().result, {"answers"})) {
    return {.name = "goodput in requests/s per GPU",
            .less = false,
            .of = goodput_per_gpu,
            .print = results::figure,
            .interval = {},
            .knows_quality = true};
  }
  if (has(compared.document, {"ttft_speedup"})) {
    return {.name = "mean TTFT",
            .less = true,
            .of =
                [](const Json& r) {
                  return number_or_nan(r, {"latency_s", "ttft", "mean"});
                },
            .print = results::seconds,
            .interval = "latency_s.ttft.mean"};
  }
  return {.name = "output tokens/s",
          .less = false,
          .of =
              [](const Json& r) {
                return number_or_nan(r, {"throughput", "output_tokens_per_s"});
              },
          .print = results::figure,
          .interval = "throughput.output_tokens_per_s"};
}

bool meets_objectives(const Json& result) {
  return objectives_words(result).empty() || results::shortfall_of(result, {.objectives = true}).missed <= 0;
}

Contest contest_of(const Inputs::Compared& compared) {
  const Criterion by = criterion_of(compared);
  // Goodput has no interval; where requests arrive on their own it ends where all are served.
  Contest contest{{}, {by.less, !by.knows_quality, by.knows_quality ? kGoodputTie : 0}};
  for (const Simulated& run : compared.results) {
    results::Candidate c = results::candidate_of(run.result, {.steady = true, .objectives = true});
    if (by.knows_quality) c.behind.below_floor = 0;
    c.value = by.of(run.result);
    c.printed = by.print(c.value);
    c.half_width = half_width(run.result, by.interval);
    c.baseline = contest.candidates.empty();
    contest.candidates.push_back(std::move(c));
  }
  return contest;
}

double swept_figure(const Json& result, std::string_view path) {
  if (const double value = figure_at(result, path); std::isfinite(value)) return value;
  if (!path.ends_with(results::kHalfWidth)) return results::kNone;
  path.remove_suffix(results::kHalfWidth.size() + 1);
  return half_width(result, path);
}

SweepRule rule_of(const Json& sweep) {
  const Json& best = at(sweep, {"best"});
  const auto said = [&best](std::string_view key, bool otherwise) {
    return has(best, {key}) ? truth(best, {key}) : otherwise;
  };
  SweepRule rule;
  rule.metric = text(best, {"metric"});
  if (rule.metric.empty()) rule.metric = results::kThroughput;
  rule.asked = {said("steady_first", asks_for_service(sweep)), said("objectives_first", true)};
  rule.order = {text(best, {"order"}) == "lowest", said("quality_first", !rule.metric.starts_with("slo.goodput"))};
  return rule;
}

Contest contest_of(const SweepRule& rule, const std::vector<const Json*>& points) {
  Contest contest{{}, rule.order};
  std::vector<Json> sets;
  for (const Json* point : points) {
    const Json& result = at(*point, {"result"});
    results::Candidate& c = contest.candidates.emplace_back(results::candidate_of(result, rule.asked));
    results::measure(c, rule.metric, [&result](std::string_view path) { return swept_figure(result, path); });
    sets.push_back(at(*point, {"set"}));
  }
  results::mark_baselines(contest.candidates, sets);
  return contest;
}

std::vector<std::string> given_axes(const Json& sweep) {
  std::vector<std::string> paths;
  const bool service = rule_of(sweep).asked.steady;
  for (const Json& axis : at(sweep, {"axes"})) {
    std::string path = text(axis, {"path"});
    if (results::is_given(path, service) && at(axis, {"values"}).size() > 1) paths.push_back(std::move(path));
  }
  return paths;
}

std::string even_points(const Json& sweep, const results::Best& best, const std::vector<const Json*>& points) {
  const Json& all = at(sweep, {"points"});
  std::vector<std::size_t> numbers;
  for (const std::size_t i : best.even) {
    const auto position = std::find_if(all.begin(), all.end(), [&](const Json& p) { return &p == points[i]; });
    const double index = number(*points[i], {"index"}).value_or(static_cast<double>(position - all.begin()));
    constexpr double most = 1e15;
    numbers.push_back(static_cast<std::size_t>(std::clamp(index, 0.0, most)));
  }
  return results::even_words(best, results::point_numbers(std::move(numbers)));
}

std::vector<results::Rival> rivals_of(const Inputs::Compared& compared) {
  std::vector<results::Rival> rivals;
  for (const Simulated& run : compared.results) {
    const Json& result = run.result;
    const auto count = [&result](std::string_view key) {
      constexpr double most = 1e15;
      return static_cast<std::uint64_t>(std::clamp(number(result, {"requests", key}).value_or(0), 0.0, most));
    };
    results::Rival r;
    r.policy = run.policy;
    r.arrived = count("arrived");
    r.completed = count("completed");
    r.refused = count("refused");
    r.running = count("running");
    r.closed = has(resolved_section(result, "workload"), {"workload", "closed"});
    r.row.lossless = results::quality_of(result).lossless;
    r.row.served = number(result, {"throughput", "output_tokens_per_s"}).value_or(0) > 0;
    r.most_finished = number(result, {"details", "completed_measured"}).value_or(1) > 0 && 2 * r.completed >= r.arrived;
    r.row.all_finished = r.refused == 0 && r.most_finished && unsteady_state(result).empty();
    r.figure = [&result](std::string_view path) { return figure_at(result, path); };
    rivals.push_back(std::move(r));
  }
  return rivals;
}

std::string compared_ttft(const Inputs::Compared& compared) {
  return has(compared.document, {"ttft_speedup"}) ? "latency_s.ttft.mean" : "latency_s.ttft.p50";
}

std::size_t chosen_of(const Inputs::Compared& compared) {
  const auto choice = contest_of(compared).choice();
  return choice ? choice->best.chosen : 0;
}

std::optional<std::size_t> outside_objectives(const Inputs::Compared& compared) {
  Contest contest = contest_of(compared);
  const double chosen = contest.candidates[chosen_of(compared)].value;
  for (results::Candidate& c : contest.candidates) c.behind = {};
  const results::Bests bests = results::bests_of(contest.candidates, contest.order);
  const auto& fastest = contest.order.quality_first ? bests.lossless : bests.all;
  if (!fastest || meets_objectives(compared.results[fastest->chosen].result)) return std::nullopt;
  const bool better = contest.order.better(contest.candidates[fastest->chosen].value, chosen);
  return better ? std::optional(fastest->chosen) : std::nullopt;
}

double gain_of(const Inputs::Compared& compared, std::size_t policy) {
  const Criterion by = criterion_of(compared);
  const double base = by.of(compared.results.front().result), value = by.of(compared.results[policy].result);
  return by.less ? base / value : value / base;
}

}  // namespace kvsim::report
