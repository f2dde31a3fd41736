#include "tests/planner/paths/request_time.h"

#include <algorithm>
#include <cstdint>

#include "models/acceptance/acceptance.h"
#include "planner/paths/path_costs.h"

namespace kvsim::planner::testing {
namespace {

/// A step with this work and no other.
double alone(const StepLine& line, double work) {
  return line.at(work);
}

RequestTime decoded(const LoadCost& load, const StepLine& line, double K) {
  return {load.seconds(), 0, alone(line, 1), load.seconds() + K * alone(line, 1)};
}

/// P2 where the rest of the KV is there before the local node could verify: the remote node does it itself.
RequestTime never_verified(const PathProblem& problem, double load_s, double draft_s) {
  const StepCosts& c = *problem.steps;
  const std::int64_t x = std::min(problem.request.x, problem.request.K);
  const double rest_s = c.remote_rest.seconds();
  const auto drafted = std::min(x, static_cast<std::int64_t>(rest_s / draft_s));
  const double accepted = models::AcceptanceModel(problem.acceptance, 1, problem.request.x).expected_accepted(drafted);
  const double left = std::max(0.0, static_cast<double>(problem.request.K) - accepted - 1);
  // Its pass over the drafts, in the time of a full verification, and what has been drafted less than a token.
  const double verified_s = alone(c.remote, c.verify_work);
  return {load_s, 0, 0, load_s + rest_s + verified_s + left * alone(c.remote, 1)};
}

}  // namespace

RequestTime request_time_as_printed(const PathProblem& problem) {
  const StepCosts& c = *problem.steps;
  const auto K = static_cast<double>(problem.request.K);
  const auto x = static_cast<double>(problem.request.x);
  RequestTime t;
  t.load_s = c.remote_compressed.link_s;
  t.rounds = K / (x * accepted_share(problem));
  t.cycle_s = std::max(x * alone(c.remote, c.draft_work), c.local_full.link_s) + alone(c.local, c.verify_work);
  t.total_s = t.load_s + t.rounds * t.cycle_s;
  return t;
}

RequestTime request_time(const PathProblem& problem, Path path) {
  const StepCosts& c = *problem.steps;
  const models::PathTraits& traits = models::traits(path);
  const auto K = static_cast<double>(problem.request.K);
  if (!traits.drafts) {
    return traits.on_local ? decoded(c.local_full, c.local, K) : decoded(c.remote_full, c.remote, K);
  }
  const double draft_s = alone(c.remote, c.draft_work);
  const double drafting = c.drafts / c.rounds * draft_s;
  const double first = static_cast<double>(std::min(problem.request.x, problem.request.K)) * draft_s;
  const double hidden = traits.cached ? drafting : std::max(drafting, c.local_reread.seconds());
  RequestTime t;
  t.load_s = c.remote_compressed.seconds() + c.decompress_s;
  t.cycle_s = hidden + c.joining * draft_s + c.round_trip_s + (1 + c.joining) * alone(c.local, c.verify_work);
  // The first round of cached verification waits for its KV, which was sent for when the request came.
  const double late = traits.cached ? std::max(0.0, c.local_full.seconds() - t.load_s - first) : 0.0;
  if (traits.streams_rest) {
    const double verifiable_s = traits.cached ? first + late : std::max(first, c.local_reread.seconds());
    if (c.remote_rest.seconds() < verifiable_s) return never_verified(problem, t.load_s, draft_s);
  }
  const double share = traits.streams_rest ? std::min(1.0, c.remote_rest.seconds() / (c.rounds * t.cycle_s)) : 1.0;
  t.rounds = share * c.rounds;
  t.total_s = t.load_s + late + t.rounds * t.cycle_s + (1 - share) * K * alone(c.remote, 1);
  return t;
}

}  // namespace kvsim::planner::testing
