#include "planner/traffic/law_fit.h"

#include <algorithm>
#include <boost/math/special_functions/gamma.hpp>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "models/schema/units.h"

namespace kvsim::planner::traffic {
namespace {

using models::ArrivalKind;
using models::Distribution;
using models::LengthSpec;

constexpr double kSigmas99 = 2.575829;

Estimate around(double value, double half) {
  return {value, std::max(value - half, 0.0), value + half};
}

double lognormal_sigma(double cv) {
  return std::sqrt(std::log1p(cv * cv));
}

/// P(X <= x) of a law that is not cut, x > 0.
double continuous_share(Distribution kind, double mean, double cv, double x) {
  switch (kind) {
    case Distribution::lognormal: {
      const double sigma = lognormal_sigma(cv);
      return 0.5 * std::erfc((std::log(mean) - 0.5 * sigma * sigma - std::log(x)) / (sigma * std::sqrt(2.0)));
    }
    case Distribution::exponential:
      return -std::expm1(-x / mean);
    case Distribution::gamma: {
      const double shape = 1 / (cv * cv);
      return boost::math::gamma_p(shape, shape * x / mean);
    }
    default:
      return x >= mean ? 1 : 0;
  }
}

/// Relative standard error of mean and cv of n draws with these moments (delta method; M. G. Kendall and A. Stuart, The
/// Advanced Theory of Statistics, vol. 1, 10.6: of s, (kurtosis - 1) / 4 n, of mean and s, skewness / 2 n).
Moments with_errors(double mean, double cv, double skewness, double kurtosis, double n) {
  const double of_mean = cv / std::sqrt(n);
  const double of_cv = std::sqrt(std::max((kurtosis - 1) / 4 - skewness * cv + cv * cv, 0.0) / n);
  return {around(mean, kSigmas99 * of_mean * mean), around(cv, kSigmas99 * of_cv * cv)};
}

Moments gamma_errors(double mean, double cv, double n) {
  return with_errors(mean, cv, 2 * cv, 3 + 6 * cv * cv, n);
}

/// Errors of maximum likelihood: mu and sigma of the logarithms, from which mean and cv follow.
Moments lognormal_errors(double mu, double sigma, double n) {
  const double variance = sigma * sigma;
  const double mean = std::exp(mu + variance / 2), cv = std::sqrt(std::expm1(variance));
  const double of_mean = kSigmas99 * std::sqrt(variance / n + variance * variance / (2 * n));
  const double of_cv = kSigmas99 * sigma * std::exp(variance) / cv * sigma / std::sqrt(2 * n);
  return {{mean, mean * std::exp(-of_mean), mean * std::exp(of_mean)}, around(cv, of_cv)};
}

/// The largest difference between a sample and a law that says which share is up to a value, and which is below it.
template <class UpTo, class Below>
double largest_difference(std::span<const std::int64_t> ascending, const UpTo& up_to, const Below& below) {
  const auto n = static_cast<double>(ascending.size());
  double most = 0;
  for (std::size_t i = 0; i < ascending.size();) {
    std::size_t end = i;
    while (end < ascending.size() && ascending[end] == ascending[i]) ++end;
    most = std::max({most, std::abs(static_cast<double>(end) / n - up_to(ascending[i])),
                     std::abs(static_cast<double>(i) / n - below(ascending[i]))});
    i = end;
  }
  return most;
}

/// Two values for each of equally large parts of the sample, a standard deviation to either side of their mean, so that
/// mean and cv of all stay.
std::vector<std::int64_t> values_of(std::span<const std::int64_t> ascending, std::size_t count) {
  const std::size_t n = ascending.size(), parts = count / 2;
  if (n <= count) return {ascending.begin(), ascending.end()};
  std::vector<std::int64_t> values;
  double owed = 0;  // by rounding
  const auto add = [&](double value) {
    values.push_back(std::clamp<std::int64_t>(std::llround(value + owed), 1, models::max_request_tokens));
    owed += value - static_cast<double>(values.back());
  };
  for (std::size_t k = 0; k < parts; ++k) {
    const std::size_t begin = k * n / parts, end = (k + 1) * n / parts;
    const auto part = static_cast<double>(end - begin);
    double mean = 0, variance = 0;
    for (std::size_t i = begin; i < end; ++i) mean += static_cast<double>(ascending[i]) / part;
    for (std::size_t i = begin; i < end; ++i) variance += std::pow(static_cast<double>(ascending[i]) - mean, 2) / part;
    add(mean - std::sqrt(variance));
    add(mean + std::sqrt(variance));
  }
  std::sort(values.begin(), values.end());
  return values;
}

}  // namespace

Moments moments_of(std::span<const std::int64_t> sample) {
  const auto n = static_cast<double>(sample.size());
  const auto [mean, m2, m3, m4] = boost::math::statistics::first_four_moments(sample.begin(), sample.end());
  if (mean == 0 || m2 == 0) return {around(mean, 0), around(0, 0)};
  return with_errors(mean, std::sqrt(m2) / mean, m3 / std::pow(m2, 1.5), m4 / (m2 * m2), n);
}

double share_up_to(const LengthSpec& law, std::int64_t tokens) {
  if (law.distribution == Distribution::empirical) {
    const auto above = std::count_if(law.values.begin(), law.values.end(),
                                     [&](std::int64_t v) { return std::clamp(v, law.min, law.max) > tokens; });
    return 1 - static_cast<double>(above) / static_cast<double>(law.values.size());
  }
  if (tokens < law.min) return 0;
  if (tokens >= law.max) return 1;
  if (law.distribution == Distribution::uniform) {
    return static_cast<double>(tokens - law.min + 1) / static_cast<double>(law.max - law.min + 1);
  }
  return continuous_share(law.distribution, law.mean, law.cv, static_cast<double>(tokens) + 0.5);
}

Drawn drawn_by(const LengthSpec& law) {
  if (law.distribution == Distribution::fixed) return {law.mean, 0};
  if (law.distribution == Distribution::empirical || law.distribution == Distribution::uniform) {
    if (law.distribution == Distribution::uniform) {
      const auto low = static_cast<double>(law.min), high = static_cast<double>(law.max);
      const double mean = (low + high) / 2, width = high - low + 1;
      return {mean, std::sqrt((width * width - 1) / 12) / mean};
    }
    const Moments m = moments_of(law.values);
    return {m.mean.value, m.cv.value};
  }
  // Means of what is cut are integrals of the share above, over steps that grow with the length.
  constexpr int kSteps = 4000;
  const auto low = static_cast<double>(law.min), high = static_cast<double>(law.max);
  double mean = low, square = low * low, before = low;
  double share = 1 - continuous_share(law.distribution, law.mean, law.cv, low);
  for (int i = 1; i <= kSteps && high > low; ++i) {
    const double x = low * std::pow(high / low, static_cast<double>(i) / kSteps);
    const double above = 1 - continuous_share(law.distribution, law.mean, law.cv, x);
    mean += (x - before) * (share + above) / 2;
    square += (x - before) * (before * share + x * above);
    before = x;
    share = above;
  }
  return {mean, std::sqrt(std::max(square - mean * mean, 0.0)) / mean};
}

double distance(std::span<const std::int64_t> ascending, const LengthSpec& law) {
  return largest_difference(
      ascending, [&law](std::int64_t x) { return share_up_to(law, x); },
      [&law](std::int64_t x) { return share_up_to(law, x - 1); });
}

double distance(std::span<const std::int64_t> a, std::span<const std::int64_t> b) {
  double most = 0;
  std::size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    const std::int64_t at = std::min(a[i], b[k]);
    while (i < a.size() && a[i] == at) ++i;
    while (k < b.size() && b[k] == at) ++k;
    most = std::max(most, std::abs(static_cast<double>(i) / static_cast<double>(a.size()) -
                                   static_cast<double>(k) / static_cast<double>(b.size())));
  }
  return most;
}

