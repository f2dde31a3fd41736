// Times that depend on a number of tokens alone, worked out once and looked up every iteration.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace kvsim::models {

/// Seconds of a group of kernels, and how much of them memory bandwidth decides.
struct SplitTime {
  double seconds = 0;
  double memory_bound_s = 0;
};

/// A TokenCurve is worked out at the points of a grid.
enum class CurveGrid : std::uint8_t {
  fine,   ///< every token up to 512, then every 16th
  coarse  ///< every token up to 32, then 16 points an octave: enough for shares of a time
};

/// A TokenCurve holds a time at the tokens of its grid up to 16,384. It is linear in between, and goes on beyond by the
/// slope of its upper half (a single step may lie within a wave of tiles, which one more does not make longer). Never
/// falls: where what it is made from does (a table's last step can leave a ratio that falls a little beyond it), it
/// stays.
class TokenCurve {
 public:
  TokenCurve() = default;

  /// From time_of(tokens), which gives a SplitTime.
  template <class TimeOf>
  explicit TokenCurve(TimeOf&& time_of, CurveGrid grid = CurveGrid::fine) : grid_(grid) {
    const int points = static_cast<int>(position(kLargest)) + 1;
    points_.reserve(static_cast<std::size_t>(points));
    double before = 0;
    for (int i = 0; i < points; ++i) {
      SplitTime t = time_of(tokens_at(i));
      t.seconds = before = std::max(t.seconds, before);
      t.memory_bound_s = std::min(t.memory_bound_s, t.seconds);
      points_.push_back(t);
    }
  }

  [[nodiscard]] bool empty() const { return points_.empty(); }

  /// Precondition: not empty, tokens > 0. Fewer than one token take as long as one.
  [[nodiscard]] SplitTime at(double tokens) const {
    if (tokens > kLargest) return beyond(tokens);
    const double at = position(tokens);
    const auto below = std::min(static_cast<std::size_t>(at), points_.size() - 2);
    const double share = at - static_cast<double>(below);
    const SplitTime& a = points_[below];
    const SplitTime& b = points_[below + 1];
    return {a.seconds + share * (b.seconds - a.seconds),
            a.memory_bound_s + std::min(share, 1.0) * (b.memory_bound_s - a.memory_bound_s)};
  }

 private:
  static constexpr int kDense = 512;
  static constexpr int kStride = 16;
  static constexpr int kLargest = 16384;
  static constexpr int kOctave = 16;  // points of one on the coarse grid

  /// The place of so many tokens among the points, as a fraction between two.
  [[nodiscard]] double position(double tokens) const {
    if (grid_ == CurveGrid::fine) {
      return tokens <= kDense ? std::max(tokens - 1, 0.0) : kDense - 1 + (tokens - kDense) / kStride;
    }
    if (tokens <= 2 * kOctave) return std::max(tokens - 1, 0.0);
    const int octaves = std::ilogb(tokens / kOctave);
    return kOctave * (octaves + std::ldexp(tokens / kOctave, -octaves)) - 1;
  }
  [[nodiscard]] double tokens_at(int point) const {
    if (grid_ == CurveGrid::fine) return point < kDense ? point + 1 : kDense + (point - kDense + 1) * kStride;
    if (point < 2 * kOctave) return point + 1;
    const int octaves = (point + 1) / kOctave - 1, rest = (point + 1) % kOctave;
    return std::ldexp(kOctave + rest, octaves);
  }
  [[nodiscard]] SplitTime beyond(double tokens) const {
    const SplitTime& last = points_.back();
    const SplitTime& half = points_[static_cast<std::size_t>(position(kLargest / 2))];
    const double per_token = (last.seconds - half.seconds) / (kLargest / 2);
    return {last.seconds + (tokens - kLargest) * per_token, last.memory_bound_s};
  }

  CurveGrid grid_ = CurveGrid::fine;
  std::vector<SplitTime> points_;
};

}  // namespace kvsim::models
