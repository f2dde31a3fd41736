#include "planner/paths/best_batches.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kvsim::planner {
namespace {

using Batches = std::array<double, 2>;

constexpr int kLines = 12;
constexpr double kGolden = 0.6180339887498949;
constexpr double kNarrow = 1e-8;  // of log B

struct Best {
  Batches at{};
  double value = 0;
};

/// log B of the grid's lines.
std::vector<double> lines(double top) {
  if (!(top > 1)) return {0};
  std::vector<double> logs;
  for (int k = 0; k < kLines; ++k) logs.push_back(std::log(top) * k / (kLines - 1));
  return logs;
}

/// The largest of probe(log B) between two ends, which are tried, too. Precondition: from <= to.
template <class Probe>
Best golden_section(double from, double to, const Probe& probe) {
  Best best = probe(from);
  const auto better = [&best](const Best& candidate) {
    if (candidate.value > best.value) best = candidate;
    return candidate.value;
  };
  if (!(to > from)) return best;
  better(probe(to));
  double a = to - kGolden * (to - from), b = from + kGolden * (to - from);
  double at_a = better(probe(a)), at_b = better(probe(b));
  while (to - from > kNarrow) {
    if (at_a >= at_b) {
      to = b;
      b = a;
      at_b = at_a;
      a = to - kGolden * (to - from);
      at_a = better(probe(a));
    } else {
      from = a;
      a = b;
      at_a = at_b;
      b = from + kGolden * (to - from);
      at_b = better(probe(b));
    }
  }
  return best;
}

}  // namespace

std::array<double, 2> best_batches(const BatchSearch& search) {
  const std::vector<double> xs = lines(search.top[0]), ys = lines(search.top[1]);
  const auto probe = [&search](double x, double y) {
    const Batches at{std::exp(x), std::exp(y)};
    return Best{at, search.value(at)};
  };
  Best best;
  std::size_t i = 0, j = 0;
  for (std::size_t k = 0; k < xs.size(); ++k) {
    for (std::size_t l = 0; l < ys.size(); ++l) {
      const Best here = probe(xs[k], ys[l]);
      if ((k > 0 || l > 0) && here.value <= best.value) continue;
      best = here;
      i = k;
      j = l;
    }
  }
  const auto before = [](const std::vector<double>& logs, std::size_t k) { return logs[k > 0 ? k - 1 : 0]; };
  const auto after = [](const std::vector<double>& logs, std::size_t k) {
    return logs[std::min(k + 1, logs.size() - 1)];
  };
  const Best finer = golden_section(before(xs, i), after(xs, i), [&](double x) {
    return golden_section(before(ys, j), after(ys, j), [&](double y) { return probe(x, y); });
  });
  return finer.value > best.value ? finer.at : best.at;
}

}  // namespace kvsim::planner
