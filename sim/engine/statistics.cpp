#include "sim/engine/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

#include "sim/engine/invariant.h"

namespace kvsim::engine {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

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

double student_t_quantile(double p, double degrees_of_freedom) {
  KVSIM_ALWAYS(p > 0 && p < 1 && degrees_of_freedom > 0, "no such quantile of Student's t");
  return boost::math::quantile(boost::math::students_t(degrees_of_freedom), p);
}

double mean(std::span<const double> values) {
  CompensatedSum sum;
  for (const double value : values) sum.add(value);
  return values.empty() ? nan : sum.value() / static_cast<double>(values.size());
}

// In two passes: the textbook one-pass formula cancels catastrophically.
double variance(std::span<const double> values) {
  if (values.size() < 2) return nan;
  const double centre = mean(values);
  CompensatedSum squares;
  for (const double value : values) squares.add((value - centre) * (value - centre));
  return squares.value() / static_cast<double>(values.size() - 1);
}

ConfidenceInterval confidence_95(std::span<const double> observations) {
  const std::size_t n = observations.size();
  ConfidenceInterval interval{mean(observations), nan, n};
  if (n < 2) return interval;
  const double variance_of_mean = variance(observations) / static_cast<double>(n);
  interval.half_width_95 = student_t_quantile(0.975, static_cast<double>(n - 1)) * std::sqrt(variance_of_mean);
  return interval;
}

ConfidenceInterval batch_means_95(std::span<const double> series, std::size_t batches) {
  KVSIM_ALWAYS(batches >= 2, "batch means need two batches");
  const std::size_t length = series.size() / batches;
  if (length == 0) return {mean(series), nan, 0};
  series = series.subspan(series.size() - length * batches);
  std::vector<double> means(batches);
  for (std::size_t i = 0; i < batches; ++i) means[i] = mean(series.subspan(i * length, length));
  return confidence_95(means);
}

void RunningTotals::grow_to(std::uint64_t count) {
  if (totals_.empty()) totals_.reserve(kMost);
  while (count >= (kMost + 1) * apart_) {
    apart_ *= 2;
    for (std::size_t i = 0; i < totals_.size() / 2; ++i) totals_[i] = totals_[2 * i + 1];
    totals_.resize(totals_.size() / 2);
    next_ = (totals_.size() + 1) * apart_;
  }
}

void RunningTotals::add(double total) {
  totals_.push_back(total);
  next_ += apart_;
}

ConfidenceInterval RunningTotals::batch_means_95(std::size_t batches) const {
  KVSIM_ALWAYS(batches >= 2, "batch means need two batches");
  const std::size_t length = totals_.size() / batches;
  if (length == 0) return {totals_.back() / static_cast<double>(totals_.size() * apart_), nan, 0};
  const std::size_t begin = totals_.size() - length * batches;
  double before = begin == 0 ? 0.0 : totals_[begin - 1];
  std::vector<double> means(batches);
  for (std::size_t i = 0; i < batches; ++i) {
    const double total = totals_[begin + (i + 1) * length - 1];
    means[i] = (total - before) / static_cast<double>(length * apart_);
    before = total;
  }
  return confidence_95(means);
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
  value += 0.0;  // -0 + 0 is 0: equal values have equal bytes, whichever came first
  min_ = empty() ? value : std::min(min_, value);
  max_ = empty() ? value : std::max(max_, value);
  const std::size_t before = count_;
  if (before + count <= kExact) {
    keep(value, count);
  } else {
    if (!sketched()) give_up_values();
    sketch(value, before, count);
  }
  count_ += count;
}

void Sample::keep(double value, std::size_t count) {
  sum_.add(value, count);
  const bool again = !kept_.empty() && kept_.back() == value;
  if (!again) kept_.push_back(value);
  const std::size_t at = kept_.size() - 1, more = again ? count : count - 1;
  if (more == 0) return;
  if (repeats_.empty() || repeats_.back().at != at) repeats_.push_back({at, 0});
  repeats_.back().more += more;
}

void Sample::sketch(double value, std::size_t before, std::size_t count) {
  sketch_.add(value, count);
  if (in_order_) {
    const std::size_t up_to = before + count;
    if (up_to >= totals_.next()) totals_.grow_to(up_to);
    while (totals_.next() <= up_to) {
      sum_.add(value, totals_.next() - before);
      before = totals_.next();
      totals_.add(sum_.settle());
    }
    count = up_to - before;
  }
  sum_.add(value, count);
}

void Sample::give_up_values() {
  sum_ = {};
  totals_.grow_to(count_);
  std::size_t before = 0;
  for_each_run([&](double value, std::size_t count) {
    sketch(value, before, count);
    before += count;
  });
  kept_ = {};
  repeats_ = {};
  sorted_ = {};
}

void Sample::add(const Sample& other) {
  if (&other == this) return add(Sample(other));
  if (empty()) {
    *this = other;
  } else if (!other.sketched()) {
    other.for_each_run([this](double value, std::size_t count) { add(value, count); });
  } else {
    in_order_ = false;
    totals_ = {};
    if (!sketched()) give_up_values();
    min_ = std::min(min_, other.min_);
    max_ = std::max(max_, other.max_);
    sum_.add(other.sum_);
    sketch_.add(other.sketch_);
    count_ += other.count_;
  }
}

std::vector<double> Sample::values() const {
  KVSIM_ALWAYS(!sketched(), "a sketched sample does not keep its values");
  std::vector<double> all;
  all.reserve(count_);
  for_each_run([&all](double value, std::size_t count) { all.insert(all.end(), count, value); });
  return all;
}

double Sample::mean() const {
  return empty() ? nan : sum_.value() / static_cast<double>(count());
}
double Sample::min() const {
  return empty() ? nan : min_;
}
double Sample::max() const {
  return empty() ? nan : max_;
}

ConfidenceInterval Sample::batch_means_95(std::size_t batches) const {
  if (!sketched()) return engine::batch_means_95(values(), batches);
  return in_order_ ? totals_.batch_means_95(batches) : ConfidenceInterval{mean(), nan, 0};
}

void Sample::sort() const {
  sorted_.clear();
  sorted_.reserve(kept_.size());
  for_each_run([this](double value, std::size_t count) { sorted_.push_back({value, count}); });
  std::sort(sorted_.begin(), sorted_.end(), [](const Ranked& a, const Ranked& b) { return a.value < b.value; });
  std::size_t up_to = 0;
  for (Ranked& r : sorted_) r.up_to = up_to += r.up_to;
}

double Sample::at_rank(std::size_t rank) const {
  if (sketched()) {
    if (rank == 0) return min_;
    return rank == count_ - 1 ? max_ : std::clamp(sketch_.at_rank(rank), min_, max_);
  }
  if (sorted_.empty() || sorted_.back().up_to != count_) sort();
  return std::upper_bound(sorted_.begin(), sorted_.end(), rank,
                          [](std::size_t wanted, const Ranked& r) { return wanted < r.up_to; })
      ->value;
}

double Sample::quantile(double q) const {
  KVSIM_ALWAYS(q >= 0 && q <= 1, "a quantile lies in [0, 1]");
  if (empty()) return nan;
  // Hyndman and Fan, "Sample quantiles in statistical packages", The American Statistician 50(4), 1996, type 7:
  // h = (n - 1) q, and the value lies between the order statistics floor(h) and floor(h) + 1 (counted from 0).
  const double h = static_cast<double>(count() - 1) * q;
  const auto below = std::min(static_cast<std::size_t>(h), count() - 1);
  const double low = at_rank(below);
  const double high = at_rank(std::min(below + 1, count() - 1));
  const double fraction = h - std::floor(h);
  if (fraction == 0 || low == high) return low;
  if (std::isfinite(high - low)) return low + fraction * (high - low);
  return (1 - fraction) * low + fraction * high;
}

void Sample::clear() {
  *this = Sample();
}

}  // namespace kvsim::engine
