#include "planner/paths/step_plan.h"

#include <algorithm>
#include <cmath>

#include "planner/paths/best_batches.h"

namespace kvsim::planner {
namespace {

constexpr int kMostSettling = 1000;
constexpr double kSettled = 1e-9;
constexpr double kSlack = 1e-7;

double figure(const ResourceFigures& figures, Resource resource) {
  return figures[static_cast<std::size_t>(resource)];
}

double share(double use, double of) {
  return of > 0 ? use / of : 0.0;
}

/// Work in a step, as these rates at these batches imply: the GPU's busy share of it.
PerPool implied(const PathLp& lp, const PathRates& n, const PerPool& batch) {
  const ResourceFigures use = resource_use(lp.costs, n);
  return {batch.local * share(figure(use, Resource::local_gpu), figure(lp.limits, Resource::local_gpu)),
          batch.remote * share(figure(use, Resource::remote_gpu), figure(lp.limits, Resource::remote_gpu))};
}

bool feasible(const PathLp& lp, const PathRates& n) {
  const ResourceFigures use = resource_use(lp.costs, n);
  for (std::size_t r = 0; r < kResources; ++r) {
    if (use[r] > lp.limits[r] * (1 + kSlack)) return false;
  }
  return true;
}

/// Where a link binds, steps could be longer than they need to be at no loss: down to what the rates imply.
PerPool settled(const PathProblem& problem, const PathRates& n, PerPool batch) {
  for (int i = 0; i < kMostSettling; ++i) {
    const PerPool next = implied(path_lp(problem, batch), n, batch);
    const PerPool lower{std::clamp(next.local, 1.0, batch.local), std::clamp(next.remote, 1.0, batch.remote)};
    if (!feasible(path_lp(problem, lower), n)) return batch;  // shorter steps leave P2 time for more drafts
    const double moved = std::max(1 - lower.local / batch.local, 1 - lower.remote / batch.remote);
    batch = lower;
    if (moved < kSettled) break;
  }
  return batch;
}

BatchSearch search_of(const PathProblem& problem, std::size_t& solved) {
  const StepCosts& c = *problem.steps;
  // As many requests as fit in their smallest form, each with the most work that one brings into a step.
  const double local =
      c.slots.local * std::max(1.0, c.verify_work) / std::min({1.0, c.verifying_slots, c.rereading_slots});
  const double remote =
      c.slots.remote * std::max(1.0, c.draft_work) / std::min({1.0, c.drafting_slots, c.streaming_slots});
  return {
      {problem.pools.local > 0 ? std::max(1.0, local) : 1.0, problem.pools.remote > 0 ? std::max(1.0, remote) : 1.0},
      [&problem, &solved](const std::array<double, 2>& at) {
        ++solved;
        return solve(path_lp(problem, {at[0], at[1]})).requests_per_s;
      }};
}

}  // namespace

PathPlan plan_by_steps(const PathProblem& problem) {
  PathPlan plan;
  const std::array<double, 2> best = best_batches(search_of(problem, plan.lps_solved));
  const PathLpSolution solution = solve(path_lp(problem, {best[0], best[1]}));
  const auto K = static_cast<double>(problem.request.K);
  plan.n = solution.n;
  plan.requests_per_s = solution.requests_per_s;
  plan.tokens_per_s = K * plan.requests_per_s;
  for (std::size_t r = 0; r < kResources; ++r) plan.price[r] = K * solution.price[r];
  plan.batch = settled(problem, plan.n, {best[0], best[1]});
  plan.lp = path_lp(problem, plan.batch);
  plan.use = resource_use(plan.lp.costs, plan.n);
  plan.occupancy = {share(figure(plan.use, Resource::local_mem), static_cast<double>(problem.pools.local)),
                    share(figure(plan.use, Resource::remote_mem), static_cast<double>(problem.pools.remote))};
  // A step may be shorter than assumed, never longer.
  const PerPool work = implied(plan.lp, plan.n, plan.batch);
  plan.residual = std::max({0.0, work.local / plan.batch.local - 1, work.remote / plan.batch.remote - 1});
  plan.converged = plan.residual <= kPathResidual;
  plan.fixed_points = 1;
  return plan;
}

}  // namespace kvsim::planner
