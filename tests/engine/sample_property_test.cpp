// Samples and their sums against the same worked out from all values.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "sim/engine/random.h"
#include "sim/engine/statistics.h"

namespace KVSIM_FILE {
namespace {

using namespace kvsim::engine;

constexpr double kFractions[] = {0, 1e-4, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999, 0.9999, 1};

/// Any finite double, all exponents as often as each other.
double any_bits(RandomStream& draw) {
  const double value = std::bit_cast<double>(draw.next_u64());
  return std::isfinite(value) ? value : 1.0;
}

/// What latencies, gaps and rates are like, and what no latency is like.
const std::vector<std::function<double(RandomStream&)>>& laws() {
  static const std::vector<std::function<double(RandomStream&)>> all{
      [](RandomStream& d) { return d.uniform_open(); },
      [](RandomStream& d) { return std::exp(2 * d.normal()); },
      [](RandomStream& d) { return 0.01 * std::pow(d.uniform_open(), -2.0); },  // no mean
      [](RandomStream& d) { return -std::log(d.uniform_open()); },
      [](RandomStream& d) { return d.uniform_open() < 0.7 ? 0.0 : 0.02 + 0.001 * d.normal(); },  // gaps of rounds
      [](RandomStream& d) { return std::floor(7 * d.uniform_open()) * 0.013; },                  // few values
      [](RandomStream& d) { return d.uniform_open() < 0.5 ? 1e-9 : 1e9; },
      [](RandomStream& d) { return d.normal(); },  // both signs
      [](RandomStream& d) { return -std::exp(d.normal()); },
      [](RandomStream& d) { return std::floor(3000 * d.normal()) * std::numeric_limits<double>::denorm_min(); },
      [](RandomStream& d) { return d.uniform_open() * std::numeric_limits<double>::min(); },  // denormal
      [](RandomStream& d) { return d.uniform_open() * std::numeric_limits<double>::max(); },
      [](RandomStream& d) { return any_bits(d); },
  };
  return all;
}

std::vector<double> drawn(std::size_t count) {
  RandomStream draw(*rc::gen::inRange<std::uint64_t>(0, 1U << 30U), "values");
  const auto& law = laws()[*rc::gen::inRange<std::size_t>(0, laws().size())];
  std::vector<double> values(count);
  std::generate(values.begin(), values.end(), [&] { return law(draw); });
  return values;
}

struct Exact {
  double value;
  double magnitude;  // of what it lies between
};

/// Of sorted values, type 7.
Exact exact_quantile(const std::vector<double>& sorted, double q) {
  const double h = static_cast<double>(sorted.size() - 1) * q;
  const auto below = static_cast<std::size_t>(h);
  const double low = sorted[below], high = sorted[std::min(below + 1, sorted.size() - 1)];
  const double fraction = h - std::floor(h);
  const double step = high - low;
  double value = low;
  if (fraction != 0 && low != high) {
    value = std::isfinite(step) ? low + fraction * step : (1 - fraction) * low + fraction * high;
  }
  const bool same_sign = (low < 0) == (high < 0);
  return {value, same_sign ? std::abs(value) : std::max(std::abs(low), std::abs(high))};
}

Sample sample_of(const std::vector<double>& values) {
  Sample sample;
  for (const double value : values) sample.add(value);
  return sample;
}

void assert_same_bytes(const Sample& a, const Sample& b) {
  const auto bits = [](double value) { return std::bit_cast<std::uint64_t>(value); };
  RC_ASSERT(a.count() == b.count());
  RC_ASSERT(bits(a.min()) == bits(b.min()));
  RC_ASSERT(bits(a.max()) == bits(b.max()));
  RC_ASSERT(bits(a.mean()) == bits(b.mean()));
  for (const double q : kFractions) RC_ASSERT(bits(a.quantile(q)) == bits(b.quantile(q)));
}

RC_GTEST_PROP(SampleProperty, everyQuantileOfMoreThanTenThousandValuesIsWithinAThousandth, ()) {
  std::vector<double> values = drawn(*rc::gen::inRange<std::size_t>(Sample::kExact + 1, 14'000));
  const Sample sample = sample_of(values);
  RC_ASSERT(sample.sketched());
  std::sort(values.begin(), values.end());
  RC_ASSERT(sample.min() == values.front());
  RC_ASSERT(sample.max() == values.back());
  RC_ASSERT(sample.quantile(0) == values.front());
  RC_ASSERT(sample.quantile(1) == values.back());
  double before = sample.min();
  for (const double q : kFractions) {
    const Exact exact = exact_quantile(values, q);
    const double quantile = sample.quantile(q);
    RC_ASSERT(std::abs(quantile - exact.value) <= 0.001 * exact.magnitude);
    RC_ASSERT(quantile >= before);
    before = quantile;
  }
}

RC_GTEST_PROP(SampleProperty, quantilesOfUpToTenThousandValuesAreExact, ()) {
  const std::size_t few = *rc::gen::inRange<std::size_t>(1, 300);
  std::vector<double> values = drawn(*rc::gen::element(few, Sample::kExact - few, Sample::kExact));
  const Sample sample = sample_of(values);
  RC_ASSERT(!sample.sketched());
  std::sort(values.begin(), values.end());
  for (const double q : kFractions) RC_ASSERT(sample.quantile(q) == exact_quantile(values, q).value);
}

RC_GTEST_PROP(SampleProperty, anyOrderAndGroupingGivesEqualBytes, ()) {
  // Parts of any size, of which some are sketched themselves, are added to each other in any order.
  const std::size_t total = *rc::gen::element<std::size_t>(300, Sample::kExact, Sample::kExact + 1, 13'000, 30'000);
  std::vector<double> values = drawn(total);
  const Sample whole = sample_of(values);
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  std::shuffle(values.begin(), values.end(), random);
  for (double& value : values) value = value == 0 && random() % 2 == 0 ? -0.0 : value;
  std::vector<Sample> parts(*rc::gen::inRange<std::size_t>(1, 8));
  const std::size_t favoured = random() % parts.size();
  for (const double value : values) {
    const std::size_t any = random() % parts.size();
    parts[random() % 2 == 0 ? favoured : any].add(value);
  }
  while (parts.size() > 1) {
    std::shuffle(parts.begin(), parts.end(), random);
    const Sample last = parts.back();
    parts.pop_back();
    if (*rc::gen::arbitrary<bool>()) static_cast<void>(parts.back().quantile(0.5));  // changes nothing
    parts.back().add(last);
  }
  assert_same_bytes(parts.front(), whole);
}

RC_GTEST_PROP(SampleProperty, theSameValueSeveralTimesIsAddingItThatOften, ()) {
  const std::vector<double> values = drawn(*rc::gen::inRange<std::size_t>(1, 4'000));
  Sample together, singly;
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  for (const double value : values) {
    const std::size_t count = random() % 9;
    together.add(value, count);
    for (std::size_t i = 0; i < count; ++i) singly.add(value);
  }
  RC_PRE(!singly.empty());
  assert_same_bytes(together, singly);
  const auto half_width = [](const Sample& s) {
    return std::bit_cast<std::uint64_t>(s.batch_means_95().half_width_95);
  };
  RC_ASSERT(half_width(together) == half_width(singly));
}

using boost::multiprecision::cpp_int;

/// In units of 2^-1074.
cpp_int units(double value) {
  int exponent = 0;
  const double mantissa = std::frexp(std::abs(value), &exponent);
  const auto whole = static_cast<std::uint64_t>(std::ldexp(mantissa, 53));
  const int shift = exponent - 53 + 1074;
  const cpp_int magnitude = shift >= 0 ? cpp_int(whole) << shift : cpp_int(whole) >> -shift;  // only zeros fall away
  return value < 0 ? cpp_int(-magnitude) : magnitude;
}

RC_GTEST_PROP(ExactSumProperty, theSumIsTheNearestDoubleOfTheTrueOne, ()) {
  const std::vector<double> values = drawn(*rc::gen::inRange<std::size_t>(1, 200));
  std::mt19937_64 random(*rc::gen::arbitrary<std::uint64_t>());
  ExactSum sum;
  cpp_int exact = 0;
  for (double value : values) {
    value *= 0.5;  // so that few sums are beyond the largest double
    const std::uint64_t count = random() % 3 == 0 ? random() >> random() % 64 : 1;
    sum.add(value, count);
    exact += units(value) * count;
  }
  const double rounded = sum.value();
  const double infinity = std::numeric_limits<double>::infinity(), max = std::numeric_limits<double>::max();
  if (std::isinf(rounded)) {
    const cpp_int half_step = units(max) - units(std::nextafter(max, 0));
    RC_ASSERT(2 * abs(exact) >= 2 * units(max) + half_step);
    RC_ASSERT((exact < 0) == (rounded < 0));
    return;
  }
  const cpp_int error = abs(exact - units(rounded));
  for (const double direction : {-infinity, infinity}) {
    const double next = std::nextafter(rounded, direction);
    if (std::isinf(next)) continue;
    const cpp_int step = abs(units(next) - units(rounded));
    const bool towards = (direction > 0) == (exact > units(rounded));
    const bool even = std::bit_cast<std::uint64_t>(rounded) % 2 == 0;
    if (towards) RC_ASSERT(2 * error < step || (even && 2 * error == step));
  }
}

}  // namespace
}  // namespace KVSIM_FILE
