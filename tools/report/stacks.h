// Bars of policies or runs, each made of the same parts.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/report/input.h"
#include "tools/report/report.h"

namespace kvsim::report {

struct Stacks {
  std::string id, title, caption;
  std::string x_title;             ///< with the unit of the axis
  double unit = 1;                 ///< what of the figures is one of that unit
  std::vector<std::string> parts;  ///< names, from the left
  std::string (*print)(double) = nullptr;
  /// Of a result, the figure of a part; not a number where there is none.
  std::function<double(const Json& result, std::size_t part)> of;
  std::function<std::string(const Json& result)> behind = {};  ///< written behind the bar; none: nothing
};

/// A bar a run, labelled with its policy.
[[nodiscard]] Plot stacked(const std::vector<Simulated>& runs, Stacks stacks);

}  // namespace kvsim::report
