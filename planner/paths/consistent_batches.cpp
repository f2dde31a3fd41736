#include "planner/paths/consistent_batches.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace kvsim::planner {
namespace {

constexpr double kNarrowest = 1e-12;   // of a triangle, relative to max(1, B)
constexpr double kOnTriangle = 1e-10;  // distance from a triangle's hull that counts as on it
constexpr int kFewestIntervals = 2;    // of the grid above B = 1, per pool
constexpr int kMostIntervals = 12;
constexpr double kIntervalsPerOctave = 2;  // fewer where B_max is small
constexpr double kSamePoint = 1e-6;
constexpr std::size_t kMostRefined = 12;  // fixed points of the grid that are refined

/// A mesh around a triangle, its lines so many times closer than the triangle is wide, so many of them to each side.
struct Patch {
  double finer = 1;
  int reach = 1;
};
constexpr std::array<Patch, 3> kPatches{{{4, 2}, {4, 4}, {3, 8}}};

struct Node {
  Batches at{};
  BatchResponse response;
};

struct Weights {
  std::array<double, 3> of{};
  double distance = 0;
};

double cross(const Batches& a, const Batches& b) {
  return a[0] * b[1] - a[1] * b[0];
}

/// The convex combination of three vectors that comes nearest to 0.
Weights nearest_to_zero(const std::array<Batches, 3>& f) {
  const auto minus = [](const Batches& a, const Batches& b) { return Batches{a[0] - b[0], a[1] - b[1]}; };
  const Batches u = minus(f[1], f[0]), v = minus(f[2], f[0]);
  if (const double area = cross(u, v); area != 0) {
    const double second = cross(v, f[0]) / area, third = cross(f[0], u) / area;
    if (std::min({1 - second - third, second, third}) >= 0) return {{1 - second - third, second, third}, 0};
  }
  Weights best{{1, 0, 0}, std::hypot(f[0][0], f[0][1])};
  for (const auto& [i, j] : {std::pair<std::size_t, std::size_t>{0, 1}, {1, 2}, {2, 0}}) {
    const Batches d = minus(f[j], f[i]);
    const double length = d[0] * d[0] + d[1] * d[1];
    const double t = length > 0 ? std::clamp(-(f[i][0] * d[0] + f[i][1] * d[1]) / length, 0.0, 1.0) : 0.0;
    const double distance = std::hypot(f[i][0] + t * d[0], f[i][1] + t * d[1]);
    if (distance >= best.distance) continue;
    best = {{0, 0, 0}, distance};
    best.of[i] = 1 - t;
    best.of[j] += t;
  }
  return best;
}

ConsistentBatches mix(const std::array<const Node*, 3>& corners, const Weights& weights) {
  ConsistentBatches mixed;
  for (std::size_t k = 0; k < 3; ++k) {
    for (std::size_t p = 0; p < 2; ++p) {
      mixed.at[p] += weights.of[k] * corners[k]->at[p];
      mixed.occupancy[p] += weights.of[k] * corners[k]->response.occupancy[p];
    }
    for (std::size_t i = 0; i < kPaths; ++i) mixed.n[i] += weights.of[k] * corners[k]->response.n[i];
  }
  for (const Node* corner : corners) {
    for (std::size_t p = 0; p < 2; ++p) {
      mixed.width = std::max(mixed.width, std::abs(corner->at[p] - mixed.at[p]) / std::max(1.0, mixed.at[p]));
    }
  }
  return mixed;
}

using Lines = std::vector<double>;

class ConsistentSearch {
 public:
  explicit ConsistentSearch(const ConsistencySearch& search) : search_(search) {}

  /// Fixed points of the linear interpolation on a mesh.
  std::vector<ConsistentBatches> on_mesh(const Lines& xs, const Lines& ys) {
    std::vector<ConsistentBatches> found;
    // One line alone stands for a pool without extent: its cells are as thin as that line.
    const std::size_t columns = std::max<std::size_t>(xs.size(), 2) - 1, rows = std::max<std::size_t>(ys.size(), 2) - 1;
    for (std::size_t i = 0; i < columns; ++i) {
      for (std::size_t j = 0; j < rows; ++j) {
        const double x0 = xs[i], x1 = xs[std::min(i + 1, xs.size() - 1)];
        const double y0 = ys[j], y1 = ys[std::min(j + 1, ys.size() - 1)];
        add_if_fixed(found, {&node(x0, y0), &node(x1, y0), &node(x1, y1)});
        add_if_fixed(found, {&node(x0, y0), &node(x0, y1), &node(x1, y1)});
      }
    }
    return found;
  }

