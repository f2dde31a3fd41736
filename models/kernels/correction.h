// Factors by which a form is off over regions of sizes: a few, between which is interpolated.
#pragma once

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "models/schema/object_schema.h"

namespace kvsim::models {

/// Factors on a full grid of sizes, multilinear in the logarithms of the sizes and held at the grid's ends. A form of a
/// few physical figures is right about how times grow, and off by the same few percent wherever a library takes the
/// same kernel: one factor a region says that, and is smooth by how it is fitted (models/calibration). The factors
/// belong to the machine and the libraries that were measured; another architecture does without them.
struct Correction {
  static constexpr std::size_t kMostAxes = 4;
  std::array<std::vector<double>, kMostAxes> axes;  ///< ascending sizes of each; those behind the last are empty
  std::vector<double> factors;                      ///< the last axis fastest

  [[nodiscard]] bool empty() const { return factors.empty(); }
  /// One size an axis, further ones are ignored; 1 where there is no correction.
  [[nodiscard]] double at(std::span<const double> sizes) const;
  [[nodiscard]] double at(std::initializer_list<double> sizes) const {
    return at(std::span<const double>(sizes.begin(), sizes.size()));
  }
  [[nodiscard]] std::size_t dimensions() const;
  /// The correction over the first axes, the last `sizes.size()` of them held at `sizes`.
  [[nodiscard]] Correction with_last(std::initializer_list<double> sizes) const;
};

/// The nodes around a point and what each counts, at most 16 of them; the counts add up to one.
struct CornerWeight {
  std::size_t node;
  double weight;
};
using Corners = std::array<CornerWeight, std::size_t{1} << Correction::kMostAxes>;
/// Fills `corners` and returns how many there are. `sizes`: one an axis, positive.
std::size_t corners_of(const Correction& grid, std::span<const double> sizes, Corners& corners);

/// A correction over two axes, as a step asks it: the axes in logarithms, once, and what is asked most looked up.
class CorrectionPlane {
 public:
  CorrectionPlane() = default;
  /// `correction` has two axes, or is empty. Places of x at the first few hundred multiples of `unit` are prepared.
  explicit CorrectionPlane(const Correction& correction, double unit = 1);
  [[nodiscard]] bool empty() const { return factors_.empty(); }
  /// Precondition: not empty; x, y > 0.
  [[nodiscard]] double at(double x, double y) const;

 private:
  /// Between which sizes of an axis, and how far.
  struct Place {
    std::size_t below = 0;
    double share = 0;
  };
  [[nodiscard]] static Place place_on(const std::vector<double>& log_axis, double size);

  double unit_ = 1;
  std::vector<Place> places_;  ///< of unit_, 2 unit_, ...
  std::vector<double> log_x_;
  std::vector<double> log_y_;
  std::vector<double> factors_;
};

/// The keys of a correction over these axes: a list of sizes for each, and `factors`.
[[nodiscard]] schema::ObjectSchema<Correction> correction_schema(std::initializer_list<const char*> axes);

}  // namespace kvsim::models
