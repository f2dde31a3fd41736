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

/// The best of a grid of up to 12 lines per pool, evenly in log B, improved by golden sections around it, one pool's
/// within the other's: exact (to 1e-7) where the function has one peak in each pool's batch between neighbours on the
/// grid, ridges across both pools included.
std::array<double, 2> best_batches(const BatchSearch& search);

}  // namespace kvsim::planner
