// The placement of a few objects as a closed problem: the multiple-choice knapsack that placements by utility solve
// greedily, so that one can say how far from the best they end up.
#pragma once

#include <cstdint>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/placement_spec.h"
#include "sim/cache/placement/configurations.h"
#include "sim/cache/placement/placement.h"

namespace kvsim::cache {

/// At the start all objects are whole and in no tier.
struct PlacementProblem {
  struct Object {
    std::int64_t full_bytes = 0;
    std::int64_t accesses = 1;             ///< its frequency
    std::vector<float> quality_by_option;  ///< in [0, 1], in the pool's order
  };
  std::vector<Object> objects;
  std::vector<TierFacts> tiers;  ///< 0 is the highest; `next` must lead through all of them
  models::OptionPool pool;
  double alpha_s = 10;                 ///< of UtilitySpec
  double prefill_s_per_full_byte = 0;  ///< of being dropped
};

/// One place for each object; tier kNoTier: dropped.
using Assignment = std::vector<Configurations::Place>;

/// Utility in s of an object (all its accesses) in a place, reached from the whole object at once.
double place_utility(const PlacementProblem& problem, std::size_t object, Configurations::Place place);

/// Sum over all objects, in s.
double total_utility(const PlacementProblem& problem, const Assignment& assignment);

/// Whether every tier can hold what is assigned to it.
bool feasible(const PlacementProblem& problem, const Assignment& assignment);

struct ExactPlacement {
  Assignment assignment;     ///< the best that was found; feasible
  double utility = 0;        ///< its total, in s
  double bound = 0;          ///< no feasible assignment has more: equal to `utility` where that is proven best
  std::int64_t nodes = 0;    ///< of the search tree
  bool proven_best = false;  ///< the search ended before the limit
};

/// Branch and bound; upper bounds from the Lagrangian relaxation of the capacities, whose best multipliers give the
/// bound of the linear programme (each relaxed choice is integral: A. M. Geoffrion, "Lagrangean relaxation for integer
/// programming", 1974). Searches at most `node_limit` nodes; beyond, the bound is still true, but no longer tight.
ExactPlacement best_placement(const PlacementProblem& problem, std::int64_t node_limit = 1'000'000);

/// Final state of UtilityPlacement when the objects, used so many times each, are inserted one after the other. Each
/// goes where place_new() says. Then every tier that overflows is relieved, from the highest down.
struct GreedyPlacement {
  Assignment assignment;
  std::vector<float> quality;  ///< by object: lower than its option's where it was compressed twice
  double utility = 0;          ///< in s, with those
};
GreedyPlacement greedy_placement(const PlacementProblem& problem, models::UtilityVariant variant);

}  // namespace kvsim::cache
