#include "planner/capacity/capacity_plan.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "models/compression/functional.h"
#include "models/schema/error.h"
#include "planner/experiment.h"
#include "planner/parallel.h"
#include "planner/plan/traffic.h"
#include "planner/quality_floor.h"

namespace kvsim::planner::capacity {
namespace {

using scenario::Scenario;
using schema::InputError;

void check(const Scenario& s, const CapacityRequest& request) {
  const serving::SloConfig& slo = s.serving.slo;
  const auto refuse = [&s](const char* key, const std::string& why) {
    throw InputError(fmt::format("{}: {}: {}", s.file, key, why));
  };
  if (s.workload.trace && s.workload.trace->sessions) {
    refuse("workload.trace.sessions",
           "what is searched for is a rate of requests, and turns come when the ones before "
           "are answered: leave it out, or use run");
  }
  if (!s.workload.classes.empty()) {
    refuse("workload.classes",
           "how long a run must be is known for one law of lengths: vary workload.arrivals.rate "
           "with sweep, or give one law");
  }
  if (s.workload.arrivals && s.workload.arrivals->over_time) {
    refuse("workload.arrivals.over_time",
           "a machine is sized for a rate that stays; " + sized_for_the_highest(*s.workload.arrivals));
  }
  if (!slo.any()) {
    throw InputError(fmt::format(
        "{}: no objectives to size for: give slo: {{ttft_p99: 2 s, tpot_p99: 50 ms}}, or --slo ttft_p99=2s", s.file));
  }
  if (s.workload.trace && !(trace_rate(s) > 0)) {
    throw InputError(
        fmt::format("{}: there is no time between the first request and the last, so that no rate can be made of them",
                    s.workload.trace->path));
  }
  if (request.n_minus_1 && !request.rate) {
    throw InputError(load_of(s) == Load::users
                         ? "--n-1 adds a replica to the fleet for so many users: give --users too"
                         : "--n-1 adds a replica to the fleet for a required rate: give --rate too");
  }
  check_sizes(s, request.sizes);
}

/// Prompts made of chunks are told apart by how they come to be on the GPU.
std::string own_policy(const Scenario& scenario) {
  return scenario.workload.chunks ? reuse_policy_name(scenario.serving.prefill) : scenario.serving.decode.policy;
}

std::vector<Configuration> configurations_of(const Scenario& scenario, const CapacityRequest& request) {
  const serving::GroupConfig& own = scenario.serving.cluster.uniform();
  std::vector<MachineRequest> machines = request.machines;
  if (machines.empty()) machines.push_back({own.gpu.name, own.parallel.tensor});
  std::vector<UnderPolicy> policies = request.policies;
  if (policies.empty()) policies.push_back({own_policy(scenario), scenario});
  std::vector<Configuration> all;
  for (const auto& [policy, under] : policies) {
    for (const MachineRequest& machine : machines) {
      for (const SizeChoice& sizes : size_choices(under, request.sizes)) {
        PlacedScenario placed = place(with_sizes(under, sizes), machine);
        Configuration c;
        c.machine = machine.gpu;
        c.tensor_parallel = placed.scenario.serving.cluster.uniform().parallel.tensor;
        c.policy = policy;
        c.sizes = sizes;
        c.scenario = std::move(placed.scenario);
        c.placement = request.machines.empty() ? Placement::own : placed.placement;
        c.problem = std::move(placed.problem);
        all.push_back(std::move(c));
      }
    }
  }
  return all;
}

class Evaluation {
 public:
  Evaluation(const CapacityRequest& request, std::size_t index, int jobs)
      : request_(request), index_(index), jobs_(jobs) {}

  void run(Configuration& c) const {
    search(c);
    Configuration nearest = c;
    while (c.search.rate <= 0 && enlarge(c)) {
      search(c);
      if (nearer(c, nearest)) nearest = c;
    }
    if (c.search.rate <= 0) c = at_size_of(std::move(c), std::move(nearest));
    if (const Probe* best = c.sustained()) price(c, *best);
    c.margin = margin_of(c);
  }

  /// Sizes the fleet of a configuration that sustains a rate.
  void size(Configuration& c) const {
    FleetOptions fleet;
    fleet.required_rate = *request_.rate;
    fleet.replica_rate = c.rate_per_replica();
    fleet.replica_fails_at = c.search.fails_at / static_cast<double>(c.scenario.serving.cluster.replicas());
    fleet.n_minus_1 = request_.n_minus_1;
    ProbeOptions confirming = request_.probe;
    confirming.stage = Stage::confirmation;
    Fleet sized = size_fleet(c.scenario, fleet, confirming, request_.prices, jobs_, request_.watch);
    c.no_fleet = sized.unknown;
    if (!sized.unknown.empty()) return;
    if (sized.found) {
      c.fleet = std::move(sized);
    } else {
      // One replica sustains a rate, and no number of them the required one: a configuration that fails.
      c.too_much = {sized.needed, fleet.required_rate, fleet.replica_rate};
      c.search = {};
      c.search.fails_at = *request_.rate;
      c.probes = {std::move(*sized.fails)};
    }
    c.margin = margin_of(c);
  }

