// Output statistics: time-weighted means, exact percentiles, batch means and Student-t intervals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/time.h"

namespace kvsim::engine {

/// part / of; 0 where there is nothing to have a share of.
inline double share(double part, double of) {
  return of > 0 ? part / of : 0.0;
}

/// Mean and peak of a piecewise constant level over time.
class TimeWeighted {
 public:
  explicit TimeWeighted(double level = 0, SimTime start = {})
      : level_(level), peak_(level), start_(start), last_(start) {}

  /// The level becomes `level` at `at`, which must not lie before the last change.
  void set(double level, SimTime at) {
    KVSIM_ALWAYS(at >= last_, "a level must not change in the past");
    integral_ += level_ * (at - last_).seconds();
    level_ = level;
    peak_ = std::max(peak_, level);
    last_ = at;
  }
  [[nodiscard]] double level() const { return level_; }
  /// The highest level since the start.
  [[nodiscard]] double peak() const { return peak_; }
  /// Mean over [start, at]; the level itself when no time has passed.
  [[nodiscard]] double mean(SimTime at) const;
  /// Integral of the level over [start, at], in level-seconds.
  [[nodiscard]] double integral(SimTime at) const;
  /// Forgets the past: mean and peak now start at `at`.
  void reset(SimTime at);

 private:
  double level_ = 0;
  double peak_ = 0;
  double integral_ = 0;  // level-seconds
  SimTime start_;
  SimTime last_;
};

/// A sum whose error does not grow with the number of terms (Neumaier, "Rundungsfehleranalyse einiger Verfahren zur
/// Summation endlicher Summen", ZAMM 54, 1974: Kahan's summation, safe for terms larger than the sum).
class CompensatedSum {
 public:
  void add(double value);
  /// The same value so many times.
  void add(double value, std::size_t count);
  [[nodiscard]] double value() const { return sum_ + correction_; }

 private:
  double sum_ = 0;
  double correction_ = 0;
};

/// Mean, minimum, maximum, count of a sample, and exact percentiles. Keeps every value, those that follow each other
/// and are equal as one (8 bytes for a value, 24 for several; as much again and 8 more once a quantile was asked for).
/// No answer depends on which were asked for before. Asking for a quantile sorts a copy, so one object must not be
/// asked from two threads at a time.
class Sample {
 public:
  /// NaN is refused (InvariantViolation): it has no rank.
  void add(double value) { add(value, 1); }
  /// The same value `count` times, in constant time.
  void add(double value, std::size_t count);
  /// All values of another sample, in its order.
  void add(const Sample& other);
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] double mean() const;      ///< summed with compensation in order of insertion; NaN for an empty sample
  [[nodiscard]] double variance() const;  ///< unbiased; NaN below two values
  [[nodiscard]] double min() const;       ///< NaN for an empty sample
  [[nodiscard]] double max() const;       ///< NaN for an empty sample
  /// Linear interpolation between order statistics (Hyndman-Fan type 7), q in [0, 1]. NaN for an empty sample.
  [[nodiscard]] double quantile(double q) const;
  /// All of them, in order of insertion.
  [[nodiscard]] std::vector<double> values() const;
  void clear();

 private:
  struct Repeat {
    std::size_t at;    // in kept_
    std::size_t more;  // times that this value came again at once
  };
  struct Ranked {
    double value;
    std::size_t up_to;  // values no larger
  };

  template <class Visit>
  void for_each_run(const Visit& visit) const;
  void sort() const;

  std::vector<double> kept_;     // no two equal ones beside each other
  std::vector<Repeat> repeats_;  // in order
  std::size_t count_ = 0;
  CompensatedSum sum_;
  double min_ = 0;
  double max_ = 0;
  mutable std::vector<Ranked> sorted_;  // of all values, if the last one's rank is their count
};

/// The p-quantile (0 < p < 1) of Student's t distribution with `degrees_of_freedom` (> 0).
double student_t_quantile(double p, double degrees_of_freedom);

struct ConfidenceInterval {
  double mean = 0;
  double half_width_95 = 0;  ///< Student t, two-sided 95 %; NaN below two observations
  std::size_t observations = 0;
};

/// Interval for the mean of independent observations (one per replication).
ConfidenceInterval confidence_95(std::span<const double> observations);

/// Interval for the mean of a correlated series by the method of batch means: `batches` (>= 2) contiguous batches of
/// equal length, a remainder at the start dropped (it is nearest to the warm-up). A series shorter than `batches` has
/// a mean, no half-width (NaN) and no observations. Source: A. M. Law, Simulation Modeling and Analysis, 5th
/// ed., 9.5.3.
ConfidenceInterval batch_means_95(std::span<const double> series, std::size_t batches = 20);

}  // namespace kvsim::engine
