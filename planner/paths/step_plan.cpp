#include "planner/paths/path_plan.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "sim/engine/statistics.h"

namespace kvsim::planner {
namespace {

using Batches = std::array<double, 2>;

constexpr int kLines = 16;
constexpr double kGolden = 0.6180339887498949;
constexpr std::size_t kStarts = 4;  // peaks of the grid that are climbed
constexpr int kSummitSteps = 6;     // towards a summit, each as wide as the grid
constexpr double kCoarse = 5e-3;    // of log B, where a summit is looked for
constexpr double kFine = 1e-7;      // where it is found
constexpr double kAround = 0.012;   // how far from there

struct Best {
  Batches at{};  // log B
  double value = 0;
};

/// The largest of probe(log B) between two ends, which are tried, too. Precondition: from <= to.
template <class Probe>
Best golden_section(double from, double to, double narrow, const Probe& probe) {
  Best best = probe(from);
  const auto better = [&best](const Best& candidate) {
    if (candidate.value > best.value) best = candidate;
    return candidate.value;
  };
  if (!(to > from)) return best;
  better(probe(to));
  double a = to - kGolden * (to - from), b = from + kGolden * (to - from);
  double at_a = better(probe(a)), at_b = better(probe(b));
  while (to - from > narrow) {
    if (at_a >= at_b) {
      to = b;
      b = a;
      at_b = at_a;
      a = to - kGolden * (to - from);
      at_a = better(probe(a));
    } else {
      from = a;
      a = b;
      at_a = at_b;
      b = from + kGolden * (to - from);
      at_b = better(probe(b));
    }
  }
  return best;
}

class Climber {
 public:
  explicit Climber(const BatchSearch& search)
      : search_(search), top_{std::log(std::max(1.0, search.top[0])), std::log(std::max(1.0, search.top[1]))} {}

  Batches best() {
    std::vector<Best> peaks = peaks_of_grid();
    std::stable_sort(peaks.begin(), peaks.end(), [](const Best& a, const Best& b) { return a.value > b.value; });
    std::vector<Best> summits;
    for (const Best& peak : peaks) {
      const bool known = std::any_of(summits.begin(), summits.end(), [&](const Best& s) { return near(peak, s); });
      if (known || summits.size() == kStarts) continue;
      summits.push_back(climbed(peak));
    }
    Best best = *std::max_element(summits.begin(), summits.end(),
                                  [](const Best& a, const Best& b) { return a.value < b.value; });
    best = around(best, {kAround, kAround}, kFine);
    return {std::exp(best.at[0]), std::exp(best.at[1])};
  }

 private:
  [[nodiscard]] Best probe(double x, double y) const { return {{x, y}, search_.value({std::exp(x), std::exp(y)})}; }

  /// The best nearby, one pool within the other.
  [[nodiscard]] Best around(const Best& centre, const Batches& reach, double narrow) const {
    const auto from = [&](std::size_t p) { return std::max(0.0, centre.at[p] - reach[p]); };
    const auto to = [&](std::size_t p) { return std::min(top_[p], centre.at[p] + reach[p]); };
    const Best found = golden_section(from(0), to(0), narrow, [&](double x) {
      return golden_section(from(1), to(1), narrow, [&](double y) { return probe(x, y); });
    });
    return found.value > centre.value ? found : centre;
  }

  /// Between neighbours on the grid.
  [[nodiscard]] Batches reach() const { return {top_[0] / (kLines - 1), top_[1] / (kLines - 1)}; }

  [[nodiscard]] bool near(const Best& a, const Best& b) const {
    return std::abs(a.at[0] - b.at[0]) <= 1.5 * reach()[0] && std::abs(a.at[1] - b.at[1]) <= 1.5 * reach()[1];
  }

  [[nodiscard]] Best climbed(Best at) const {
    const Batches reach = this->reach();
    for (int step = 0; step < kSummitSteps; ++step) {
      const Best next = around(at, reach, kCoarse);
      const bool inside =
          std::abs(next.at[0] - at.at[0]) < reach[0] * kGolden && std::abs(next.at[1] - at.at[1]) < reach[1] * kGolden;
      at = next;
      if (inside) break;
    }
    return at;
  }