 private:
  [[nodiscard]] ModelMargin margin_of(const Configuration& c) const {
    return model_margin(StatedErrors::built_in(), request_.prices, c.scenario, c.fleet ? &*c.fleet : nullptr,
                        request_.model_confidence);
  }

  static constexpr double kLeastRate = 1e-6;  // requests/s: what an arrival process accepts
  static constexpr double kHighest = 1024;    // times the first guess
  static constexpr std::int64_t kMostGpusTried = 16;

  /// Users are whole ones: a part of one more is none.
  static double whole(const Configuration& c, double rate) {
    return load_of(c.scenario) == Load::users ? std::floor(rate * (1 + 1e-12)) : rate;
  }

  bool probe(Configuration& c, double asked, Stage stage) const {
    const double rate = whole(c, asked);
    const auto known = std::find_if(c.probes.begin(), c.probes.end(),
                                    [&](const Probe& p) { return p.rate == rate && p.stage == stage; });
    if (known != c.probes.end()) return known->passes;
    ProbeOptions options = request_.probe;
    options.stage = stage;
    c.probes.push_back(probe_rate(c.scenario, rate, options, jobs_, request_.watch));
    if (request_.report) request_.report(index_, c.probes.back());
    return c.probes.back().passes;
  }

  void search(Configuration& c) const {
    c.probes.clear();
    RateSearchOptions options;
    options.first_guess = first_guess(c.scenario);
    options.lowest = std::max(lone_rate(c.scenario), kLeastRate);
    options.highest = kHighest * options.first_guess;
    if (load_of(c.scenario) == Load::users) {
      options.highest = static_cast<double>(scenario::kMostClients);
      // Users beyond the slots only wait, which objectives without a wait do not see.
      if (!std::isfinite(longest_time_s(c.scenario.serving.slo, 1))) {
        const auto slots = static_cast<double>(c.scenario.serving.schedule.max_requests);
        options.highest = std::min(options.highest, slots * static_cast<double>(c.scenario.serving.cluster.replicas()));
      }
      options.first_guess = std::clamp(options.first_guess, 1.0, options.highest);
    }
    options.tolerance = request_.probe.tolerance;
    c.search = search_rate([&](double rate) { return probe(c, rate, Stage::search); }, options);
    c.search.rate = whole(c, c.search.rate);
    c.search.fails_at = whole(c, c.search.fails_at);
    if (c.search.rate <= 0 || c.scenario.trace) return;  // there is no longer run of a trace
    const ConfirmedRate confirmed =
        confirm_rate(c.search.rate, [&](double rate) { return probe(c, rate, Stage::confirmation); },
                     {options.lowest, options.tolerance});
    if (confirmed.fails_at > 0) c.search.fails_at = whole(c, confirmed.fails_at);
    c.search.rate = whole(c, confirmed.rate);
  }

  /// The nearest miss of a configuration of which no size sustained anything.
  static Configuration at_size_of(Configuration all, Configuration nearest) {
    all.failed_sizes.push_back(all.tensor_parallel);
    nearest.failed_sizes = std::move(all.failed_sizes);
    std::erase(nearest.failed_sizes, nearest.tensor_parallel);
    return nearest;
  }

  /// Twice the GPUs per replica where their number is ours to choose; false where it is not, or that cannot run.
  static bool enlarge(Configuration& c) {
    if (c.placement != Placement::smallest || 2 * c.tensor_parallel > kMostGpusTried) return false;
    PlacedScenario larger = place(c.scenario, {c.machine, 2 * c.tensor_parallel});
    if (!larger.problem.empty()) return false;
    c.failed_sizes.push_back(c.tensor_parallel);
    c.tensor_parallel *= 2;
    c.scenario = std::move(larger.scenario);
    return true;
  }

  void price(Configuration& c, const Probe& best) const {
    const auto replicas = static_cast<double>(c.scenario.serving.cluster.replicas());
    const Purchase own = purchase_of_one(c.scenario);
    c.dram_gb = own.dram_gb;
    c.ssd_gb = own.storage_gb;
    c.cost = hourly_cost_of_one(request_.prices, c.scenario.serving.cluster, c.dram_gb, c.ssd_gb);
    c.fills = tier_fills(c.scenario, best, request_.watch);
    if (const auto total = c.cost.total())
      c.usd_per_million = usd_per_million_tokens(*total, best.tokens_per_s / replicas);
  }

