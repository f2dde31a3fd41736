#include "models/kernels/correction.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kvsim::models {

std::size_t Correction::dimensions() const {
  std::size_t n = 0;
  while (n < kMostAxes && !axes[n].empty()) ++n;
  return n;
}

std::size_t corners_of(const Correction& grid, std::span<const double> sizes, Corners& corners) {
  std::size_t count = 1;
  corners[0] = {0, 1};
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    const std::vector<double>& axis = grid.axes[d];
    const double size = std::clamp(sizes[d], axis.front(), axis.back());
    std::size_t below = 0;
    while (below + 2 < axis.size() && size > axis[below + 1]) ++below;
    const bool one = axis.size() == 1;
    const double share = one ? 0 : std::log2(size / axis[below]) / std::log2(axis[below + 1] / axis[below]);
    for (std::size_t i = 0; i < count; ++i) {
      const CornerWeight c = corners[i];
      corners[i] = {c.node * axis.size() + below, c.weight * (1 - share)};
      if (!one) corners[i + count] = {c.node * axis.size() + below + 1, c.weight * share};
    }
    if (!one) count *= 2;
  }
  return count;
}

double Correction::at(std::span<const double> sizes) const {
  if (empty()) return 1;
  Corners corners;
  const std::size_t count = corners_of(*this, sizes.first(std::min(sizes.size(), dimensions())), corners);
  double factor = 0;
  for (std::size_t i = 0; i < count; ++i) factor += corners[i].weight * factors[corners[i].node];
  return factor;
}

Correction Correction::with_last(std::initializer_list<double> sizes) const {
  if (empty()) return {};
  Correction result;
  const std::size_t kept = dimensions() - sizes.size();
  Correction rest;
  std::copy_n(axes.begin() + static_cast<std::ptrdiff_t>(kept), sizes.size(), rest.axes.begin());
  Corners corners;
  const std::size_t count = corners_of(rest, {sizes.begin(), sizes.size()}, corners);
  std::size_t block = 1;
  for (const std::vector<double>& axis : rest.axes) block *= std::max<std::size_t>(axis.size(), 1);
  std::copy_n(axes.begin(), kept, result.axes.begin());
  for (std::size_t first = 0; first < factors.size(); first += block) {
    double factor = 0;
    for (std::size_t i = 0; i < count; ++i) factor += corners[i].weight * factors[first + corners[i].node];
    result.factors.push_back(factor);
  }
  return result;
}

CorrectionPlane::CorrectionPlane(const Correction& correction, double unit)
    : unit_(unit), factors_(correction.factors) {
  constexpr int kPrepared = 512;
  for (const double x : correction.axes[0]) log_x_.push_back(std::log2(x));
  for (const double y : correction.axes[1]) log_y_.push_back(std::log2(y));
  if (empty()) return;
  for (int i = 1; i <= kPrepared; ++i) places_.push_back(place_on(log_x_, unit * i));
}

CorrectionPlane::Place CorrectionPlane::place_on(const std::vector<double>& log_axis, double size) {
  const double at = std::clamp(std::log2(size), log_axis.front(), log_axis.back());
  std::size_t below = 0;
  while (below + 2 < log_axis.size() && at > log_axis[below + 1]) ++below;
  if (log_axis.size() == 1) return {};
  return {below, (at - log_axis[below]) / (log_axis[below + 1] - log_axis[below])};
}

double CorrectionPlane::at(double x, double y) const {
  const double units = x / unit_;
  const auto n = static_cast<std::size_t>(units);
  const bool prepared = n >= 1 && n <= places_.size() && static_cast<double>(n) == units;
  const auto [i, u] = prepared ? places_[n - 1] : place_on(log_x_, x);
  const auto [j, v] = place_on(log_y_, y);
  const std::size_t right = log_y_.size() > 1 ? 1 : 0;
  const double* low = &factors_[i * log_y_.size() + j];
  const double* high = log_x_.size() > 1 ? low + log_y_.size() : low;
  return (1 - u) * (low[0] + v * (low[right] - low[0])) + u * (high[0] + v * (high[right] - high[0]));
}

schema::ObjectSchema<Correction> correction_schema(std::initializer_list<const char*> axes) {
  using namespace schema;
  ObjectSchema<Correction> s("correction", "Factors on the form over regions of sizes, interpolated in logarithms.");
  std::size_t i = 0;
  for (const char* name : axes) {
    const auto axis = [i](auto& c) -> auto& {
      return c.axes[i];
    };
    s.list(name, axis, number().positive(), Presence::required, "sizes of the grid, ascending", {.at_least = 1});
    ++i;
  }
  s.list("factors", &Correction::factors, number().above(0).at_most(10).because("a form that far off says nothing"),
         Presence::required, "measured / form on the whole grid, the last axis fastest", {.at_least = 1});
  s.check([names = std::vector<std::string>(axes.begin(), axes.end())](const Correction& c, const Reporter& report) {
    std::size_t nodes = 1;
    for (std::size_t d = 0; d < names.size(); ++d) {
      nodes *= c.axes[d].size();
      for (std::size_t n = 1; n < c.axes[d].size(); ++n) {
        if (c.axes[d][n] <= c.axes[d][n - 1]) report.fail(fmt::format("{}.{}", names[d], n), "the sizes must ascend");
      }
    }
    if (c.factors.size() != nodes) {
      report.fail("factors", fmt::format("{} factors for a grid of {}", c.factors.size(), nodes));
    }
  });
  return s;
}

}  // namespace kvsim::models
