#include "sim/serving/measurements.h"

#include <algorithm>
#include <type_traits>

#include "sim/serving/measurement_fields.h"

namespace kvsim::serving {
namespace {

template <class T>
requires std::is_arithmetic_v<T>
void join(T& a, const T& b) {
  a += b;
}

void join(engine::Sample& a, const engine::Sample& b) {
  a.add(b);
}

/// Verdicts of requests.
void join(std::vector<Verdict>& a, const std::vector<Verdict>& b) {
  a.insert(a.end(), b.begin(), b.end());
}

/// Counts by number.
void join(std::vector<std::uint64_t>& a, const std::vector<std::uint64_t>& b) {
  if (a.size() < b.size()) a.resize(b.size(), 0);
  for (std::size_t i = 0; i < b.size(); ++i) a[i] += b[i];
}

template <Measured M>
void join(M& a, const M& b);

template <class T>
void join(std::map<std::string, T>& a, const std::map<std::string, T>& b) {
  for (const auto& [key, value] : b) join(a[key], value);
}

template <class T, std::size_t n>
void join(std::array<T, n>& a, const std::array<T, n>& b) {
  for (std::size_t i = 0; i < n; ++i) join(a[i], b[i]);
}

template <class M, class T, Merge how>
void join_mean(M& a, const M& b, Field<M, T, how> f) {
  if constexpr (how == Merge::mean) {
    const double weight = a.capacity_s + b.capacity_s;
    T& mean = a.*f.member;
    mean = weight > 0 ? (mean * a.capacity_s + b.*f.member * b.capacity_s) / weight : std::max(mean, b.*f.member);
  }
}

template <class M, class T, Merge how>
void join_field(M& a, const M& b, Field<M, T, how> f) {
  if constexpr (how == Merge::join) join(a.*f.member, b.*f.member);
  if constexpr (how == Merge::largest) a.*f.member = std::max(a.*f.member, b.*f.member);
}

template <Measured M>
void join(M& a, const M& b) {
  for_each_field<M>([&](const auto& f) { join_mean(a, b, f); });  // before the weights are added up themselves
  for_each_field<M>([&](const auto& f) { join_field(a, b, f); });
}

}  // namespace

void TokenSlices::add(double at_s, double count) {
  while (at_s >= length_s * static_cast<double>(kMost)) {
    if (tokens.size() % 2 != 0) tokens.push_back(0.0);
    for (std::size_t i = 0; i < tokens.size() / 2; ++i) tokens[i] = tokens[2 * i] + tokens[2 * i + 1];
    tokens.resize(tokens.size() / 2);
    length_s *= 2;
  }
  const auto slice = static_cast<std::size_t>(at_s / length_s);
  if (tokens.size() <= slice) tokens.resize(slice + 1, 0.0);
  tokens[slice] += count;
}

void DraftLengthMeasurement::add(std::int64_t chosen) {
  const auto at = static_cast<std::size_t>(chosen);
  if (rounds.size() <= at) rounds.resize(at + 1, 0);
  rounds[at] += 1;
}

void merge(Measurements& a, const Measurements& b) {
  join(a, b);
}

const engine::Sample& times_of(const Measurements& measured, SloMetric metric) {
  switch (metric) {
    case SloMetric::ttft:
      return measured.ttft_s;
    case SloMetric::tpot:
      return measured.tpot_s;
    case SloMetric::itl:
      return measured.largest_gap_s;
    case SloMetric::e2e:
      break;
  }
  return measured.e2e_s;
}

}  // namespace kvsim::serving
