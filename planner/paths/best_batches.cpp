#include "planner/paths/best_batches.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kvsim::planner {
namespace {

using Batches = std::array<double, 2>;

constexpr int kLines = 16;
constexpr double kGolden = 0.6180339887498949;
constexpr std::size_t kStarts = 4;  // peaks of the grid that are climbed
constexpr int kSteps = 6;           // towards a summit, each as wide as the grid
constexpr double kCoarse = 5e-3;    // of log B, where a summit is looked for
constexpr double kFine = 1e-7;      // where it is found
constexpr double kAround = 0.012;   // how far from there

struct Best {
  Batches at{};  // log B
  double value = 0;
};

/// The largest of probe(log B) between two ends, which are tried, too. Precondition: from <= to.
template <class Probe>
Best golden_section(double from, double to, double narrow, const Probe& probe) {
  Best best = probe(from);
  const auto better = [&best](const Best& candidate) {
    if (candidate.value > best.value) best = candidate;
    return candidate.value;
  };
  if (!(to > from)) return best;
  better(probe(to));
  double a = to - kGolden * (to - from), b = from + kGolden * (to - from);
  double at_a = better(probe(a)), at_b = better(probe(b));
  while (to - from > narrow) {
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

class Climber {
 public:
  explicit Climber(const BatchSearch& search)
      : search_(search), top_{std::log(std::max(1.0, search.top[0])), std::log(std::max(1.0, search.top[1]))} {}

  Batches best() {
    std::vector<Best> peaks = peaks_of_grid();
    std::stable_sort(peaks.begin(), peaks.end(), [](const Best& a, const Best& b) { return a.value > b.value; });
    std::vector<Best> summits;
    for (const Best& peak : peaks) {
      const bool known = std::any_of(summits.begin(), summits.end(), [&](const Best& s) { return near(peak, s); });
      if (known || summits.size() == kStarts) continue;
      summits.push_back(climbed(peak));
    }
    Best best = *std::max_element(summits.begin(), summits.end(),
                                  [](const Best& a, const Best& b) { return a.value < b.value; });
    best = around(best, {kAround, kAround}, kFine);
    return {std::exp(best.at[0]), std::exp(best.at[1])};
  }

 private:
  [[nodiscard]] Best probe(double x, double y) const { return {{x, y}, search_.value({std::exp(x), std::exp(y)})}; }

  /// The best nearby, one pool within the other.
  [[nodiscard]] Best around(const Best& centre, const Batches& reach, double narrow) const {
    const auto from = [&](std::size_t p) { return std::max(0.0, centre.at[p] - reach[p]); };
    const auto to = [&](std::size_t p) { return std::min(top_[p], centre.at[p] + reach[p]); };
    const Best found = golden_section(from(0), to(0), narrow, [&](double x) {
      return golden_section(from(1), to(1), narrow, [&](double y) { return probe(x, y); });
    });
    return found.value > centre.value ? found : centre;
  }

  /// Between neighbours on the grid.
  [[nodiscard]] Batches reach() const { return {top_[0] / (kLines - 1), top_[1] / (kLines - 1)}; }

  [[nodiscard]] bool near(const Best& a, const Best& b) const {
    return std::abs(a.at[0] - b.at[0]) <= 1.5 * reach()[0] && std::abs(a.at[1] - b.at[1]) <= 1.5 * reach()[1];
  }

  [[nodiscard]] Best climbed(Best at) const {
    const Batches reach = this->reach();
    for (int step = 0; step < kSteps; ++step) {
      const Best next = around(at, reach, kCoarse);
      const bool inside =
          std::abs(next.at[0] - at.at[0]) < reach[0] * kGolden && std::abs(next.at[1] - at.at[1]) < reach[1] * kGolden;
      at = next;
      if (inside) break;
    }
    return at;
  }

  /// No neighbour, diagonal ones included, is better.
  [[nodiscard]] std::vector<Best> peaks_of_grid() const {
    const int columns = top_[0] > 0 ? kLines : 1, rows = top_[1] > 0 ? kLines : 1;
    std::vector<Best> grid;
    for (int i = 0; i < columns; ++i) {
      for (int j = 0; j < rows; ++j) grid.push_back(probe(top_[0] * i / (kLines - 1), top_[1] * j / (kLines - 1)));
    }
    const auto at = [&](int i, int j) -> const Best& { return grid[static_cast<std::size_t>(i * rows + j)]; };
    std::vector<Best> peaks;
    for (int i = 0; i < columns; ++i) {
      for (int j = 0; j < rows; ++j) {
        bool highest = true;
        for (int k = std::max(0, i - 1); k <= std::min(columns - 1, i + 1); ++k) {
          for (int l = std::max(0, j - 1); l <= std::min(rows - 1, j + 1); ++l) {
            highest = highest && at(k, l).value <= at(i, j).value;
          }
        }
        if (highest) peaks.push_back(at(i, j));
      }
    }
    return peaks;
  }

  const BatchSearch& search_;
  Batches top_;  // log B
};

}  // namespace

std::array<double, 2> best_batches(const BatchSearch& search) {
  return Climber(search).best();
}

}  // namespace kvsim::planner
