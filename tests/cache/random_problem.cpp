#include "tests/cache/random_problem.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "sim/engine/random.h"

namespace kvsim::cache {

namespace {

using engine::RandomStream;

void add_options(PlacementProblem& problem, std::size_t options, RandomStream& draw) {
  while (problem.pool.size() < options + 1) {
    models::StorageOption option;
    option.name = std::to_string(problem.pool.size());
    option.keep = draw.uniform() < 0.3 ? 1 : 0.05 + 0.9 * draw.uniform();
    if (option.keep == 1 || draw.uniform() < 0.3) {
      option.quantiser = draw.uniform() < 0.5 ? "q4" : "q8";
      option.element_ratio = option.quantiser == "q4" ? 0.28 : 0.53;
      option.decompress_s_per_full_byte = 1e-12;
    } else {
      option.method = draw.uniform() < 0.5 ? "kvzip" : "knorm";
    }
    problem.pool.add(option);
  }
}

void add_tiers(PlacementProblem& problem, std::size_t tiers, double all_bytes, RandomStream& draw) {
  double bandwidth = 20e9 + 40e9 * draw.uniform();
  for (std::size_t t = 0; t < tiers; ++t) {
    TierFacts tier;
    tier.name = std::to_string(t);
    tier.read_bytes_per_s = bandwidth;
    tier.read_latency_s = 1e-4 * static_cast<double>(t);
    tier.next = t + 1 < tiers ? static_cast<TierIndex>(t + 1) : kNoTier;
    const bool unlimited = t + 1 == tiers && draw.uniform() < 0.5;
    if (!unlimited) tier.capacity_bytes = std::llround(all_bytes * (0.05 + 0.45 * draw.uniform()));
    bandwidth /= 2 + 10 * draw.uniform();
    problem.tiers.push_back(tier);
  }
}

}  // namespace

PlacementProblem random_problem(std::uint64_t seed, const ProblemSize& size) {
  RandomStream draw(seed, "placement problem");
  PlacementProblem problem;
  problem.alpha_s = 0.5 + 15 * draw.uniform();
  problem.prefill_s_per_full_byte = 1e-9 * (0.05 + draw.uniform());
  add_options(problem, size.options, draw);
  double all_bytes = 0;
  for (std::size_t i = 0; i < size.objects; ++i) {
    PlacementProblem::Object object;
    object.full_bytes = std::llround(draw.lognormal(2e9, 1));
    object.accesses = 1 + static_cast<std::int64_t>(draw.zipf(30, 1.0));
    all_bytes += static_cast<double>(object.full_bytes);
    const double sensitivity = 0.2 + 0.6 * draw.uniform();
    for (std::size_t o = 0; o < problem.pool.size(); ++o) {
      const models::StorageOption& option = problem.pool[static_cast<models::OptionIndex>(o)];
      const double lost = size.smooth
                              ? sensitivity * (0.5 + draw.uniform()) * std::pow((1 - option.bytes_ratio()) / 0.9, 2)
                              : draw.uniform();
      object.quality_by_option.push_back(o == 0 ? 1.0F : static_cast<float>(std::max(0.0, 1 - lost)));
    }
    problem.objects.push_back(std::move(object));
  }
  add_tiers(problem, size.tiers, all_bytes, draw);
  return problem;
}

namespace {

double most_from(const PlacementProblem& problem, std::size_t object, std::vector<std::int64_t>& left) {
  if (object == problem.objects.size()) return 0;
  double most = place_utility(problem, object, {}) + most_from(problem, object + 1, left);
  for (std::size_t t = 0; t < problem.tiers.size(); ++t) {
    for (std::size_t o = 0; o < problem.pool.size(); ++o) {
      const Configurations::Place place{static_cast<TierIndex>(t), static_cast<models::OptionIndex>(o)};
      const std::int64_t bytes = problem.pool.bytes(place.option, problem.objects[object].full_bytes);
      if (bytes > left[t]) continue;
      left[t] -= bytes;
      most = std::max(most, place_utility(problem, object, place) + most_from(problem, object + 1, left));
      left[t] += bytes;
    }
  }
  return most;
}

}  // namespace

double most_utility(const PlacementProblem& problem) {
  std::vector<std::int64_t> left;
  for (const TierFacts& tier : problem.tiers) left.push_back(tier.capacity_bytes);
  return most_from(problem, 0, left);
}

}  // namespace kvsim::cache
