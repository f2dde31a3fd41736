#include "planner/paths/nested_bisection.h"

#include <algorithm>
#include <cmath>

namespace kvsim::planner {
namespace {

constexpr double kBracket = 1e-13;   // width of the last bracket, relative to max(1, B)
constexpr double kUnrelated = 1e-6;  // between the two sides of a bracket in the other pool's batch, relative
constexpr double kAgrees = 1e-13;    // of occupancy and batch, relative: noise of the LP

double gap(const ConsistentBatches& point, std::size_t pool) {
  return (point.occupancy[pool] - point.at[pool]) / std::max(1.0, point.at[pool]);
}

double spread(const ConsistentBatches& a, const ConsistentBatches& b) {
  double most = 0;
  for (std::size_t p = 0; p < 2; ++p) {
    most = std::max(most, std::abs(a.at[p] - b.at[p]) / std::max(1.0, a.at[p]));
  }
  return most;
}

/// (1 - t) a + t b.
ConsistentBatches mix(const ConsistentBatches& a, const ConsistentBatches& b, double t) {
  ConsistentBatches mixed;
  for (std::size_t p = 0; p < 2; ++p) {
    mixed.at[p] = std::lerp(a.at[p], b.at[p], t);
    mixed.occupancy[p] = std::lerp(a.occupancy[p], b.occupancy[p], t);
  }
  for (std::size_t i = 0; i < kPaths; ++i) mixed.n[i] = std::lerp(a.n[i], b.n[i], t);
  mixed.width = std::max({a.width, b.width, spread(a, b)});
  return mixed;
}

/// Where a pool's occupancy meets its batch, between 0 (it is at least that) and `top` (at most that).
template <class Probe>
ConsistentBatches bisect(double top, std::size_t pool, const Probe& probe) {
  ConsistentBatches high = probe(top);
  if (gap(high, pool) >= -kAgrees) return high;  // the largest of several is the best
  ConsistentBatches low = probe(0);
  if (gap(low, pool) <= kAgrees) return low;
  while (high.at[pool] - low.at[pool] > kBracket * std::max(1.0, high.at[pool])) {
    const double a = low.at[pool], b = high.at[pool];
    const double middle = a >= 1 ? std::sqrt(a * b) : b > 2 ? 1.0 : (a + b) / 2;
    if (!(middle > a && middle < b)) break;
    ConsistentBatches between = probe(middle);
    (gap(between, pool) >= 0 ? low : high) = between;
  }
  const double above = gap(low, pool), below = -gap(high, pool);
  return mix(low, high, above + below > 0 ? above / (above + below) : 0.0);
}

}  // namespace

std::optional<ConsistentBatches> nested_bisection(const ConsistencySearch& search, std::size_t outer) {
  const std::size_t inner = 1 - outer;
  const ConsistentBatches found = bisect(search.top[outer], outer, [&](double of_outer) {
    return bisect(search.top[inner], inner, [&](double of_inner) {
      ConsistentBatches point;
      point.at[outer] = of_outer;
      point.at[inner] = of_inner;
      const BatchResponse response = search.respond(point.at);
      point.occupancy = response.occupancy;
      point.n = response.n;
      return point;
    });
  });
  if (found.width > kUnrelated) return std::nullopt;
  return found;
}

}  // namespace kvsim::planner
