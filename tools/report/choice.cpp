#include "tools/report/choice.h"

#include <cmath>

#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

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
    if (best && (by.less ? value >= most : value <= most)) continue;
    best = i;
    most = value;
  }
  return best;
}

bool is_nearly_lossless(const Json& result) {
  return is_lossless(result) || number(result, {"quality", "mean_score"}).value_or(0) >= kNearlyLossless;
}

}  // namespace

Criterion criterion_of(const Inputs::Compared& compared) {
  if (has(compared.results.front().result, {"answers"})) {
    return {.name = "goodput in requests/s",
            .less = false,
            .of =
                [](const Json& r) {
                  return number_or_nan(r, {"slo", "goodput_requests_per_s"});
                },
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

Bests bests_of(const Inputs::Compared& compared) {
  return {best_where(compared, is_lossless), best_where(compared, is_nearly_lossless),
          best_where(compared, [](const Json&) { return true; })};
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