double distance_by_chance(std::size_t a, std::size_t b) {
  constexpr double k95 = 1.3581;  // of Kolmogorov's distribution
  const auto n = static_cast<double>(a), m = static_cast<double>(b);
  return k95 * std::sqrt((n + m) / (n * m));
}

LengthFit fit_lengths(std::span<const std::int32_t> lengths) {
  std::vector<std::int64_t> sorted(lengths.begin(), lengths.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const std::int64_t least = sorted.front(), most = sorted.back();
  const Moments sample = moments_of(sorted);
  if (least == most) {
    return {{.mean = static_cast<double>(least)}, sample, false, 0, 0};
  }
  double mu = 0, variance = 0;
  for (const std::int64_t x : sorted) mu += std::log(static_cast<double>(x)) / n;
  for (const std::int64_t x : sorted) variance += std::pow(std::log(static_cast<double>(x)) - mu, 2) / n;

  std::vector<LengthFit> laws;
  const auto add = [&](Distribution kind, const Moments& parameters, bool has_cv) {
    LengthSpec law{.distribution = kind, .min = least, .max = most};
    if (kind != Distribution::uniform)
      law.mean = std::max(std::round(parameters.mean.value), 1.0);  // as scenarios have it
    if (has_cv) law.cv = std::min(parameters.cv.value, 100.0);
    laws.push_back({law, parameters, has_cv, distance(sorted, law), 0});
  };
  add(Distribution::uniform, sample, false);
  add(Distribution::exponential, gamma_errors(sample.mean.value, 1, n), false);
  add(Distribution::gamma, gamma_errors(sample.mean.value, sample.cv.value, n), true);
  add(Distribution::lognormal, lognormal_errors(mu, std::sqrt(variance), n), true);
  std::stable_sort(laws.begin(), laws.end(),
                   [](const LengthFit& a, const LengthFit& b) { return a.distance < b.distance; });
  for (const LengthFit& fit : laws) {
    const Drawn drawn = drawn_by(fit.law);
    if (fit.distance <= kNearLaw && std::abs(drawn.mean / sample.mean.value - 1) <= kNearMean &&
        std::abs(drawn.cv / sample.cv.value - 1) <= kNearCv) {
      return fit;
    }
  }
  LengthFit values{{.distribution = Distribution::empirical, .values = values_of(sorted, kFitValues)},
                   sample,
                   false,
                   0,
                   laws.front().distance};
  values.distance = distance(sorted, values.law);
  return values;
}

LengthSpec with_few_values(LengthSpec law) {
  if (law.distribution != Distribution::empirical) return law;
  std::sort(law.values.begin(), law.values.end());
  law.values = values_of(law.values, kFewValues);
  return law;
}

namespace {

/// Largest cv of gaps that are equal but for what a clock does to them.
constexpr double kEqualGaps = 0.01;

double gap_distance(std::span<const std::int64_t> ascending, const models::ArrivalSpec& law) {
  const auto n = static_cast<double>(ascending.size());
  const double mean_ns = kNsPerSecond / law.rate_per_s;
  if (law.kind == ArrivalKind::constant) {
    // Rounding by a clock puts half of equal gaps below their mean: only others count.
    const auto other = [mean_ns](std::int64_t gap) {
      return std::abs(static_cast<double>(gap) - mean_ns) > 3 * kEqualGaps * mean_ns;
    };
    return static_cast<double>(std::count_if(ascending.begin(), ascending.end(), other)) / n;
  }
  const Distribution kind = law.kind == ArrivalKind::gamma     ? Distribution::gamma
                            : law.kind == ArrivalKind::poisson ? Distribution::exponential
                                                               : Distribution::fixed;
  // Gaps are whole ns, as drawn ones are.
  const auto up_to = [&](double ns) { return ns <= 0 ? 0 : continuous_share(kind, mean_ns, law.cv, ns); };
  return largest_difference(
      ascending, [&](std::int64_t gap) { return up_to(static_cast<double>(gap) + 0.5); },
      [&](std::int64_t gap) { return up_to(static_cast<double>(gap) - 0.5); });
}

}  // namespace

ArrivalFit fit_gaps(std::span<const std::int64_t> gaps_ns) {
  std::vector<std::int64_t> sorted(gaps_ns.begin(), gaps_ns.end());
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  const Moments sample = moments_of(sorted);
  ArrivalFit fit;
  const double cv = sample.cv.value;
  const Moments of_gamma = gamma_errors(sample.mean.value, cv, n);
  if (cv < kEqualGaps) {
    fit.law.kind = ArrivalKind::constant;
    fit.cv = sample.cv;
  } else {
    const Moments of_poisson = gamma_errors(sample.mean.value, 1, n);
    fit.law.kind = of_poisson.cv.holds(cv) ? ArrivalKind::poisson : ArrivalKind::gamma;
    fit.cv = of_gamma.cv;
    fit.law.cv = fit.law.kind == ArrivalKind::gamma ? std::min(cv, 100.0) : 1;
  }
  const double rate = kNsPerSecond / sample.mean.value;
  fit.rate_per_s = around(rate, kSigmas99 * rate * cv / std::sqrt(n));
  const schema::UsualSize sizes = schema::usual_size(schema::Dimension::rate);  // as scenarios have it
  fit.law.rate_per_s = std::clamp(rate, sizes.least, sizes.most);
  fit.distance = gap_distance(sorted, fit.law);
  return fit;
}

namespace {

std::vector<double> ranks_of(std::span<const std::int32_t> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && values[order[end]] == values[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = static_cast<double>(i + end - 1) / 2;
    i = end;
  }
  return ranks;
}

}  // namespace

double rank_correlation(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
  const std::vector<double> x = ranks_of(a), y = ranks_of(b);
  const double middle = static_cast<double>(a.size() - 1) / 2;
  double xy = 0, xx = 0, yy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - middle) * (y[i] - middle);
    xx += (x[i] - middle) * (x[i] - middle);
    yy += (y[i] - middle) * (y[i] - middle);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;  // Boost's is 1 where all of both are alike
}

}  // namespace kvsim::planner::traffic
