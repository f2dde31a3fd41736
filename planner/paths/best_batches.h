// The batches at which a function of both pools' batches is largest.
#pragma once

#include <array>
#include <functional>

namespace kvsim::planner {

/// What is maximised over batches from 1 to `top` (both at least 1), local and remote.
struct BatchSearch {
  std::array<double, 2> top{1, 1};
  std::function<double(const std::array<double, 2>&)> value;
};

/// The best of the summits above the four highest peaks of a grid of 16 lines per pool, evenly in log B. Each is
/// climbed by golden sections, one pool's within the other's, which follows ridges across both pools; the best is known
/// to 1e-7.
std::array<double, 2> best_batches(const BatchSearch& search);

}  // namespace kvsim::planner
