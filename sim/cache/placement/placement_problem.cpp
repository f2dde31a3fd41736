#include "sim/cache/placement/placement_problem.h"

#include "models/placement/utility.h"

namespace kvsim::cache {

double place_utility(const PlacementProblem& problem, std::size_t object, Configurations::Place place) {
  const PlacementProblem::Object& o = problem.objects[object];
  const auto frequency = static_cast<double>(o.accesses);
  if (place.tier == kNoTier) {
    return models::dropped_utility_s(problem.alpha_s,
                                     models::prefill_ttft_s(o.full_bytes, problem.prefill_s_per_full_byte), frequency);
  }
  const TierFacts& tier = problem.tiers[place.tier];
  const double ttft_s =
      models::load_ttft_s(tier.read_latency_s, tier.read_bytes_per_s, problem.pool.bytes(place.option, o.full_bytes),
                          o.full_bytes, problem.pool[place.option].decompress_s_per_full_byte);
  return models::utility_s(problem.alpha_s, o.quality_by_option[place.option], ttft_s, frequency);
}

double total_utility(const PlacementProblem& problem, const Assignment& assignment) {
  double sum = 0;
  for (std::size_t i = 0; i < assignment.size(); ++i) sum += place_utility(problem, i, assignment[i]);
  return sum;
}

bool feasible(const PlacementProblem& problem, const Assignment& assignment) {
  std::vector<std::int64_t> used(problem.tiers.size(), 0);
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    if (assignment[i].tier == kNoTier) continue;
    used[assignment[i].tier] += problem.pool.bytes(assignment[i].option, problem.objects[i].full_bytes);
  }
  for (std::size_t t = 0; t < used.size(); ++t) {
    if (used[t] > problem.tiers[t].capacity_bytes) return false;
  }
  return true;
}

}  // namespace kvsim::cache
