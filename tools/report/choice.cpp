#include "tools/report/choice.h"

#include <cmath>

#include "tools/results/numbers.h"

namespace kvsim::report {

Criterion criterion_of(const Inputs::Compared& compared) {
  if (has(compared.results.front().result, {"answers"})) {
    return {"goodput in requests/s", false,
            [](const Json& r) {
              return number_or_nan(r, {"slo", "goodput_requests_per_s"});
            },
            results::figure};
  }
  if (has(compared.document, {"ttft_speedup"})) {
    return {"mean TTFT", true,
            [](const Json& r) {
              return number_or_nan(r, {"latency_s", "ttft", "mean"});
            },
            results::seconds};
  }
  return {"output tokens/s", false,
          [](const Json& r) {
            return number_or_nan(r, {"throughput", "output_tokens_per_s"});
          },
          results::figure};
}

bool is_lossless(const Json& result) {
  return truth(result, {"quality", "lossless"});
}

std::optional<std::size_t> best_of(const Inputs::Compared& compared, bool lossless_only) {
  const Criterion by = criterion_of(compared);
  std::optional<std::size_t> best;
  double most = 0;
  for (std::size_t i = 0; i < compared.results.size(); ++i) {
    const Json& result = compared.results[i].result;
    const double value = by.of(result);
    if (!std::isfinite(value) || (lossless_only && !is_lossless(result))) continue;
    if (best && (by.less ? value >= most : value <= most)) continue;
    best = i;
    most = value;
  }
  return best;
}

std::size_t chosen_of(const Inputs::Compared& compared) {
  if (const auto lossless = best_of(compared, true); lossless && *lossless != 0) return *lossless;
  return best_of(compared, false).value_or(0);
}

double gain_of(const Inputs::Compared& compared, std::size_t policy) {
  const Criterion by = criterion_of(compared);
  const double base = by.of(compared.results.front().result), value = by.of(compared.results[policy].result);
  return by.less ? base / value : value / base;
}

}  // namespace kvsim::report
