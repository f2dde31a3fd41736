// A sequence of n integers that is the largest of a few arithmetic progressions: x_j = max_i (start_i + j step_i). What
// max-plus recurrences of uniform pipelines yield: times of the layers of a forward pass, known without visiting them.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace kvsim::engine {

class ConvexSequence {
 public:
  struct Line {
    std::int64_t start = 0;
    std::int64_t step = 0;
    [[nodiscard]] std::int64_t at(std::int64_t j) const { return start + j * step; }
  };

  /// `length` elements, as yet without a value: add() at least one progression.
  explicit ConvexSequence(std::int64_t length = 0) : length_(length) {}

  /// Raises every element to start + j step where that is larger.
  void add(Line line);
  /// Adds `by` to every element.
  void shift(std::int64_t by);

  [[nodiscard]] std::int64_t length() const { return length_; }
  [[nodiscard]] bool empty() const { return lines_.empty(); }
  [[nodiscard]] std::span<const Line> lines() const { return lines_; }

  // Precondition of all that follow: !empty().

  [[nodiscard]] std::int64_t at(std::int64_t j) const;
  [[nodiscard]] std::int64_t first() const { return at(0); }
  [[nodiscard]] std::int64_t last() const { return at(length_ - 1); }
  /// The smallest j >= 1 with x_j - x_{j-1} > step; length() if there is none. Increments do not fall: O(log length).
  [[nodiscard]] std::int64_t first_faster_than(std::int64_t step) const;
  /// Sum over all elements of x_j - x_0: O(lines squared).
  [[nodiscard]] std::int64_t sum_above_first() const;

 private:
  std::vector<Line> lines_;  // none that another one reaches everywhere
  std::int64_t length_;
};

}  // namespace kvsim::engine
