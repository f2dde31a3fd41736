#include "planner/explain/explain.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "planner/explain/alternatives.h"
#include "planner/explain/difference.h"
#include "planner/explain/margins.h"
#include "planner/explain/paired_runs.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner {
namespace {

using serving::Measurements;

/// Gains below this share of the throughput are no reason to call a resource binding: 10 % of it bring a twentieth of
/// what they would if nothing else mattered.
constexpr double kNoticeable = 0.05 * Elasticity::kStep;

double ratio(double part, double of) {
  return of > 0 ? part / of : 0.0;
}

TimeShares shares_of(const Measurements& m) {
  return {ratio(m.hbm_bound_s, m.capacity_s), ratio(m.compute_bound_s, m.capacity_s),
          ratio(m.link_bound_s, m.capacity_s), ratio(m.idle_s, m.capacity_s), ratio(m.memory_short_s, m.capacity_s)};
}

Utilisation utilisation_of(const Measurements& m, const scenario::Scenario& planned) {
  Utilisation u;
  u.gpu_busy = ratio(m.busy_s, m.capacity_s);
  const auto link = [&m](const char* name) {
    const auto it = m.links.find(name);
    return it == m.links.end() ? 0.0 : ratio(it->second.busy_s, it->second.capacity_s);
  };
  u.link_to_gpu = link("host_to_gpu");
  u.link_to_host = link("gpu_to_host");
  u.hbm_peak_bytes = static_cast<double>(m.hbm_peak_bytes);
  u.hbm_mean_bytes = m.hbm_mean_bytes;
  const serving::KvCapacity capacity = serving::kv_capacity(planned.serving);
  u.hbm_bytes = static_cast<double>(capacity.weights_bytes + capacity.bytes);
  return u;
}

Stalls stalls_of(const Measurements& m) {
  Stalls s;
  s.request_iterations = m.drafting_request_iterations + m.verifying_request_iterations + m.stalled_request_iterations;
  const auto share = [&s](std::uint64_t part) {
    return ratio(static_cast<double>(part), static_cast<double>(s.request_iterations));
  };
  s.drafting = share(m.drafting_request_iterations);
  s.verifying = share(m.verifying_request_iterations);
  s.late_reload = share(m.late_request_iterations);
  s.otherwise = share(m.stalled_request_iterations - m.late_request_iterations);
  s.rounds = m.rounds;
  s.late_rounds = m.late_reloads;
  s.preemptions = m.preemptions;
  s.link_wait_s = std::numeric_limits<double>::quiet_NaN();
  const auto link = m.links.find("host_to_gpu");
  if (link != m.links.end() && link->second.transfers > 0) {
    s.link_wait_s = link->second.wait_s / static_cast<double>(link->second.transfers);
  }
  return s;
}

/// A factor's place among the simulated variants; the first is the plan as it is.
struct Variants {
  std::size_t kept = 0, replanned = 0;
};

std::optional<Factor> binding_of(const std::vector<Elasticity>& elasticities) {
  const Elasticity* largest = nullptr;
  for (const Elasticity& e : elasticities) {
    const Change& change = e.better();
    const double noise = std::isnan(change.half_width_95) ? 0.0 : change.half_width_95;
    if (!name_of(e.factor).of_machine || change.relative <= std::max(noise, kNoticeable)) continue;
    if (!largest || change.relative > largest->better().relative) largest = &e;
  }
  return largest ? std::optional(largest->factor) : std::nullopt;
}

std::vector<std::string> remarks_of(const scenario::Scenario& s, std::int64_t replications) {
  std::vector<std::string> remarks;
  const auto& machine = s.serving.cluster.profile.machine;
  if (machine && machine->architecture != s.serving.cluster.gpu.architecture) {
    remarks.emplace_back(
        "the kernel profile is of another architecture, so fixed kernel times scale with memory bandwidth: the gain "
        "from HBM bandwidth includes theirs");
  }
  if (replications == 1) {
    remarks.emplace_back("one replication: intervals are of differences between twentieths of the measured time");
  }
  return remarks;
}

}  // namespace

Explanation explain(const scenario::Scenario& scenario, const ScenarioPlan& plan, const ExplainOptions& options) {
  Explanation result;
  result.plan = plan.optimum;
  std::vector<scenario::Scenario> runs{with_plan(scenario, plan.optimum)};
  std::vector<Variants> places;
  for (const FactorName& f : kFactors) {
    if (!f.has_elasticity) continue;
    const scenario::Scenario changed = scaled(scenario, f.factor, 1 + Elasticity::kStep);
    Elasticity e;
    e.factor = f.factor;
    e.plan = optimum_of(changed, plan.request).value_or(plan.optimum);
    e.same_plan = same_plan(e.plan, plan.optimum);
    Variants place{runs.size(), runs.size()};
    runs.push_back(with_plan(changed, plan.optimum));
    if (!e.same_plan) {
      place.replanned = runs.size();
      runs.push_back(with_plan(changed, e.plan));
    }
    places.push_back(place);
    result.elasticities.push_back(std::move(e));
  }

  PairedOptions paired;
  paired.replications =
      options.replications.value_or(std::max(scenario.replications, ExplainOptions::kLeastReplications));
  paired.jobs = options.jobs;
  paired.go_on = options.go_on;
  const std::vector<VariantRuns> measured = simulate_paired(runs, paired);
  for (const VariantRuns& variant : measured) result.interrupted = result.interrupted || variant.interrupted;

  const VariantRuns& base = measured.front();
  const engine::ConfidenceInterval throughput = engine::confidence_95(base.tokens_per_s);
  result.tokens_per_s = throughput.mean;
  result.half_width_95 = throughput.half_width_95;
  result.replications = static_cast<std::size_t>(paired.replications);
  result.shares = shares_of(base.measured);
  result.utilisation = utilisation_of(base.measured, runs.front());
  result.stalls = stalls_of(base.measured);
  for (std::size_t i = 0; i < places.size(); ++i) {
    result.elasticities[i].kept = paired_change(measured[places[i].kept], base);
    result.elasticities[i].replanned = paired_change(measured[places[i].replanned], base);
  }
  result.binding = binding_of(result.elasticities);
  result.load_bound = plan.load && plan.load->sustainable();
  result.margins = margins(scenario, plan, options.jobs, options.go_on);
  result.searched = margins_searched(plan);
  result.alternatives = alternatives(scenario, plan);
  result.remarks = remarks_of(scenario, paired.replications);
  if (options.go_on && !options.go_on()) result.interrupted = true;
  return result;
}

}  // namespace kvsim::planner
