// Random small placement problems, and their answer by trying everything.
#pragma once

#include <cstdint>

#include "sim/cache/placement/placement_problem.h"

namespace kvsim::cache {

struct ProblemSize {
  std::size_t objects = 4;
  std::size_t tiers = 2;
  std::size_t options = 3;  // beside the whole
  bool smooth = true;       // quality falls with what is kept, as measured curves do; else it is any
};

PlacementProblem random_problem(std::uint64_t seed, const ProblemSize& size);

/// The most utility of any feasible assignment, by enumeration: (tiers x options + 1)^objects of them.
double most_utility(const PlacementProblem& problem);

}  // namespace kvsim::cache
