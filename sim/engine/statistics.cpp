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

void CompensatedSum::add(double value, std::size_t count) {
  if (count == 1) return add(value);
  // What rounding takes from the product is itself representable.
  const auto times = static_cast<double>(count);
  const double product = value * times;
  add(product);
  if (std::isfinite(product)) add(std::fma(value, times, -product));
}

/// Calls `visit` with each value and how often it follows itself.
template <class Visit>
void Sample::for_each_run(const Visit& visit) const {
  auto repeat = repeats_.begin();
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const bool again = repeat != repeats_.end() && repeat->at == i;
    visit(kept_[i], again ? 1 + (repeat++)->more : 1);
  }
}

void Sample::add(double value, std::size_t count) {
  KVSIM_ALWAYS(!std::isnan(value), "a sample holds numbers");
  if (count == 0) return;
  min_ = empty() ? value : std::min(min_, value);
  max_ = empty() ? value : std::max(max_, value);
  count_ += count;
  sum_.add(value, count);
  const bool again = !kept_.empty() && kept_.back() == value && std::signbit(kept_.back()) == std::signbit(value);
  if (!again) kept_.push_back(value);
  const std::size_t at = kept_.size() - 1, more = again ? count : count - 1;
  if (more == 0) return;
  if (repeats_.empty() || repeats_.back().at != at) repeats_.push_back({at, 0});
  repeats_.back().more += more;
}

void Sample::add(const Sample& other) {
  other.for_each_run([this](double value, std::size_t count) { add(value, count); });
}

std::vector<double> Sample::values() const {
  std::vector<double> all;
  all.reserve(count_);
  for_each_run([&all](double value, std::size_t count) { all.insert(all.end(), count, value); });
  return all;
}

double Sample::mean() const {
  return empty() ? nan : sum_.value() / static_cast<double>(count());
}
double Sample::variance() const {
  return variance_of(values(), mean());
}
double Sample::min() const {
  return empty() ? nan : min_;
}
double Sample::max() const {
  return empty() ? nan : max_;
}

void Sample::sort() const {
  sorted_.clear();
  sorted_.reserve(kept_.size());
  for_each_run([this](double value, std::size_t count) { sorted_.push_back({value, count}); });
  std::sort(sorted_.begin(), sorted_.end(), [](const Ranked& a, const Ranked& b) { return a.value < b.value; });
  std::size_t up_to = 0;
  for (Ranked& r : sorted_) r.up_to = up_to += r.up_to;
}

double Sample::quantile(double q) const {
  KVSIM_ALWAYS(q >= 0 && q <= 1, "a quantile lies in [0, 1]");
  if (empty()) return nan;
  if (sorted_.empty() || sorted_.back().up_to != count_) sort();
  // Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50(4), 1996, type 7:
  // h = (n - 1) q, and the value lies between the order statistics floor(h) and floor(h) + 1 (counted from 0).
  const double h = static_cast<double>(count() - 1) * q;
  const auto below = static_cast<std::size_t>(h);
  const auto at_rank = [this](std::size_t rank) {
    return std::upper_bound(sorted_.begin(), sorted_.end(), rank,
                            [](std::size_t wanted, const Ranked& r) { return wanted < r.up_to; })
        ->value;
  };
  const double low = at_rank(below);
  const double high = at_rank(std::min(below + 1, count() - 1));
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
