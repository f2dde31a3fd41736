#include "planner/paths/path_plan.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "models/schema/units.h"
#include "planner/infeasible.h"
#include "planner/paths/consistent_batches.h"
#include "planner/paths/scenario_problem.h"

namespace kvsim::planner {
namespace {

constexpr double kTight = 1e-10;  // agreement of batches, rates, limits and the optimum that ends the search
constexpr double kNear = 1e-8;    // where more than this is missing at the end, the LP itself jumps there

/// T_tok sees a batch of at least 1.
PerPool counted(const Batches& at) {
  return {std::max(1.0, at[0]), std::max(1.0, at[1])};
}

class PathPlanner {
 public:
  explicit PathPlanner(const PathProblem& problem) : problem_(problem), slots_(slots_per_gpu(problem.symbols)) {}

  PathPlan best() {
    const ConsistencySearch search{{problem_.pools.local > 0 ? slots_ : 0, problem_.pools.remote > 0 ? slots_ : 0},
                                   [this](const Batches& at) { return respond(at); },
                                   [this](const ConsistentBatches& point) { return agrees(point, kTight); }};
    const std::vector<ConsistentBatches> points = find_consistent_batches(search);
    PathPlan best;
    for (const ConsistentBatches& point : points) {
      PathPlan plan = plan_at(point);
      const bool better = plan.converged != best.converged ? plan.converged
                          : plan.converged                 ? plan.tokens_per_s > best.tokens_per_s
                                                           : plan.residual < best.residual;
      if (&point == points.data() || better) best = plan;
    }
    best.fixed_points = points.size();
    best.lps_solved = solved_;
    return best;
  }

 private:
  BatchResponse respond(const Batches& at) {
    const PathLp lp = path_lp(problem_, counted(at));
    const PathLpSolution solution = solve(lp);
    ++solved_;
    return {occupancy(lp.costs, solution.n), solution.n};
  }

  [[nodiscard]] Batches occupancy(const PathCosts& costs, const PathRates& n) const {
    const ResourceFigures use = resource_use(costs, n);
    const auto per_gpu = [](double slots, std::int64_t gpus) {
      return gpus > 0 ? slots / static_cast<double>(gpus) : 0.0;
    };
    return {per_gpu(use[static_cast<std::size_t>(Resource::local_mem)], problem_.pools.local),
            per_gpu(use[static_cast<std::size_t>(Resource::remote_mem)], problem_.pools.remote)};
  }

  [[nodiscard]] double residual(const Batches& assumed, const Batches& implied) const {
    double worst = 0;
    for (std::size_t p = 0; p < 2; ++p) {
      worst = std::max(worst, std::abs(assumed[p] - implied[p]) / std::max(1.0, assumed[p]));
    }
    return worst;
  }

  /// Whether `n` is what the LP at `at` could have answered, to a relative `tolerance`: feasible, consistent and as
  /// good as the optimum.
  bool agrees(const ConsistentBatches& point, double tolerance) {
    const PathLp lp = path_lp(problem_, counted(point.at));
    if (residual(point.at, occupancy(lp.costs, point.n)) > tolerance) return false;
    const ResourceFigures use = resource_use(lp.costs, point.n);
    for (std::size_t r = 0; r < kResources; ++r) {
      if (use[r] > lp.limits[r] * (1 + tolerance)) return false;
    }
    double served = 0;
    for (const double n : point.n) served += n;
    ++solved_;
    return served >= solve(lp).requests_per_s * (1 - tolerance);
  }

