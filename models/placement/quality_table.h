// Relative task score of every curve (a context's, or one that many objects share) in every storage option.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/placement/option_pool.h"

namespace kvsim::models {

using CurveIndex = std::uint32_t;

class QualityTable {
 public:
  /// For a pool of this many options; no curve yet.
  explicit QualityTable(std::size_t options) : options_(options) {}

  /// Adds a curve: the score in [0, 1] of each option, in the pool's order. Throws std::invalid_argument for another
  /// number of them.
  CurveIndex add(std::span<const float> by_option);

  [[nodiscard]] float quality(CurveIndex curve, OptionIndex option) const {
    return values_[std::size_t{curve} * options_ + option];
  }
  [[nodiscard]] std::span<const float> curve(CurveIndex curve) const {
    return std::span(values_).subspan(std::size_t{curve} * options_, options_);
  }
  /// Replaces a curve: it drifted, or was profiled again.
  void replace(CurveIndex curve, std::span<const float> by_option);

  [[nodiscard]] std::size_t curves() const { return options_ == 0 ? 0 : values_.size() / options_; }
  [[nodiscard]] std::size_t options() const { return options_; }

 private:
  std::size_t options_ = 0;
  std::vector<float> values_;
};

}  // namespace kvsim::models
