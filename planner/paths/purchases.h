// What more of one resource would bring.
#pragma once

#include <string>
#include <vector>

#include "planner/paths/path_problem.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

struct Purchase {
  std::string name;         ///< "local_gpu", "BW_h", ...
  std::string description;  ///< "one more local GPU", "10 % more of BW_h"
  double tokens_per_s = 0;
  bool converged = false;
};

/// The whole fixed point anew with one more GPU in either pool, and with 10 % more of BW_h, BW_l, BW_hbm and HBM. (The
/// LP's shadow prices hold the coefficients still, which all depend on these.)
std::vector<Purchase> purchases(const PathProblem& problem);

/// The same of a scenario with pools: one more node in either pool, and 10 % more of both links (with what a pool's
/// nodes share), of memory and of its bandwidth.
std::vector<Purchase> purchases(const scenario::Scenario& scenario);

}  // namespace kvsim::planner
