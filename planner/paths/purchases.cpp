#include "planner/paths/purchases.h"

#include <array>
#include <cmath>
#include <functional>

#include "planner/paths/path_plan.h"
#include "planner/paths/scenario_problem.h"

namespace kvsim::planner {
namespace {

constexpr double kMore = 1.1;

void widen(serving::PoolConfig& pool) {
  pool.link.read_bytes_per_s.value *= kMore;
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
      {"local_node", "one more local node", [](Cluster& c) { ++c.pools->local.nodes; }},
      {"remote_node", "one more remote node", [](Cluster& c) { ++c.pools->remote.nodes; }},
      {"local_link", "10 % more bandwidth to the local pool", [](Cluster& c) { widen(c.pools->local); }},
      {"remote_link", "10 % more bandwidth to the remote pool", [](Cluster& c) { widen(c.pools->remote); }},
      {"memory_bandwidth", "10 % more GPU memory bandwidth",
       [](Cluster& c) { c.gpu.memory_bytes_per_s.value *= kMore; }},
      {"memory", "10 % more GPU memory",
       [](Cluster& c) {
         c.gpu.memory_bytes.value = std::llround(static_cast<double>(c.gpu.memory_bytes.value) * kMore);
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

}  // namespace kvsim::planner
