// Output statistics: time-weighted means, percentiles, batch means and Student-t intervals.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/order_free.h"
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
  [[nodiscard]] double value() const { return sum_ + correction_; }

 private:
  double sum_ = 0;
  double correction_ = 0;
};

/// The p-quantile (0 < p < 1) of Student's t distribution with `degrees_of_freedom` (> 0).
double student_t_quantile(double p, double degrees_of_freedom);

/// NaN for no values.
double mean(std::span<const double> values);
/// Unbiased; NaN below two values.
double variance(std::span<const double> values);

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

/// Totals of a series after each of so many values, so that batch means of any number of them need bounded memory.
class RunningTotals {
 public:
  /// The series has `count` values, more or as many as before.
  void grow_to(std::uint64_t count);
  /// After how many values the next total is wanted.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  void add(double total);
  /// As batch_means_95 of the series; beside a remainder at the start, that after the last total is dropped.
  [[nodiscard]] ConfidenceInterval batch_means_95(std::size_t batches) const;

 private:
  static constexpr std::size_t kMost = 4096;  // between half and all of them are there: remainders are below 1 %

  std::uint64_t apart_ = 1;  // the least power of two with which no more than kMost are needed
  std::uint64_t next_ = 1;
  std::vector<double> totals_;
};

/// Count, minimum, maximum and mean of a sample, and its quantiles: exact up to kExact values, of more within
/// kRelativeError of each by a sketch (QuantileSketch says which, and why). Exact samples keep every value, those that
/// follow each other and are equal as one (8 bytes for a value, 24 for several; as much again and 8 more once a
/// quantile was asked for); others as much memory as their values have octaves, 50 to 100 kB for most. Whichever it is
/// follows from the count alone, so that the same values in any order, added one by one or by samples, give equal
/// bytes. No answer depends on which were asked for before. Asking for a quantile of an exact sample sorts a copy, so
/// one object must not be asked from two threads at a time. -0 counts as 0.
class Sample {
 public:
  static constexpr std::size_t kExact = 10'000;
  static constexpr double kRelativeError = QuantileSketch::kRelativeError;

  /// NaN is refused (InvariantViolation): it has no rank.
  void add(double value) { add(value, 1); }
  /// Adds a value `count` times, in constant time.
  void add(double value, std::size_t count);
  /// All values of another sample, in its order.
  void add(const Sample& other);
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  /// More values than are kept: quantiles come from a sketch.
  [[nodiscard]] bool sketched() const { return count_ > kExact; }
  [[nodiscard]] double mean() const;  ///< the exact sum, rounded, over the count; NaN for an empty sample
  [[nodiscard]] double min() const;   ///< NaN for an empty sample
  [[nodiscard]] double max() const;   ///< NaN for an empty sample
  /// Linear interpolation between order statistics (Hyndman-Fan type 7), q in [0, 1]. NaN for an empty sample. Of a
  /// sketched sample, order statistics are the middles of their buckets, but no less than the minimum and no more than
  /// the maximum, which are exact themselves: within kRelativeError, between a negative value and a positive one of
  /// the larger magnitude.
  [[nodiscard]] double quantile(double q) const;
  /// All of them, in order of insertion. Precondition: not sketched.
  [[nodiscard]] std::vector<double> values() const;
  /// As batch_means_95 of the values in order of insertion; of a sketched sample, which keeps totals on the way, a
  /// little more may be dropped (RunningTotals). A sample to which a sketched one was added has no order: a mean, no
  /// half-width (NaN) and no observations, unless it was empty before.
  [[nodiscard]] ConfidenceInterval batch_means_95(std::size_t batches = 20) const;
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
  void keep(double value, std::size_t count);
  void sketch(double value, std::size_t before, std::size_t count);
  void give_up_values();
  void sort() const;
  [[nodiscard]] double at_rank(std::size_t rank) const;

  std::size_t count_ = 0;
  double min_ = 0;
  double max_ = 0;
  ExactSum sum_;

  std::vector<double> kept_;            // no two equal ones beside each other
  std::vector<Repeat> repeats_;         // in order
  mutable std::vector<Ranked> sorted_;  // of all values, if the last one's rank is their count

  QuantileSketch sketch_;
  RunningTotals totals_;  // once sketched
  bool in_order_ = true;  // they are those of all values
};

}  // namespace kvsim::engine
