// Problems with measured rows, in words; empty: none. Internal to the checks of samples.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "models/calibration/samples.h"
#include "models/kernels/forms.h"

namespace kvsim::models {

/// How far above the datasheet's peak a row may be: what clocks and rounding of the figures explain.
inline constexpr double kAbovePeak = 1.05;

/// How much faster than the memory an L2 cache can be at most.
inline constexpr double kFastestCache = 5;

[[nodiscard]] std::string bad_time(double seconds);
/// More than `factor` times the memory bandwidth.
[[nodiscard]] std::string above_bandwidth(double bytes, double seconds, const Machine& machine,
                                          double factor = kAbovePeak);

struct RowSize {
  const char* name;
  double value;
  double least = 1;
};
/// Problem with the first size that cannot be counted.
[[nodiscard]] std::string bad_size(std::initializer_list<RowSize> sizes);

/// Takes out rows that are no times, of which implied(row, machine) says something, that contradict another row of the
/// same work(row), or that repeat one to the last digit: copies are no further measurements.
template <class Sample, class Implied, class Work>
void refuse_rows(std::vector<Sample>& rows, const Machine& machine, std::vector<RefusedRow>& refused,
                 const Implied& implied, const Work& work) {
  constexpr double kContradiction = 2;
  std::vector<Sample> good;
  for (Sample& row : rows) {
    std::string reason = bad_time(row.seconds);
    if (reason.empty()) reason = implied(row, machine);
    if (reason.empty()) {
      good.push_back(std::move(row));
    } else {
      refused.push_back({row.from.origin, std::move(reason)});
    }
  }
  // Rows that contradict each other all go: which of them is right is not known.
  std::map<decltype(work(good.front())), std::pair<double, double>> range;
  for (const Sample& row : good) {
    auto& [low, high] = range.try_emplace(work(row), row.seconds, row.seconds).first->second;
    low = std::min(low, row.seconds);
    high = std::max(high, row.seconds);
  }
  rows.clear();
  std::map<std::pair<decltype(work(good.front())), double>, schema::Origin> first;
  for (Sample& row : good) {
    const auto [low, high] = range.at(work(row));
    const auto [same, is_new] = first.try_emplace({work(row), row.seconds}, row.from.origin);
    if (high > kContradiction * low) {
      refused.push_back(
          {row.from.origin, fmt::format("rows of the same work say {:.4g} us and {:.4g} us", low * 1e6, high * 1e6)});
    } else if (!is_new) {
      refused.push_back(
          {row.from.origin, fmt::format("the same work and time as {}, to the last digit", same->second.str())});
    } else {
      rows.push_back(std::move(row));
    }
  }
}

/// Refuses impossible rows of one machine (device_physics.cpp).
void refuse_impossible(DeviceSamples& samples, const Machine& machine, std::vector<RefusedRow>& refused);
void refuse_impossible(std::vector<AttentionVariant>& rows, const Machine& machine, std::vector<RefusedRow>& refused);

}  // namespace kvsim::models
