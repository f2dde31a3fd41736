// Laws of lengths and of gaps that fit a sample: which, with which parameters, and how far from it.
#pragma once

#include <cstdint>
#include <span>

#include "models/workload/distributions.h"

namespace kvsim::planner::traffic {

/// A parameter, and where 99 of 100 samples of this size, drawn from the law with it, would put it.
struct Estimate {
  double value = 0;
  double low = 0;
  double high = 0;

  [[nodiscard]] bool holds(double other) const { return low <= other && other <= high; }
};

/// Mean and coefficient of variation of a sample, with intervals from its own third and fourth moments.
struct Moments {
  Estimate mean;
  Estimate cv;
};
Moments moments_of(std::span<const std::int64_t> sample);

/// Share of a law's draws, after rounding and bounds, that are no longer than this.
double share_up_to(const models::LengthSpec& law, std::int64_t tokens);
/// Mean and cv of its draws after bounds.
struct Drawn {
  double mean = 0;
  double cv = 0;
};
Drawn drawn_by(const models::LengthSpec& law);

/// The largest distance between shares of a sample, ascending, and of a law (Kolmogorov and Smirnov).
double distance(std::span<const std::int64_t> ascending, const models::LengthSpec& law);
/// Distance of two samples, both ascending.
double distance(std::span<const std::int64_t> ascending, std::span<const std::int64_t> other);
/// Two samples of these sizes of one law are farther apart with a chance of 5 % (asymptotic).
double distance_by_chance(std::size_t a, std::size_t b);

// A law is taken where it is as near as this; else lengths themselves are, as values.
inline constexpr double kNearLaw = 0.05;        ///< distance
inline constexpr double kNearMean = 0.03;       ///< relative, of the mean of its draws
inline constexpr double kNearCv = 0.10;         ///< the same of their cv
inline constexpr std::size_t kFitValues = 200;  ///< equally many lengths are behind each two of them
inline constexpr std::size_t kFewValues = 20;   ///< as many can be read

struct LengthFit {
  models::LengthSpec law;
  Moments parameters;   ///< of a law of mean and cv, its own; else of the sample
  bool has_cv = false;  ///< the law has one
  double distance = 0;
  double nearest_law = 0;  ///< of values: the distance of the nearest law
};

/// Lengths, at least one.
LengthFit fit_lengths(std::span<const std::int32_t> lengths);

/// An empirical law with kFewValues values in place of more: mean and cv stay, and no share differs by more than two of
/// them. Other laws as they are.
models::LengthSpec with_few_values(models::LengthSpec law);

struct ArrivalFit {
  models::ArrivalSpec law;
  Estimate rate_per_s;
  Estimate cv;          ///< of the gaps
  double distance = 0;  ///< of the gaps
};

/// Gaps in ns, at least two, of which one is above 0.
ArrivalFit fit_gaps(std::span<const std::int64_t> gaps_ns);

/// Spearman's correlation of ranks, those of equal values being their mean; 0 where either does not vary.
double rank_correlation(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace kvsim::planner::traffic
