#include "planner/capacity/next_cheaper.h"

#include <algorithm>

#include <fmt/format.h>

#include "planner/capacity/nearest_miss.h"

namespace kvsim::planner::capacity {
namespace {

std::optional<double> cost_of(const CapacityPlan& plan, const Configuration& c, std::int64_t replicas) {
  const Purchase purchase = purchase_for(c.scenario, replicas, 0);
  return hourly_cost(plan.request.prices, c.machine, replicas * c.gpus_per_replica(), purchase.dram_gb,
                     purchase.storage_gb)
      .total();
}

std::string missed(const Configuration& c, const Probe* probe) {
  return probe ? describe_misses(*probe, c.scenario.serving.slo) : std::string();
}

const Probe* lowest_if_any(const Configuration& c) {
  const auto found = std::min_element(c.probes.begin(), c.probes.end(),
                                      [](const Probe& a, const Probe& b) { return a.rate < b.rate; });
  return found == c.probes.end() ? nullptr : &*found;
}

/// What of this configuration would be bought instead, for less than `below` USD/h if it can be; none where it is the
/// same as what it needs.
std::optional<NextCheaper> alternative(const CapacityPlan& plan, const Configuration& c, double below) {
  NextCheaper a;
  a.configuration = &c;
  std::optional<double> usd;
  if (c.search.rate <= 0) {
    if (!c.problem.empty()) return std::nullopt;
    usd = cost_of(plan, c, 1);
    a.why = missed(c, lowest_if_any(c));
  } else if (plan.request.rate) {
    if (!c.fleet) return std::nullopt;
    for (a.replicas = c.fleet->replicas - 1; a.replicas > 0; --a.replicas) {
      usd = cost_of(plan, c, a.replicas);
      if (!usd || *usd < below) break;
    }
    if (a.replicas - (c.fleet->n_minus_1 ? 1 : 0) < 1) return std::nullopt;
    a.why = a.replicas + 1 == c.fleet->replicas && c.fleet->fails
                ? missed(c, &*c.fleet->fails)
                : fmt::format("each sustains {:.3g} requests/s; just above it {}", c.rate_per_replica(),
                              missed(c, c.first_failure()));
  } else {
    usd = c.cost.total();
    a.rate = c.rate_per_replica();
    a.why = missed(c, c.first_failure());
  }
  if (!usd) return std::nullopt;
  a.usd_per_hour = *usd;
  return a;
}

}  // namespace

std::optional<NextCheaper> next_cheaper(const CapacityPlan& plan) {
  const Configuration& best = plan.configurations.front();
  const std::optional<double> of_best = plan.request.rate && best.fleet ? best.fleet->cost.total() : best.cost.total();
  std::optional<NextCheaper> next;
  if (!of_best) return next;
  for (const Configuration& c : plan.configurations) {
    auto a = alternative(plan, c, *of_best);
    if (!a || a->usd_per_hour >= *of_best || (next && a->usd_per_hour <= next->usd_per_hour)) continue;
    next = std::move(a);
  }
  return next;
}

}  // namespace kvsim::planner::capacity
