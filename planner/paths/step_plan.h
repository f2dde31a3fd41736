// The best use of two pools of nodes whose steps have been timed (PathProblem::steps).
//
// At batches B the steps take s(B), requests hold their slots for so many of them, and the LP's rows of GPU time say
// that the work fits into steps that long: any rates that meet the rows at some B can be had, in steps that are s(B) or
// shorter. (Shorter steps cost nothing, save on P2, where more rounds fit into the time of its transfer: there the
// steps must be as long as assumed, and longer ones are ruled out one search after the other.) So the best plan is the
// LP's optimum at the best B. No fixed point is asked for: with slots held for whole steps, every batch at which the
// GPU row is tight would be one.
//
// The rest of the KV on P2 gives way to first loads: where the link has no time for it, a request goes on as on P1, and
// the plan counts it on P2 all the same.
#pragma once

#include <array>
#include <functional>

#include "planner/paths/path_plan.h"

namespace kvsim::planner {

// The batches at which a function of both pools' batches is largest.

/// What is maximised over batches from 1 to `top` (both at least 1), local and remote.
struct BatchSearch {
  std::array<double, 2> top{1, 1};
  std::function<double(const std::array<double, 2>&)> value;
};

/// The best of the summits above the four highest peaks of a grid of 16 lines per pool, evenly in log B. Each is
/// climbed by golden sections, one pool's within the other's, which follows ridges across both pools; the best is known
/// to 1e-7.
std::array<double, 2> best_batches(const BatchSearch& search);

/// `batch` is the work in a step under the plan's rates: as little as agrees with them. Precondition: some path can be
/// taken.
PathPlan plan_by_steps(const PathProblem& problem);

}  // namespace kvsim::planner