  /// Finer and finer meshes around a point, until it will do.
  std::optional<ConsistentBatches> refined(ConsistentBatches point) {
    while (!search_.good_enough(point)) {
      if (point.width <= kNarrowest) return point;
      std::optional<ConsistentBatches> finer;
      // The fixed point of the finer interpolation may lie outside of the triangle: look further and further away.
      for (const Patch& patch : kPatches) {
        if ((finer = nearest(point, patch))) break;
      }
      if (!finer) return std::nullopt;
      point = *finer;
    }
    return point;
  }

 private:
  const Node& node(double x, double y) {
    const Batches at{x, y};
    const auto [found, is_new] = nodes_.try_emplace(at);
    if (is_new) found->second = {at, search_.respond(at)};
    return found->second;
  }

  static void add_if_fixed(std::vector<ConsistentBatches>& found, const std::array<const Node*, 3>& corners) {
    std::array<Batches, 3> f{};
    for (std::size_t p = 0; p < 2; ++p) {
      double scale = 1;
      for (const Node* corner : corners) scale = std::max(scale, corner->at[p]);
      for (std::size_t k = 0; k < 3; ++k) f[k][p] = (corners[k]->response.occupancy[p] - corners[k]->at[p]) / scale;
    }
    const Weights weights = nearest_to_zero(f);
    if (weights.distance > kOnTriangle) return;
    const ConsistentBatches point = mix(corners, weights);
    const auto same = [&point](const ConsistentBatches& other) {
      return std::abs(point.at[0] - other.at[0]) <= kSamePoint * point.width * std::max(1.0, point.at[0]) &&
             std::abs(point.at[1] - other.at[1]) <= kSamePoint * point.width * std::max(1.0, point.at[1]);
    };
    if (std::none_of(found.begin(), found.end(), same)) found.push_back(point);
  }

  [[nodiscard]] Lines lines_around(std::size_t pool, const ConsistentBatches& point, const Patch& patch) const {
    const double step = point.width * std::max(1.0, point.at[pool]) / patch.finer;
    Lines lines;
    for (int k = -patch.reach; k <= patch.reach; ++k) {
      const double line = std::clamp(point.at[pool] + k * step, 0.0, search_.top[pool]);
      if (lines.empty() || line > lines.back()) lines.push_back(line);
    }
    return lines;
  }

  std::optional<ConsistentBatches> nearest(const ConsistentBatches& point, const Patch& patch) {
    const std::vector<ConsistentBatches> found = on_mesh(lines_around(0, point, patch), lines_around(1, point, patch));
    if (found.empty()) return std::nullopt;
    const auto distance = [&point](const ConsistentBatches& other) {
      return std::hypot(other.at[0] - point.at[0], other.at[1] - point.at[1]);
    };
    return *std::min_element(found.begin(), found.end(),
                             [&distance](const auto& a, const auto& b) { return distance(a) < distance(b); });
  }

  const ConsistencySearch& search_;
  std::map<Batches, Node> nodes_;
};

Lines grid_lines(double top) {
  Lines lines{0};
  if (top > 0) lines.push_back(std::min(1.0, top));
  if (top <= 1) return lines;
  const double octaves = std::log2(top);
  const int intervals =
      std::clamp(static_cast<int>(std::ceil(octaves * kIntervalsPerOctave)), kFewestIntervals, kMostIntervals);
  for (int k = 1; k < intervals; ++k) lines.push_back(std::exp2(octaves * k / intervals));
  lines.push_back(top);
  return lines;
}

}  // namespace

std::vector<ConsistentBatches> find_consistent_batches(const ConsistencySearch& problem) {
  ConsistentSearch search(problem);
  std::vector<ConsistentBatches> on_grid = search.on_mesh(grid_lines(problem.top[0]), grid_lines(problem.top[1]));
  if (on_grid.size() > kMostRefined) on_grid.resize(kMostRefined);
  std::vector<ConsistentBatches> fixed;
  for (const ConsistentBatches& point : on_grid) {
    if (auto refined = search.refined(point)) fixed.push_back(*refined);
  }
  if (!fixed.empty()) return fixed;
  for (const std::size_t outer : {std::size_t{0}, std::size_t{1}}) {
    if (auto nested = nested_bisection(problem, outer)) fixed.push_back(*nested);
  }
  return fixed.empty() ? on_grid : fixed;
}

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
