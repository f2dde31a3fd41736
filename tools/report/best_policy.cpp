#include "tools/report/best_policy.h"

#include <algorithm>
#include <cmath>

#include "tools/report/documents.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

constexpr double kGoodputTie = 0.03;

/// Position of the best of those that `may` be it.
template <class May>
std::optional<std::size_t> best_where(const Inputs::Compared& compared, May may) {
  const Criterion by = criterion_of(compared);
  std::optional<std::size_t> best;
  double most = 0;
  for (std::size_t i = 0; i < compared.results.size(); ++i) {
    const Json& result = compared.results[i].result;
    const double value = by.of(result);
    if (!std::isfinite(value) || !may(result)) continue;
    // Of requests that arrive on their own, goodput has no interval and ends where all are served.
    const double needed = by.knows_quality ? most * (1 + kGoodputTie) : most;
    if (best && (by.less ? value >= most : value <= needed)) continue;
    best = i;
    most = value;
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
  return is_lossless(result) || number(result, {"quality", "mean_score"}).value_or(0) >= kNearlyLossless;
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

bool meets_objectives(const Json& result) {
  return objectives_words(result).empty() || number(result, {"slo", "attainment"}).value_or(0) >= kMetByEnough;
}

/// How far a run is behind others by what was asked for, whatever its figure: it misses the objectives, or is in no
/// steady state, of which nobody knows whether it meets them.
int behind(const Json& result) {
  if (!unsteady_state(result).empty()) return 2;
  return meets_objectives(result) ? 0 : 1;
}

Bests bests_of(const Inputs::Compared& compared) {
  int least = behind(compared.results.front().result);
  for (const Simulated& run : compared.results) least = std::min(least, behind(run.result));
  const auto best = [&](bool (*of_quality)(const Json&)) {
    return best_where(compared, [&](const Json& r) { return of_quality(r) && behind(r) == least; });
  };
  Bests bests{best(is_lossless), best(is_nearly_lossless), best([](const Json&) { return true; }), {}};
  const auto fastest = best_where(compared, is_lossless);
  if (fastest && !meets_objectives(compared.results[*fastest].result)) bests.outside = fastest;
  return bests;
}

std::size_t chosen_of(const Inputs::Compared& compared) {
  const Bests best = bests_of(compared);
  if (criterion_of(compared).knows_quality) return best.all.value_or(0);
  if (best.lossless.value_or(0) != 0) return *best.lossless;
  return best.nearly_lossless.value_or(0);
}

double gain_of(const Inputs::Compared& compared, std::size_t policy) {
  const Criterion by = criterion_of(compared);
  const double base = by.of(compared.results.front().result), value = by.of(compared.results[policy].result);
  return by.less ? base / value : value / base;
}

}  // namespace kvsim::report