  const CapacityRequest& request_;
  std::size_t index_;
  int jobs_;
};

/// The last one, which is the confirming one where both stages probed this rate.
const Probe* probe_at(const std::vector<Probe>& probes, double rate, bool passes) {
  const auto found = std::find_if(probes.rbegin(), probes.rend(),
                                  [&](const Probe& p) { return p.rate == rate && p.passes == passes; });
  return found == probes.rend() ? nullptr : &*found;
}

/// Why its answers at the sustained rate are not good enough; empty where they are, or no rate is sustained.
std::string below_floor(const Configuration& c) {
  const Probe* best = c.sustained();
  if (best == nullptr) return {};
  const serving::SloConfig& slo = c.scenario.serving.slo;
  const auto reason = [](const char* what, double score, const char* key, const std::optional<double>& floor) {
    if (!floor || below_quality_floor(score, *floor) <= 0) return std::string();
    if (!std::isfinite(score)) return fmt::format("its {} is not known; {} is {:g}", what, key, *floor);
    return fmt::format("its {} is {:.6g} of the full KV's, in the mean; {} is {:g}", what, score, key, *floor);
  };
  constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();
  std::string why = reason("task score", best->score.value_or(kUnknown), "slo.quality_floor", slo.quality_floor);
  if (why.empty()) {
    why = reason("functional correctness", models::least_functional(best->functional), "slo.functional_floor",
                 slo.functional_floor);
  }
  return why;
}

/// As one that cannot run, for that reason.
Configuration left_out(Configuration c, std::string problem) {
  Configuration left;
  left.scenario = std::move(c.scenario);
  left.machine = std::move(c.machine);
  left.tensor_parallel = c.tensor_parallel;
  left.policy = std::move(c.policy);
  left.sizes = std::move(c.sizes);
  left.placement = c.placement;
  left.problem = std::move(problem);
  return left;
}

}  // namespace

const Probe* Configuration::sustained() const {
  return search.rate > 0 ? probe_at(probes, search.rate, true) : nullptr;
}

const Probe* Configuration::first_failure() const {
  return probe_at(probes, search.fails_at, false);
}

std::vector<std::string> Configuration::fallbacks() const {
  if (const Probe* best = sustained()) return best->fallbacks;
  return probes.empty() ? std::vector<std::string>{} : probes.back().fallbacks;
}

const Probe* Configuration::last_of_search() const {
  const auto found =
      std::find_if(probes.rbegin(), probes.rend(), [](const Probe& p) { return p.stage == Stage::search; });
  return found == probes.rend() ? nullptr : &*found;
}

std::int64_t Configuration::gpus_per_replica() const {
  return scenario.serving.cluster.uniform().gpus();
}

double Configuration::rate_per_replica() const {
  return search.rate / static_cast<double>(scenario.serving.cluster.replicas());
}

std::string_view Configuration::limited_by() const {
  const Probe* failure = first_failure();
  if (failure == nullptr) return {};
  if (failure->meets || (failure->misses.empty() && !failure->unsteady.empty())) return kQueue;
  if (failure->misses.empty()) return {};
  const auto most = std::max_element(failure->misses.begin(), failure->misses.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return word_of(most->first);
}

std::string_view word_of(serving::Miss miss) {
  constexpr std::array kWords{"ttft", "tpot", "itl", "e2e", "memory", "unfinished"};
  return kWords.at(static_cast<std::size_t>(miss));
}

CapacityPlan plan_capacity(const Scenario& scenario, CapacityRequest request) {
  check(scenario, request);
  CapacityPlan plan;
  plan.request = std::move(request);
  plan.configurations = configurations_of(scenario, plan.request);
  std::atomic<std::size_t> stopped{0};
  // Both stages of all configurations: each is as fast with several at once as with several runs at once.
  const auto evaluate = [&plan](const std::vector<std::size_t>& which, const auto& one) {
    if (which.empty()) return;
    const int at_once = std::clamp(plan.request.jobs, 1, static_cast<int>(which.size()));
    const int jobs_each = std::max(1, plan.request.jobs / at_once);
    for_each_index(which.size(), at_once, [&](std::size_t i) {
      one(Evaluation(plan.request, which[i], jobs_each), plan.configurations[which[i]]);
    });
  };
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
    if (plan.configurations[i].problem.empty()) which.push_back(i);
  }
  evaluate(which, [&](const Evaluation& evaluation, Configuration& c) {
    try {
      if (plan.request.watch) plan.request.watch({});
      evaluation.run(c);
      if (std::string bad = below_floor(c); !bad.empty()) c = left_out(std::move(c), std::move(bad));
    } catch (const Stopped&) {
      c = left_out(std::move(c), "interrupted before it was done");
      ++stopped;
    }
  });
  const auto sustains = [](const Configuration& c) { return c.search.rate > 0; };
  const auto any = [&] { return std::any_of(plan.configurations.begin(), plan.configurations.end(), sustains); };
  plan.stopped = stopped;
  if (plan.request.rate && any()) {
    rank(plan);
    which.clear();
    for (std::size_t i = 0; i < plan.configurations.size(); ++i) {
      Configuration& c = plan.configurations[i];
      if (!sustains(c)) continue;
      c.no_fleet = "interrupted before its fleet was sized";
      which.push_back(i);
    }
    if (plan.request.partial) {
      CapacityPlan partial = plan;
      partial.stopped += which.size();
      plan.request.partial(partial);
    }
    evaluate(which, [&](const Evaluation& evaluation, Configuration& c) {
      try {
        evaluation.size(c);
      } catch (const Stopped&) {
        ++stopped;
      }
    });
    plan.stopped = stopped;
  }
  if (!any() && plan.stopped > 0) throw Stopped();
  if (!any()) throw_nearest_miss(plan.configurations, plan.request.probe);
  rank(plan);
  return plan;
}

}  // namespace kvsim::planner::capacity
