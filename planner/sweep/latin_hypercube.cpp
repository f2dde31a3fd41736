// Latin hypercube sampling. Source: M. D. McKay, R. J. Beckman and W. J. Conover, "A comparison of three methods for
// selecting values of input variables in the analysis of output from a computer code", Technometrics 21(2), 1979.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "models/schema/decimal.h"
#include "models/schema/error.h"
#include "planner/sweep/design.h"
#include "sim/engine/random.h"

namespace kvsim::planner::sweep {
namespace {

using schema::Dimension;

/// The stratum of each point, a random permutation.
std::vector<std::uint32_t> permutation(std::size_t n, engine::RandomStream& stream) {
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0U);
  for (std::size_t i = n; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

/// An interval in the unit of its lower end, or, where it holds whole things, in the dimension's own.
struct Scale {
  double low = 0, high = 0;
  bool whole = false;
  std::string unit;  ///< with the blank before it
};

Scale scale_of(const Interval& interval) {
  Scale s;
  s.whole = schema::is_integral(interval.dimension);
  const double low = schema::parse_real(interval.dimension, interval.low);
  const double high = schema::parse_real(interval.dimension, interval.high);
  const auto split = schema::split_number(interval.low);
  if (s.whole) {
    s.low = low;
    s.high = high;
    const std::vector<std::string_view> units = schema::dimension_units(interval.dimension);
    if (!units.empty()) s.unit = fmt::format(" {}", units.front());
    return s;
  }
  s.unit = split->rest.empty() ? "" : fmt::format(" {}", split->rest);
  const double one = split->rest.empty() ? 1.0 : schema::parse_real(interval.dimension, "1" + s.unit);
  s.low = low / one;
  s.high = high / one;
  return s;
}

/// A value within stratum `k` of `n` at the share `u` of it, with no more digits than tell strata apart.
std::string in_stratum(const Scale& s, std::size_t k, std::size_t n, double u) {
  const auto strata = static_cast<double>(n);
  const double share = (static_cast<double>(k) + u) / strata;
  if (s.whole) {
    const double value = std::min(s.low + std::floor(share * (s.high - s.low + 1)), s.high);
    return fmt::format("{:.0f}{}", value, s.unit);
  }
  const double width = (s.high - s.low) / strata;
  const double value = s.low + share * (s.high - s.low);
  const double begin = s.low + static_cast<double>(k) * width, end = s.low + static_cast<double>(k + 1) * width;
  const double margin = width * 1e-3;  // a value on the border of two strata would be in both, or in neither
  constexpr int most = 15;
  for (int digits = 3;; ++digits) {
    const double unit = std::pow(10.0, std::floor(std::log10(width)) - digits + 1);
    const int decimals = std::max(0, static_cast<int>(-std::floor(std::log10(unit) + 0.5)));
    const std::string text = fmt::format("{:.{}f}", std::round(value / unit) * unit, decimals);
    const double rounded = schema::to_double(schema::split_number(text)->number, {}).value_or(value);
    if (rounded > begin + margin && rounded < end - margin) return text + s.unit;
    if (digits == most) return fmt::format("{}{}", value, s.unit);
  }
}

struct SampledAxis {
  Axis axis;
  std::vector<std::uint32_t> chosen;  ///< number of the value of each point
};

SampledAxis sample(const AxisSpec& spec, std::size_t points, std::uint64_t seed) {
  engine::RandomStream stream(seed, "sweep " + spec.axis.path);
  const std::vector<std::uint32_t> strata = permutation(points, stream);
  SampledAxis result{spec.axis, std::vector<std::uint32_t>(points)};
  if (!spec.interval) {
    const std::size_t values = spec.axis.values.size();
    // The value whose share of [0, 1) the middle of the stratum lies in.
    for (std::size_t i = 0; i < points; ++i) {
      result.chosen[i] = static_cast<std::uint32_t>((2 * std::size_t{strata[i]} + 1) * values / (2 * points));
    }
    return result;
  }
  const Scale scale = scale_of(*spec.interval);
  std::vector<std::string> sampled(points);
  for (std::size_t i = 0; i < points; ++i) sampled[strata[i]] = in_stratum(scale, strata[i], points, stream.uniform());
  // Whole numbers may fall together where there are fewer of them than points.
  std::vector<std::uint32_t> number(points);
  for (std::size_t k = 0; k < points; ++k) {
    if (k == 0 || sampled[k] != sampled[k - 1]) result.axis.values.push_back(sampled[k]);
    number[k] = static_cast<std::uint32_t>(result.axis.values.size() - 1);
  }
  for (std::size_t i = 0; i < points; ++i) result.chosen[i] = number[strata[i]];
  return result;
}

}  // namespace

Design Design::latin_hypercube(const std::vector<AxisSpec>& specs, std::size_t points, std::uint64_t seed) {
  if (points == 0 || points > kMostPoints) {
    throw schema::InputError(fmt::format("--sample: expected 1 to {} points, found {}", kMostPoints, points));
  }
  std::vector<Axis> axes;
  std::vector<std::vector<std::uint32_t>> chosen(points);
  for (const AxisSpec& spec : specs) {
    SampledAxis sampled = sample(spec, points, seed);
    axes.push_back(std::move(sampled.axis));
    for (std::size_t i = 0; i < points; ++i) chosen[i].push_back(sampled.chosen[i]);
  }
  return {DesignKind::latin_hypercube, std::move(axes), std::move(chosen)};
}

}  // namespace kvsim::planner::sweep
