// Errors of a backtest, kept for stating the error of other answers.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "planner/backtest/backtest.h"
#include "sim/engine/statistics.h"

namespace kvsim::planner::backtest {
namespace {

/// Measured / predicted of kErrorFigures.
using Ratios = std::array<double, 3>;

std::optional<Ratios> ratios_of(const BacktestPoint& p) {
  const std::array<std::optional<double>, 3> errors{p.tpot_error(), p.ttft_error(), p.e2e_error()};
  Ratios ratios{};
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (!errors[i]) return std::nullopt;
    ratios[i] = 1 / (1 + *errors[i]);
  }
  return ratios;
}

double three_digits(double x) {
  return std::stod(fmt::format("{:.3g}", x));
}

std::vector<double> at_shares(const std::vector<Ratios>& points, std::size_t figure) {
  engine::Sample sample;
  for (const Ratios& p : points) sample.add(p[figure]);
  std::vector<double> quantiles;
  for (const double share : kErrorShares) quantiles.push_back(three_digits(sample.quantile(share)));
  return quantiles;
}

/// Pairs of points of one launch; a launch with n points weighs n - 1, as it tells that many differences.
struct Pairs {
  std::vector<std::pair<double, double>> differences;  ///< |ln| and weight

  void add(const std::vector<Ratios>& points, std::size_t figure) {
    const double weight = 2 / static_cast<double>(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        differences.emplace_back(std::abs(std::log(points[i][figure] / points[j][figure])), weight);
      }
    }
  }
  [[nodiscard]] std::vector<double> at_shares() {
    std::sort(differences.begin(), differences.end());
    double all = 0;
    for (const auto& [difference, weight] : differences) all += weight;
    std::vector<double> quantiles;
    double below = 0;
    auto next = differences.begin();
    for (const double share : kPairShares) {
      double reached = 0;
      for (; next != differences.end() && below <= share * all; ++next) {
        below += next->second;
        reached = next->first;
      }
      const double ratio = three_digits(std::exp(reached));
      quantiles.push_back(quantiles.empty() ? ratio : std::max(ratio, quantiles.back()));
    }
    return quantiles;
  }
};

}  // namespace

StatedErrors stated_errors_of(const Backtest& backtest) {
  std::map<std::tuple<std::string, std::string, std::string, bool>, std::pair<ModelKind, std::vector<Ratios>>> groups;
  std::map<std::tuple<PointGroup, std::string, std::string>, std::vector<Ratios>> launches;
  std::set<std::string> sources;
  for (const BacktestPoint& p : backtest.points) {
    if (p.predicted) sources.insert(p.point.source.empty() ? "unnamed sources" : p.point.source);
    const std::optional<Ratios> ratios = p.point.drafts ? std::nullopt : ratios_of(p);  // else of fitted rounds, too
    if (!ratios) continue;
    auto& [kind, points] =
        groups[{p.group.model, p.group.gpu, p.group.engine, p.predicted->memory_short > kMemoryFull}];
    kind = p.kind;
    points.push_back(*ratios);
    launches[{p.group, p.point.source, p.point.version}].push_back(*ratios);
  }
  StatedErrors errors;
  errors.source = fmt::format("kvsim backtest of {} points of {}", backtest.simulated(), fmt::join(sources, " and "));
  for (const auto& [name, group] : groups) {
    const auto& [model, gpu, engine, memory_full] = name;
    const auto& [kind, points] = group;
    errors.groups.push_back({model, gpu, engine, kind, memory_full, static_cast<std::int64_t>(points.size()), {}});
    for (std::size_t f = 0; f < kErrorFigures.size(); ++f) {
      errors.groups.back().ratios.*kErrorFigures[f] = at_shares(points, f);
    }
  }
  for (std::size_t f = 0; f < kErrorFigures.size(); ++f) {
    Pairs pairs;
    for (const auto& [launch, points] : launches) pairs.add(points, f);
    errors.pairs.*kErrorFigures[f] = pairs.at_shares();
  }
  if (errors.groups.empty()) return errors;
  constexpr double kHeld = 0.9;
  errors.widening = widening_for(errors, kHeld);
  return errors;
}

}  // namespace kvsim::planner::backtest
