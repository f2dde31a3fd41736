// A time that depends on a number of tokens alone, worked out once and looked up every iteration.
#pragma once

#include <algorithm>
#include <vector>

namespace kvsim::models {

/// Seconds of a group of kernels, and how much of them memory bandwidth decides.
struct SplitTime {
  double seconds = 0;
  double memory_bound_s = 0;
};

/// Every token up to 512, then every 16th up to 16,384; linear in between, and beyond by the last slope. Never falls:
/// where what it is made from does (a table's last step can leave a ratio that falls a little beyond it), it stays.
class TokenCurve {
 public:
  TokenCurve() = default;

  /// From time_of(tokens), which gives a SplitTime.
  template <class TimeOf>
  explicit TokenCurve(TimeOf&& time_of) {
    points_.reserve(kPoints);
    double before = 0;
    for (int i = 0; i < kPoints; ++i) {
      SplitTime t = time_of(static_cast<double>(i < kDense ? i + 1 : kDense + (i - kDense + 1) * kStride));
      t.seconds = before = std::max(t.seconds, before);
      t.memory_bound_s = std::min(t.memory_bound_s, t.seconds);
      points_.push_back(t);
    }
  }

  [[nodiscard]] bool empty() const { return points_.empty(); }

  /// Precondition: not empty, tokens > 0. Fewer than one token take as long as one.
  [[nodiscard]] SplitTime at(double tokens) const {
    const double position = tokens <= kDense ? std::max(tokens - 1, 0.0) : kDense - 1 + (tokens - kDense) / kStride;
    const auto below = std::min(static_cast<std::size_t>(position), points_.size() - 2);
    const double share = position - static_cast<double>(below);
    const SplitTime& a = points_[below];
    const SplitTime& b = points_[below + 1];
    return {a.seconds + share * (b.seconds - a.seconds),
            a.memory_bound_s + std::min(share, 1.0) * (b.memory_bound_s - a.memory_bound_s)};
  }

 private:
  static constexpr int kDense = 512;
  static constexpr int kStride = 16;
  static constexpr int kLargest = 16384;
  static constexpr int kPoints = kDense + (kLargest - kDense) / kStride;

  std::vector<SplitTime> points_;
};

}  // namespace kvsim::models