  /// No neighbour, diagonal ones included, is better.
  [[nodiscard]] std::vector<Best> peaks_of_grid() const {
    const int columns = top_[0] > 0 ? kLines : 1, rows = top_[1] > 0 ? kLines : 1;
    std::vector<Best> grid;
    for (int i = 0; i < columns; ++i) {
      for (int j = 0; j < rows; ++j) grid.push_back(probe(top_[0] * i / (kLines - 1), top_[1] * j / (kLines - 1)));
    }
    const auto at = [&](int i, int j) -> const Best& { return grid[static_cast<std::size_t>(i * rows + j)]; };
    std::vector<Best> peaks;
    for (int i = 0; i < columns; ++i) {
      for (int j = 0; j < rows; ++j) {
        bool highest = true;
        for (int k = std::max(0, i - 1); k <= std::min(columns - 1, i + 1); ++k) {
          for (int l = std::max(0, j - 1); l <= std::min(rows - 1, j + 1); ++l) {
            highest = highest && at(k, l).value <= at(i, j).value;
          }
        }
        if (highest) peaks.push_back(at(i, j));
      }
    }
    return peaks;
  }

  const BatchSearch& search_;
  Batches top_;  // log B
};

}  // namespace

std::array<double, 2> best_batches(const BatchSearch& search) {
  return Climber(search).best();
}

namespace {

constexpr int kMostRefinements = 1000;
constexpr double kSettled = 1e-9;
constexpr double kSlack = 1e-7;
constexpr int kMostShorter = 20;

double figure(const ResourceFigures& figures, Resource resource) {
  return figures[static_cast<std::size_t>(resource)];
}

/// Work in a step, as these rates at these batches imply: the GPU's busy share of it.
PerPool implied(const PathLp& lp, const PathRates& n, const PerPool& batch) {
  const ResourceFigures use = resource_use(lp.costs, n);
  return {batch.local * engine::share(figure(use, Resource::local_gpu), figure(lp.limits, Resource::local_gpu)),
          batch.remote * engine::share(figure(use, Resource::remote_gpu), figure(lp.limits, Resource::remote_gpu))};
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
  for (int i = 0; i < kMostRefinements; ++i) {
    const PerPool next = implied(path_lp(problem, batch), n, batch);
    const PerPool lower{std::clamp(next.local, 1.0, batch.local), std::clamp(next.remote, 1.0, batch.remote)};
    if (!feasible(path_lp(problem, lower), n)) return batch;  // shorter steps leave P2 time for more drafts
    const double moved = std::max(1 - lower.local / batch.local, 1 - lower.remote / batch.remote);
    batch = lower;
    if (moved < kSettled) break;
  }
  return batch;
}

/// As many requests as fit in their smallest form, each with the most work that one brings into a step.
PerPool most_work(const PathProblem& problem) {
  const StepCosts& c = *problem.steps;
  const PathLp lp = path_lp(problem, {1, 1});
  const auto used = [&lp](bool models::PathTraits::*in_pool) {
    return std::any_of(kAllPaths.begin(), kAllPaths.end(),
                       [&](Path path) { return lp.usable(path) && models::traits(path).*in_pool; });
  };
  const auto most = [](double slots, double work, double smallest) {
    return std::max(1.0, slots * std::max(1.0, work) / std::min(1.0, smallest));
  };
  PerPool work{1, 1};
  if (used(&models::PathTraits::on_local)) {
    work.local = most(c.slots.local, c.verify_work, std::min(c.verifying_slots, c.rereading_slots));
  }
  if (used(&models::PathTraits::on_remote)) {
    work.remote = most(c.slots.remote, c.draft_work, std::min(c.drafting_slots, c.streaming_slots));
  }
  return work;
}

PathPlan best_up_to(const PathProblem& problem, const PerPool& top, const std::function<bool()>& go_on) {
  PathPlan plan;
  const BatchSearch search{{top.local, top.remote}, [&](const std::array<double, 2>& at) {
                             if (go_on && !go_on()) return 0.0;
                             ++plan.lps_solved;
                             return solve(path_lp(problem, {at[0], at[1]})).requests_per_s;
                           }};
  const std::array<double, 2> best = best_batches(search);
  const PathLpSolution solution = solve(path_lp(problem, {best[0], best[1]}));
  const auto K = static_cast<double>(problem.request.K);
  plan.n = solution.n;
  plan.requests_per_s = solution.requests_per_s;
  plan.tokens_per_s = K * plan.requests_per_s;
  for (std::size_t r = 0; r < kResources; ++r) plan.price[r] = K * solution.price[r];
  plan.batch = settled(problem, plan.n, {best[0], best[1]});
  plan.lp = path_lp(problem, plan.batch);
  plan.use = resource_use(plan.lp.costs, plan.n);
  plan.occupancy = {engine::share(figure(plan.use, Resource::local_mem), static_cast<double>(problem.pools.local)),
                    engine::share(figure(plan.use, Resource::remote_mem), static_cast<double>(problem.pools.remote))};
  plan.fixed_points = 1;
  return plan;
}

/// Paths P1, each with the P2 that begins like it.
constexpr std::array<std::pair<Path, Path>, 2> kDeferred{
    {{Path::P1_cached, Path::P2_cached}, {Path::P1_stateless, Path::P2_stateless}}};

/// With a column for requests on P2 whose rest never gets the link: they go the way of P1, in the memory of P2.
PathProblem with_deferred(const PathProblem& problem) {
  PathProblem wider = problem;
  if (problem.paths.empty()) return wider;
  const bool p1 = problem.allows(Path::P1_cached) || problem.allows(Path::P1_stateless);
  if (p1 && problem.steps->drafting_slots < problem.steps->streaming_slots) return wider;  // P1's columns are P1's own
  wider.steps->drafting_slots = std::max(problem.steps->drafting_slots, problem.steps->streaming_slots);
  for (const auto& [like, path] : kDeferred) {
    if (problem.allows(path) && !problem.allows(like)) wider.paths.push_back(like);
  }
  return wider.paths.size() > problem.paths.size() ? wider : problem;
}

void count_deferred(PathPlan& plan, const PathProblem& problem) {
  for (const auto& [like, path] : kDeferred) {
    if (!problem.allows(like)) plan.n[models::index_of(path)] += std::exchange(plan.n[models::index_of(like)], 0);
  }
}

bool streams(const PathPlan& plan) {
  return plan.n[models::index_of(Path::P2_cached)] > 0 || plan.n[models::index_of(Path::P2_stateless)] > 0;
}

bool stateless(Path path) {
  return traits(path).drafts && !traits(path).cached;
}

/// Without the stateless paths, and so without the room that is kept for their reloads.
std::optional<PathProblem> without_reloads(const PathProblem& problem) {
  PathProblem held = problem;
  held.steps->held_slots = 0;
  held.paths.clear();
  for (const Path path : kAllPaths) {
    if (problem.allows(path) && !stateless(path)) held.paths.push_back(path);
  }
  return held.paths.empty() ? std::nullopt : std::optional(held);
}

PathPlan plan_at_once(const PathProblem& given, const std::function<bool()>& go_on) {
  const PathProblem problem = with_deferred(given);
  PerPool top = most_work(problem);
  std::size_t solved = 0;
  for (int shorter = 0;; ++shorter) {
    PathPlan plan = best_up_to(problem, top, go_on);
    solved += plan.lps_solved;
    plan.lps_solved = solved;
    // A step may be shorter than assumed, never longer. On P2 alone shorter ones cost: more verifications.
    const PerPool work = implied(plan.lp, plan.n, plan.batch);
    const PerPool longer{plan.batch.local / std::max(1.0, work.local) - 1,
                         plan.batch.remote / std::max(1.0, work.remote) - 1};
    plan.residual = std::max({0.0, -longer.local, -longer.remote});
    if (streams(plan)) plan.residual = std::max({plan.residual, longer.local, longer.remote});
    plan.converged = plan.residual <= kPathResidual;
    if (plan.converged || shorter == kMostShorter) {
      count_deferred(plan, given);
      return plan;
    }
    if (longer.local > kPathResidual) top.local = std::max(1.0, work.local);
    if (longer.remote > kPathResidual) top.remote = std::max(1.0, work.remote);
  }
}

}  // namespace

PathPlan plan_by_steps(const PathProblem& problem, const std::function<bool()>& go_on) {
  PathPlan plan = plan_at_once(problem, go_on);
  if (!(problem.steps->held_slots > 0)) return plan;
  const auto held = without_reloads(problem);
  if (!held) return plan;
  PathPlan other = plan_at_once(*held, go_on);
  const std::size_t solved = plan.lps_solved + other.lps_solved;
  PathPlan& better = other.converged && (!plan.converged || other.tokens_per_s >= plan.tokens_per_s) ? other : plan;
  better.lps_solved = solved;
  return better;
}

}  // namespace kvsim::planner