  PathPlan plan_at(const ConsistentBatches& point) {
    PathPlan plan;
    plan.on_a_step = !agrees(point, kNear);
    plan.n = point.n;
    for (const double n : plan.n) plan.requests_per_s += n;
    const auto K = static_cast<double>(problem_.request.K);
    plan.tokens_per_s = K * plan.requests_per_s;
    plan.batch = counted(point.at);
    plan.lp = path_lp(problem_, plan.batch);
    plan.use = resource_use(plan.lp.costs, plan.n);
    const PathLpSolution at_batch = solve(plan.lp);
    for (std::size_t r = 0; r < kResources; ++r) plan.price[r] = K * at_batch.price[r];
    const Batches implied = plan.on_a_step ? point.occupancy : occupancy(plan.lp.costs, plan.n);
    plan.occupancy = {implied[0], implied[1]};
    plan.residual = residual(point.at, implied);
    if (plan.on_a_step) plan.residual = std::max(plan.residual, point.width);
    plan.converged = plan.residual <= kPathResidual;
    return plan;
  }

  const PathProblem& problem_;
  double slots_;
  std::size_t solved_ = 0;
};

void refuse_infeasible(const PathProblem& problem) {
  const PathSymbols& symbols = problem.symbols;
  const PoolSizes& pools = problem.pools;
  if (pools.local == 0 && pools.remote == 0) {
    throw Infeasible("no plan: neither pool has a GPU; one in either pool would do");
  }
  const PerPool slots = slots_per_gpu(problem);
  if (!(std::max(slots.local, slots.remote) > 0)) {
    const double missing = symbols.M + symbols.KV - symbols.HBM;
    throw Infeasible(
        fmt::format("no plan: weights and the KV of one request do not fit a GPU; it needs {:.4g} GB more HBM per GPU "
                    "({:.4g} + {:.4g} GB against {:.4g})",
                    missing / kGB, symbols.M / kGB, symbols.KV / kGB, symbols.HBM / kGB));
  }
  const PathLp lp = path_lp(problem, {1, 1});
  if (std::any_of(kAllPaths.begin(), kAllPaths.end(), [&lp](Path path) { return lp.usable(path); })) return;
  // Both pools cannot be empty here, so every path lacks the same one.
  throw Infeasible(fmt::format("no plan: every path that is allowed needs a {} GPU, and there is none; one would do",
                               pools.local == 0 ? "local" : "remote"));
}

}  // namespace

PathLp path_lp(const PathProblem& problem, const PerPool& batch) {
  PathLp lp{path_costs(problem, batch), path_limits(problem), {}};
  for (const Path path : kAllPaths) lp.allowed[static_cast<std::size_t>(path)] = problem.allows(path);
  return lp;
}

PathPlan plan_paths(const PathProblem& problem, const std::function<bool()>& go_on) {
  refuse_infeasible(problem);
  return problem.steps ? plan_by_steps(problem, go_on) : PathPlanner(problem).best();
}

namespace {

constexpr double kMore = 1.1;

void widen(serving::GroupConfig& pool) {
  pool.storage_link.read_bytes_per_s.value *= kMore;
  if (pool.shared_bytes_per_s) *pool.shared_bytes_per_s *= kMore;
}

}  // namespace

std::vector<Purchase> purchases(const PathProblem& problem) {
  struct Offer {
    const char* name;
    const char* description;
    void (*buy)(PathProblem&);
  };
  constexpr double more = 1.1;
  static constexpr std::array<Offer, 6> offers{{
      {"local_gpu", "one more local GPU", [](PathProblem& p) { ++p.pools.local; }},
      {"remote_gpu", "one more remote GPU", [](PathProblem& p) { ++p.pools.remote; }},
      {"BW_h", "10 % more bandwidth to the local pool (BW_h)", [](PathProblem& p) { p.symbols.BW_h *= more; }},
      {"BW_l", "10 % more bandwidth to the remote pool (BW_l)", [](PathProblem& p) { p.symbols.BW_l *= more; }},
      {"BW_hbm", "10 % more HBM bandwidth", [](PathProblem& p) { p.symbols.BW_hbm *= more; }},
      {"HBM", "10 % more HBM", [](PathProblem& p) { p.symbols.HBM *= more; }},
  }};
  std::vector<Purchase> bought;
  for (const Offer& offer : offers) {
    PathProblem changed = problem;
    offer.buy(changed);
    const PathPlan plan = plan_paths(changed);
    bought.push_back({offer.name, offer.description, plan.tokens_per_s, plan.converged});
  }
  return bought;
}

std::vector<Purchase> purchases(const scenario::Scenario& scenario) {
  struct Offer {
    const char* name;
    const char* description;
    void (*buy)(serving::ClusterConfig&);
  };
  using Cluster = serving::ClusterConfig;
  static constexpr std::array<Offer, 6> offers{{
      {"local_node", "one more local node", [](Cluster& c) { ++c.with(&serving::Roles::verify).count; }},
      {"remote_node", "one more remote node", [](Cluster& c) { ++c.with(&serving::Roles::draft).count; }},
      {"local_link", "10 % more bandwidth to the local pool",
       [](Cluster& c) { widen(c.with(&serving::Roles::verify)); }},
      {"remote_link", "10 % more bandwidth to the remote pool",
       [](Cluster& c) { widen(c.with(&serving::Roles::draft)); }},
      {"memory_bandwidth", "10 % more GPU memory bandwidth",
       [](Cluster& c) {
         for (serving::GroupConfig& group : c.groups) group.gpu.memory_bytes_per_s.value *= kMore;
       }},
      {"memory", "10 % more GPU memory",
       [](Cluster& c) {
         for (serving::GroupConfig& group : c.groups) {
           group.gpu.memory_bytes.value = std::llround(static_cast<double>(group.gpu.memory_bytes.value) * kMore);
         }
       }},
  }};
  std::vector<Purchase> bought;
  for (const Offer& offer : offers) {
    scenario::Scenario changed = scenario;
    offer.buy(changed.serving.cluster);
    const PathPlan plan = plan_paths(path_problem(changed));
    bought.push_back({offer.name, offer.description, plan.tokens_per_s, plan.converged});
  }
  return bought;
}

namespace {

/// Least share of all requests on a path. A smaller rest of an optimum is no use of it, but would keep memory for it.
constexpr double kLeastShare = 1e-4;

}  // namespace

scenario::Scenario with_planned_weights(const scenario::Scenario& scenario, const std::function<bool()>& go_on) {
  return with_weights(scenario, plan_paths(path_problem(scenario), go_on).n);
}

scenario::Scenario with_weights(const scenario::Scenario& scenario, const PathRates& n) {
  std::vector<std::string> weights;
  const PathRates rates = path_weights(n);
  for (const Path path : kAllPaths) {
    weights.push_back(fmt::format("{}: {}", models::path_name(path), rates[models::index_of(path)]));
  }
  return scenario::with(scenario, {{"dispatch.policy", "weighted"},
                                   {"dispatch.weights", fmt::format("{{{}}}", fmt::join(weights, ", "))}});
}

std::optional<scenario::Scenario> with_full_kv_weights(const scenario::Scenario& scenario,
                                                       const std::function<bool()>& go_on) {
  PathProblem problem = path_problem(scenario);
  const std::size_t drafting = std::erase_if(problem.paths, [](Path path) { return traits(path).drafts; });
  if (drafting == 0 || problem.paths.empty()) return std::nullopt;
  return with_weights(scenario, plan_paths(problem, go_on).n);
}

PathRates path_weights(const PathRates& n) {
  const double least = kLeastShare * std::accumulate(n.begin(), n.end(), 0.0);
  PathRates weights = n;
  for (double& weight : weights) weight = weight < least ? 0 : weight;
  return weights;
}

bool needs_planned_weights(const scenario::Scenario& scenario) {
  const serving::DispatchConfig* dispatcher = scenario.serving.cluster.topology().dispatcher;
  return dispatcher && dispatcher->policy == "planned";
}

}  // namespace kvsim::planner
