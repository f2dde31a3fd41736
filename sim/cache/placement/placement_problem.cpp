#include "sim/cache/placement/placement_problem.h"

#include <algorithm>

#include "models/placement/option_pool.h"
#include "models/placement/quality_curves.h"
#include "sim/cache/placement/utility_placement.h"

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

namespace {

// The least that is needed around a placement: tables, and bytes by tier.
class Insertions {
 public:
  Insertions(const PlacementProblem& problem, const models::UtilitySpec& spec)
      : problem_(problem),
        profiled_(problem.pool.size()),
        used_(problem.tiers.size(), 0),
        placement_(objects_, problem.pool, profiled_, problem.tiers, spec, problem.prefill_s_per_full_byte) {}

  void insert(std::size_t i) {
    const PlacementProblem::Object& o = problem_.objects[i];
    const auto id = static_cast<ObjectId>(i);
    CachedObject object;
    object.key = i;
    object.full_bytes = o.full_bytes;
    object.curve = profiled_.add(o.quality_by_option);
    objects_.push_back(object);
    for (std::int64_t n = 0; n < o.accesses; ++n) placement_.used(id, {});
    apply(placement_.place_new(id, 0));
    for (TierIndex tier = 0; tier < problem_.tiers.size(); ++tier) {
      const std::int64_t capacity = problem_.tiers[tier].capacity_bytes;
      while (used_[tier] > capacity) apply(*placement_.relieve(tier, id, used_[tier] - capacity));
    }
  }

  [[nodiscard]] const ObjectTable& objects() const { return objects_; }

 private:
  void apply(const Change& change) {
    CachedObject& object = objects_[change.object];
    const TierIndex from = object.tier;
    if (from != kNoTier) used_[from] -= problem_.pool.bytes(object.option, object.full_bytes);
    object.tier = change.tier;
    object.option = change.tier == kNoTier ? models::OptionIndex{0} : change.option;
    if (change.tier == kNoTier) {
      object.quality = 1;
      if (from != kNoTier) placement_.dropped(change.object, from);
      return;
    }
    object.quality = std::min(object.quality, profiled_.quality(object.curve, object.option));
    used_[object.tier] += problem_.pool.bytes(object.option, object.full_bytes);
    placement_.moved(change.object, from);
  }

  const PlacementProblem& problem_;
  ObjectTable objects_;
  models::QualityTable profiled_;
  std::vector<std::int64_t> used_;  // bytes by tier
  UtilityPlacement placement_;
};

}  // namespace

GreedyPlacement greedy_placement(const PlacementProblem& problem, models::UtilityVariant variant) {
  models::UtilitySpec spec;
  spec.alpha_s = problem.alpha_s;
  spec.variant = variant;
  spec.recompute = true;  // the problem allows objects that are not stored
  Insertions insertions(problem, spec);
  for (std::size_t i = 0; i < problem.objects.size(); ++i) insertions.insert(i);

  GreedyPlacement result;
  for (std::size_t i = 0; i < problem.objects.size(); ++i) {
    const CachedObject& object = insertions.objects()[i];
    result.assignment.push_back({object.tier, object.option});
    result.quality.push_back(object.quality);
    const double lost =
        object.tier == kNoTier ? 0 : problem.objects[i].quality_by_option[object.option] - object.quality;
    result.utility += place_utility(problem, i, result.assignment.back()) -
                      models::utility_s(problem.alpha_s, lost, 0, static_cast<double>(problem.objects[i].accesses));
  }
  return result;
}

}  // namespace kvsim::cache
