#include "tools/report/best_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

constexpr double kGoodputTie = 0.03;

/// Position of the best of those that `may` be it.
template <class May>
std::optional<std::size_t> best_where(const std::vector<Candidate>& candidates, const Order& order, May may) {
  std::optional<std::size_t> best;
  double needed = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    const Candidate& c = candidates[i];
    if (!std::isfinite(c.value) || !may(c)) continue;
    if (best && !order.better(c.value, needed)) continue;
    best = i;
    needed = order.less ? c.value * (1 - order.tie) : c.value * (1 + order.tie);
  }
  return best;
}

/// Policies may differ in GPUs: those that only choose tokens count too.
double goodput_per_gpu(const Json& result) {
  const double gpus = number_or_nan(result, {"throughput", "output_tokens_per_s"}) /
                      number_or_nan(result, {"throughput", "output_tokens_per_s_per_gpu"});
  return number_or_nan(result, {"slo", "goodput_requests_per_s"}) / gpus;
}

bool is_nearly_lossless(const Json& result) {
  return is_lossless(result) || score_of(result) >= kNearlyLossless;
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

bool is_lossless(const Json& result) {
  return truth(result, {"quality", "lossless"});
}

double score_of(const Json& result) {
  return is_lossless(result) ? 1 : number_or_nan(result, {"quality", "mean_score"});
}

bool meets_objectives(const Json& result) {
  return objectives_words(result).empty() || number(result, {"slo", "attainment"}).value_or(0) >= kMetByEnough;
}

results::Shortfall behind(const Json& result, bool asks_for_service, bool knows_quality) {
  results::Shortfall by = results::shortfall_of(result, {.steady = asks_for_service, .objectives = true});
  if (knows_quality) by.below_floor = 0;
  return by;
}

Bests bests_of(const std::vector<Candidate>& candidates, const Order& order) {
  std::optional<results::Shortfall> least;
  double highest = -std::numeric_limits<double>::infinity();
  for (const Candidate& c : candidates) {
    if (std::isfinite(c.value) && (!least || c.behind < *least)) least = c.behind;
  }
  const auto competes = [&least](const Candidate& c) { return std::isfinite(c.value) && c.behind == *least; };
  for (const Candidate& c : candidates) {
    if (const double score = score_of(*c.result); competes(c) && score > highest) highest = score;
  }
  const auto best = [&](auto of_quality) {
    return best_where(candidates, order, [&](const Candidate& c) { return competes(c) && of_quality(*c.result); });
  };
  return {best(is_lossless), best(is_nearly_lossless),
          best([highest](const Json& r) { return score_of(r) == highest; }), best([](const Json&) { return true; })};
}

namespace {

/// Bests from which the choice is made, in the order of the rule, with the words of each.
struct Rung {
  std::optional<std::size_t> best;
  std::string words;
};

/// The rung of the chosen one; none: nobody has the figure.
std::optional<Rung> rung_of(const std::vector<Candidate>& candidates, const Order& order) {
  const Bests best = bests_of(candidates, order);
  if (!best.all) return std::nullopt;
  const Rung lossless{best.lossless, "with lossless output"};
  if (order.knows_quality) return Rung{best.all, ""};
  if (best.lossless && !candidates[*best.lossless].baseline) return lossless;
  if (best.nearly_lossless) {
    if (is_lossless(*candidates[*best.nearly_lossless].result)) return Rung{best.nearly_lossless, lossless.words};
    return Rung{best.nearly_lossless, fmt::format("at a task score of {} or more", plain(kNearlyLossless))};
  }
  if (best.highest_score) return Rung{best.highest_score, "with the highest task score"};
  return Rung{best.all, ""};
}

}  // namespace

std::optional<std::size_t> chosen_of(const std::vector<Candidate>& candidates, const Order& order) {
  const std::optional<Rung> rung = rung_of(candidates, order);
  return rung ? rung->best : std::nullopt;
}

std::string quality_words(const std::vector<Candidate>& candidates, const Order& order, std::size_t chosen) {
  const std::optional<Rung> rung = rung_of(candidates, order);
  return rung && rung->best == chosen ? rung->words : std::string();
}

std::vector<Candidate> candidates_of(const Inputs::Compared& compared) {
  const Criterion by = criterion_of(compared);
  std::vector<Candidate> all;
  for (const Simulated& run : compared.results) {
    all.push_back({&run.result, by.of(run.result), behind(run.result, true, by.knows_quality), all.empty()});
  }
  return all;
}

Order order_of(const Inputs::Compared& compared) {
  const Criterion by = criterion_of(compared);
  // Of requests that arrive on their own, goodput has no interval and ends where all are served.
  return {by.less, by.knows_quality, by.knows_quality ? kGoodputTie : 0};
}

std::size_t chosen_of(const Inputs::Compared& compared) {
  return chosen_of(candidates_of(compared), order_of(compared)).value_or(0);
}

std::optional<std::size_t> outside_objectives(const Inputs::Compared& compared) {
  const std::vector<Candidate> all = candidates_of(compared);
  const Order order = order_of(compared);
  const auto fastest =
      best_where(all, order, [&order](const Candidate& c) { return order.knows_quality || is_lossless(*c.result); });
  if (!fastest || meets_objectives(*all[*fastest].result)) return std::nullopt;
  const double chosen = all[chosen_of(compared)].value;
  return order.better(all[*fastest].value, chosen) ? fastest : std::nullopt;
}

double gain_of(const Inputs::Compared& compared, std::size_t policy) {
  const Criterion by = criterion_of(compared);
  const double base = by.of(compared.results.front().result), value = by.of(compared.results[policy].result);
  return by.less ? base / value : value / base;
}

}  // namespace kvsim::report
