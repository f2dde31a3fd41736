#include "sim/engine/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "sim/engine/invariant.h"

namespace kvsim::engine {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

double mean_of(std::span<const double> values) {
  CompensatedSum sum;
  for (const double value : values) sum.add(value);
  return values.empty() ? nan : sum.value() / static_cast<double>(values.size());
}

// Unbiased, in two passes: the textbook one-pass formula cancels catastrophically.
double variance_of(std::span<const double> values, double mean) {
  if (values.size() < 2) return nan;
  CompensatedSum squares;
  for (const double value : values) squares.add((value - mean) * (value - mean));
  return squares.value() / static_cast<double>(values.size() - 1);
}

}  // namespace

void TimeWeighted::set(double level, SimTime at) {
  KVSIM_ALWAYS(at >= last_, "a level must not change in the past");
  integral_ += level_ * (at - last_).seconds();
  level_ = level;
  peak_ = std::max(peak_, level);
  last_ = at;
}

double TimeWeighted::mean(SimTime at) const {
  return at == start_ ? level_ : integral(at) / (at - start_).seconds();
}

double TimeWeighted::integral(SimTime at) const {
  return integral_ + level_ * (at - last_).seconds();
}

void TimeWeighted::reset(SimTime at) {
  KVSIM_ALWAYS(at >= last_, "a level must not change in the past");
  integral_ = 0;
  peak_ = level_;
  start_ = at;
  last_ = at;
}

void CompensatedSum::add(double value) {
  const double sum = sum_ + value;
  correction_ += std::abs(sum_) >= std::abs(value) ? (sum_ - sum) + value : (value - sum) + sum_;
  sum_ = sum;
}

void Sample::add(double value) {
  KVSIM_ALWAYS(!std::isnan(value), "a sample holds numbers");
  min_ = empty() ? value : std::min(min_, value);
  max_ = empty() ? value : std::max(max_, value);
  values_.push_back(value);
  sum_.add(value);
}

void Sample::add(double value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) add(value);
}

double Sample::mean() const {
  return empty() ? nan : sum_.value() / static_cast<double>(count());
}
double Sample::variance() const {
  return variance_of(values_, mean());
}
double Sample::min() const {
  return empty() ? nan : min_;
}
double Sample::max() const {
  return empty() ? nan : max_;
}

double Sample::quantile(double q) const {
  KVSIM_ALWAYS(q >= 0 && q <= 1, "a quantile lies in [0, 1]");
  if (empty()) return nan;
  if (sorted_.size() != values_.size()) {
    sorted_ = values_;
    std::sort(sorted_.begin(), sorted_.end());
  }
  // Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50(4), 1996, type 7:
  // h = (n - 1) q, and the value lies between the order statistics floor(h) and floor(h) + 1 (counted from 0).
  const double h = static_cast<double>(count() - 1) * q;
  const auto below = static_cast<std::size_t>(h);
  const double low = sorted_[below];
  const double high = sorted_[std::min(below + 1, count() - 1)];
  const double fraction = h - std::floor(h);
  return fraction == 0 || low == high ? low : low + fraction * (high - low);
}

void Sample::clear() {
  *this = Sample();
}

double student_t_quantile(double p, double degrees_of_freedom) {
  KVSIM_ALWAYS(p > 0 && p < 1 && degrees_of_freedom > 0, "no such quantile of Student's t");
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), p);
}

ConfidenceInterval confidence_95(std::span<const double> observations) {
  const std::size_t n = observations.size();
  ConfidenceInterval interval{mean_of(observations), nan, n};
  if (n < 2) return interval;
  const double variance_of_mean = variance_of(observations, interval.mean) / static_cast<double>(n);
  interval.half_width_95 = student_t_quantile(0.975, static_cast<double>(n - 1)) * std::sqrt(variance_of_mean);
  return interval;
}

ConfidenceInterval batch_means_95(std::span<const double> series, std::size_t batches) {
  KVSIM_ALWAYS(batches >= 2, "batch means need two batches");
  const std::size_t length = series.size() / batches;
  if (length == 0) return {mean_of(series), nan, 0};
  series = series.subspan(series.size() - length * batches);
  std::vector<double> means(batches);
  for (std::size_t i = 0; i < batches; ++i) means[i] = mean_of(series.subspan(i * length, length));
  return confidence_95(means);
}

}  // namespace kvsim::engine
