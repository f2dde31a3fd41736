#include "planner/paths/purchases.h"

#include <array>
#include <functional>

#include "planner/paths/path_plan.h"

namespace kvsim::planner {

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

}  // namespace kvsim::planner
