// The best use of two pools: rates on every path, self-consistent with the batches that they make.
//
// T_tok depends on the batch of each pool, the batch on the rates, and the rates come from an LP with T_tok in its
// coefficients. A plan is a fixed point: rates that are optimal at batches B, and whose occupied slots per GPU are B
// (counted as at least 1 where T_tok is concerned, for a GPU that decodes at all decodes for somebody). Where there are
// several, it is the one with the highest throughput among those found (consistent_batches.h says how thoroughly).
//
// With PathProblem::steps it is the best of all batches instead (plan_by_steps), and always converges.
//
// By steps, more of any resource makes no fewer tokens, on all of the thousands of plausible machines tried. As
// published that holds of GPUs, HBM and its bandwidth, not of links: slots that wait for a link count as batch
// (docs/findings.md). With paths left out and machines beyond any that exist (10 TB of weights, 100,000 slots) rare
// exceptions were seen.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "planner/paths/path_lp.h"
#include "planner/paths/path_problem.h"
#include "sim/scenario/scenario.h"

namespace kvsim::planner {

/// Above it, nothing is claimed to have converged.
inline constexpr double kPathResidual = 1e-6;

struct PathPlan {
  double tokens_per_s = 0;
  double requests_per_s = 0;
  PathRates n{};            ///< requests/s
  PerPool occupancy;        ///< occupied slots per GPU under `n`; 0 for an empty pool
  PerPool batch;            ///< what T_tok assumed: between 1 and B_max
  ResourceFigures price{};  ///< tokens/s per unit of limit; 0 for an empty pool, which has none
  ResourceFigures use{};    ///< seconds of each resource used per second
  PathLp lp;                ///< at `batch`
  bool converged = false;
  double residual = 0;  ///< max over pools |B assumed - B implied| / max(1, B)
  /// The batches sit where N2 = ceil(Nd/x) jumps: n mixes requests with N2 and with one verification more, so that n is
  /// optimal for batches a hair to either side, and `lp` shows only one of them.
  bool on_a_step = false;
  std::size_t fixed_points = 0;  ///< found
  std::size_t lps_solved = 0;
};

/// `go_on`, which may be empty, is asked before each LP of a plan by steps; once it says no, the plan is any that is
/// feasible. Throws Infeasible where no path can serve a single request, naming what is missing.
PathPlan plan_paths(const PathProblem& problem, const std::function<bool()>& go_on = {});

/// The LP at given batches.
PathLp path_lp(const PathProblem& problem, const PerPool& batch);

// Gain by more of one resource.

struct Purchase {
  std::string name;         ///< "local_gpu", "BW_h", ...
  std::string description;  ///< "one more local GPU", "10 % more of BW_h"
  double tokens_per_s = 0;
  bool converged = false;
};

/// The whole fixed point anew with one more GPU in either pool, and with 10 % more of BW_h, BW_l, BW_hbm and HBM. (The
/// LP's shadow prices hold the coefficients still, which all depend on these.)
std::vector<Purchase> purchases(const PathProblem& problem);

/// Purchases for a scenario with pools: one more node in either pool, and 10 % more of both links (with what a pool's
/// nodes share), of memory and of its bandwidth.
std::vector<Purchase> purchases(const scenario::Scenario& scenario);

// Dispatch policy "planned": weights from the path LP.

/// The scenario with dispatch policy "weighted" and the LP's requests/s by path as weights. Throws Infeasible.
/// Precondition: requests take paths. `go_on` is that of plan_paths.
scenario::Scenario with_planned_weights(const scenario::Scenario& scenario, const std::function<bool()>& go_on = {});

/// Scenario with the weights of a plan that was made of it.
scenario::Scenario with_weights(const scenario::Scenario& scenario, const PathRates& n);

/// With the best weights among the paths that serve with the full KV; nothing where it has no such paths, or no others.
std::optional<scenario::Scenario> with_full_kv_weights(const scenario::Scenario& scenario,
                                                       const std::function<bool()>& go_on = {});

/// The rates, less those of paths that next to no request takes.
PathRates path_weights(const PathRates& n);

/// Whether the scenario's weights are still to be planned.
bool needs_planned_weights(const scenario::Scenario& scenario);

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

/// `batch` is the work in a step under the plan's rates: as little as agrees with them. Precondition: some path can be
/// taken.
PathPlan plan_by_steps(const PathProblem& problem, const std::function<bool()>& go_on);

/// Value that is maximised over batches from 1 to `top` (both at least 1), local and remote.
struct BatchSearch {
  std::array<double, 2> top{1, 1};
  std::function<double(const std::array<double, 2>&)> value;
};

/// The best of the summits above the four highest peaks of a grid of 16 lines per pool, evenly in log B. Each is
/// climbed by golden sections, one pool's within the other's, which follows ridges across both pools; the best is known
/// to 1e-7.
std::array<double, 2> best_batches(const BatchSearch& search);

}  // namespace kvsim::planner
