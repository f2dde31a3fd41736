// How values become places along an axis, and which of them are written beside it.
#pragma once

#include <string>
#include <vector>

namespace kvsim::plot {

enum class ScaleKind { linear, logarithmic };

/// An axis with its range. Of a logarithmic one, both ends are above 0.
struct Scale {
  ScaleKind kind = ScaleKind::linear;
  double least = 0;
  double most = 1;  ///< above `least`

  /// 0 at `least`, 1 at `most`; what lies outside is put at the nearer end.
  [[nodiscard]] double share(double value) const;
  /// Round numbers within the range, ascending: about `wanted` of them.
  [[nodiscard]] std::vector<double> ticks(std::size_t wanted = 6) const;
};

/// A scale that holds all `values` (those that are not finite, beyond 1e300, or that it cannot show are not looked at),
/// with round ends. A linear one begins at 0 where no value is below.
[[nodiscard]] Scale scale_for(ScaleKind kind, const std::vector<double>& values);

/// A tick as it is written: "0.25", "1,500", "2e+06".
[[nodiscard]] std::string tick_text(double value);

}  // namespace kvsim::plot
