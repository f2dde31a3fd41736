#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "models/schema/units.h"
#include "planner/capacity/capacity_plan.h"
#include "planner/complexity.h"
#include "planner/infeasible.h"

namespace kvsim::planner::capacity {
namespace {

constexpr double kLast = std::numeric_limits<double>::infinity();

/// A price in cents, as it is printed.
double cents(const std::optional<double>& usd) {
  constexpr double kCents = 100;
  return usd ? std::round(*usd * kCents) : kLast;
}

/// Smaller is better. First come those that answer what is asked, then those that sustain a rate, then the others.
std::tuple<int, double, Complexity, double, double> key(const Configuration& c, const CapacityPlan& plan) {
  const bool by_price = plan.ranked_by_price;
  if (c.search.rate <= 0) return {2, kLast, {}, kLast, kLast};
  const Complexity complexity = complexity_of(c.scenario);
  if (c.fleet) {
    const auto gpus = static_cast<double>(c.fleet->gpus);
    return {0, by_price ? cents(c.fleet->cost.total()) : gpus, complexity, -c.fleet->headroom, gpus};
  }
  const auto gpus = static_cast<double>(c.gpus_per_replica());
  if (plan.request.rate) {
    const double replicas = std::ceil(*plan.request.rate / c.rate_per_replica());
    const double usd = replicas * c.cost.total().value_or(kLast);
    return {1, by_price ? cents(usd) : replicas * gpus, complexity, replicas * gpus, 0};
  }
  const double per_gpu = c.rate_per_replica() / gpus;
  return {0, by_price ? cents(c.usd_per_million) : -per_gpu, complexity, -per_gpu, 0};
}

}  // namespace

void rank(CapacityPlan& plan) {
  plan.ranked_by_price =
      std::all_of(plan.configurations.begin(), plan.configurations.end(),
                  [](const Configuration& c) { return c.search.rate <= 0 || c.cost.gpus.has_value(); });
  std::stable_sort(plan.configurations.begin(), plan.configurations.end(),
                   [&](const Configuration& a, const Configuration& b) { return key(a, plan) < key(b, plan); });
}

namespace {

using serving::Miss;
using serving::SloMetric;

std::string time(double seconds) {
  return schema::round_quantity(schema::Dimension::time, seconds);
}

/// Percentile of the finished requests; with few misses it may lie within the objective.
std::string percentile_words(const Demand& asked, double value_s, double limit_s) {
  const std::string name = asked.percentile ? serving::percentile_name(*asked.percentile) : "p99";
  return fmt::format("{} {} {} {}", name, time(value_s), value_s > limit_s ? ">" : "<=", time(limit_s));
}

std::string share_of(const Probe& probe, Miss miss) {
  constexpr double kPercent = 100;
  return fmt::format("{:.1f} % of requests", kPercent * static_cast<double>(probe.misses.at(miss)) /
                                                 static_cast<double>(probe.attainment.requests));
}

const Probe& lowest(const Configuration& c) {
  return *std::min_element(c.probes.begin(), c.probes.end(),
                           [](const Probe& a, const Probe& b) { return a.rate < b.rate; });
}

/// The limit of a metric that counts: of the percentile that is asked for, else the shortest of all.
std::optional<double> limit_of(const Demand& asked, const serving::SloConfig& slo, SloMetric metric) {
  std::optional<double> least;
  for (const serving::SloObjective& o : slo.objectives()) {
    if (o.metric != metric || (asked.percentile && o.percentile != *asked.percentile)) continue;
    least = std::min(least.value_or(o.limit_s), o.limit_s);
  }
  return least;
}

/// How many times the limit the percentile of TTFT or TPOT is, whichever is worse; infinity where none finished.
double exceeds(const Probe& probe, const serving::SloConfig& slo) {
  double worst = 0;
  const auto look = [&](SloMetric metric, double value) {
    const auto limit = limit_of(probe.tightest().demand, slo, metric);
    if (limit) worst = std::max(worst, std::isnan(value) ? std::numeric_limits<double>::infinity() : value / *limit);
  };
  look(SloMetric::ttft, probe.ttft_asked_s);
  look(SloMetric::tpot, probe.tpot_asked_s);
  return worst;
}

}  // namespace

bool nearer(const Configuration& c, const Configuration& other) {
  const Probe &a = lowest(c), &b = lowest(other);
  if (a.attainment.share != b.attainment.share) return a.attainment.share > b.attainment.share;
  return exceeds(a, c.scenario.serving.slo) < exceeds(b, other.scenario.serving.slo);
}

std::string describe_misses(const Probe& probe, const serving::SloConfig& slo) {
  if (!probe.unsteady.empty() && (probe.meets || probe.misses.empty())) return probe.unsteady;
  if (probe.misses.empty()) {
    return fmt::format("none of {} requests misses, and they are too few to be sure", probe.attainment.requests);
  }
  const Miss miss = std::max_element(probe.misses.begin(), probe.misses.end(), [](const auto& a, const auto& b) {
                      return a.second < b.second;
                    })->first;
  const Demand& asked = probe.tightest().demand;
  const auto limit = [&](SloMetric metric) { return limit_of(asked, slo, metric).value_or(0); };
  switch (miss) {
    case Miss::ttft:
      return fmt::format("TTFT {}, missed by {}", percentile_words(asked, probe.ttft_asked_s, limit(SloMetric::ttft)),
                         share_of(probe, miss));
    case Miss::tpot:
      return fmt::format("TPOT {}, missed by {}", percentile_words(asked, probe.tpot_asked_s, limit(SloMetric::tpot)),
                         share_of(probe, miss));
    case Miss::itl:
      return fmt::format("{} wait longer than {} between two tokens", share_of(probe, miss),
                         time(limit(SloMetric::itl)));
    case Miss::e2e:
      return fmt::format("{} take longer than {} in all", share_of(probe, miss), time(limit(SloMetric::e2e)));
    case Miss::refused:
      return fmt::format("{} are refused for want of memory: {}", share_of(probe, miss), probe.refusal);
    case Miss::unfinished:
      return fmt::format("{} do not finish", share_of(probe, miss));
  }
  return {};
}

namespace {

std::string attainment_words(const Probe& probe, const ProbeOptions& options) {
  const auto& [demand, attainment] = probe.tightest();
  return fmt::format("attainment {:.2f} %, at least {:.2f} % with confidence {:g} %, target {:g} %{}",
                     100 * attainment.share, 100 * attainment.lower, 100 * options.confidence, 100 * demand.share,
                     probe.demands.size() > 1
                         ? fmt::format(" (limits of {})", serving::percentile_name(*demand.percentile))
                         : std::string());
}

std::string load_words(double rate, Load load, int digits = 4) {
  return fmt::format("{:.{}g}{}", rate, digits, load == Load::requests ? "/s" : fmt::format(" {}", words_of(load)));
}

std::string alone_words(const Probe& probe, Load load) {
  if (load == Load::users) return "with one user";
  return fmt::format("when requests run alone ({})", load_words(probe.rate, load, 3));
}

/// A configuration that meets the objectives nowhere, or only at less than is asked for.
std::string miss_words(const Configuration& c, const Probe& probe) {
  const std::string misses = describe_misses(probe, c.scenario.serving.slo);
  const Load load = load_of(c.scenario);
  if (c.too_much) return fmt::format("{}: {}", too_much_words(c), misses);
  const std::string when =
      c.scenario.trace
          ? fmt::format("with the trace stretched to {:.3g}/s, where only requests that arrive together still meet",
                        probe.rate)
          : alone_words(probe, load);
  return fmt::format("nothing meets the objectives at any rate: {} even {}", misses, when);
}

}  // namespace

std::string too_much_words(const Configuration& c) {
  if (!c.too_much) return {};
  const auto& [replicas, required, of_one] = *c.too_much;
  const Load load = load_of(c.scenario);
  return fmt::format("no fleet of up to {} replicas meets the objectives at {}, though one replica sustains {}",
                     replicas, load_words(required, load), load_words(of_one, load));
}

void throw_nearest_miss(const std::vector<Configuration>& configurations, const ProbeOptions& options) {
  const Configuration* nearest = nullptr;
  std::string others;
  for (const Configuration& c : configurations) {
    const std::string name = fmt::format("{}:{}, {}", c.machine, c.tensor_parallel, c.policy);
    if (!c.problem.empty()) {
      others += fmt::format("; {} was left out: {}", name, c.problem);
    } else if (!nearest || nearer(c, *nearest)) {
      nearest = &c;
    }
  }
  if (!nearest) throw Infeasible(fmt::format("no configuration can run{}", others));
  const Probe& probe = lowest(*nearest);
  throw Infeasible(fmt::format("{}; {}; {}{}:{}, {}{}", miss_words(*nearest, probe), attainment_words(probe, options),
                               configurations.size() > 1 ? "nearest: " : "", nearest->machine, nearest->tensor_parallel,
                               nearest->policy, others));
}

namespace {

std::optional<double> cost_of(const CapacityPlan& plan, const Configuration& c, std::int64_t replicas) {
  const Purchase purchase = purchase_for(c.scenario, replicas);
  return hourly_cost(plan.request.prices, c.scenario.serving.cluster, replicas, purchase.dram_gb, purchase.storage_gb)
      .total();
}

/// Where as many requests meet the objectives as are asked for, their number is what does not suffice, and is said.
std::string missed(const CapacityPlan& plan, const Configuration& c, const Probe* probe) {
  if (!probe) return {};
  const std::string words = describe_misses(*probe, c.scenario.serving.slo);
  const JudgedDemand& asked = probe->tightest();
  const bool unsure = !probe->misses.empty() && asked.attainment.share >= asked.demand.share && !asked.met();
  return unsure ? fmt::format("{}; {}", words, attainment_words(*probe, plan.request.probe)) : words;
}

const Probe* lowest_if_any(const Configuration& c) {
  const auto found = std::min_element(c.probes.begin(), c.probes.end(),
                                      [](const Probe& a, const Probe& b) { return a.rate < b.rate; });
  return found == c.probes.end() ? nullptr : &*found;
}

/// Alternative that would be bought of this configuration, for less than `below` USD/h if it can be; none where it is
/// the same as what it needs.
std::optional<NextCheaper> alternative(const CapacityPlan& plan, const Configuration& c, double below) {
  NextCheaper a;
  a.configuration = &c;
  std::optional<double> usd;
  if (c.search.rate <= 0) {
    if (!c.problem.empty()) return std::nullopt;
    usd = cost_of(plan, c, 1);
    a.why = missed(plan, c, lowest_if_any(c));
  } else if (plan.request.rate) {
    if (!c.fleet) return std::nullopt;
    for (a.replicas = c.fleet->replicas - 1; a.replicas > 0; --a.replicas) {
      usd = cost_of(plan, c, a.replicas);
      if (!usd || *usd < below) break;
    }
    if (a.replicas - (c.fleet->n_minus_1 ? 1 : 0) < 1) return std::nullopt;
    a.why = a.replicas + 1 == c.fleet->replicas && c.fleet->fails
                ? (c.fleet->n_minus_1 ? "with one replica less, " : "") + missed(plan, c, &*c.fleet->fails)
                : fmt::format("each sustains {}; just above it {}",
                              load_text(c.rate_per_replica(), load_of(c.scenario)), missed(plan, c, c.first_failure()));
  } else {
    usd = c.cost.total();
    a.rate = c.rate_per_replica();
    a.why = missed(plan, c, c.first_failure());
  }
  if (!usd) return std::nullopt;
  a.usd_per_hour = *usd;
  return a;
}

/// It sustains more and is at most as dear, or as much for less.
bool beats(const NextCheaper& a, const NextCheaper& b) {
  if (a.rate <= 0 || a.usd_per_hour > b.usd_per_hour || a.rate < b.rate) return false;
  return a.rate > b.rate || a.usd_per_hour < b.usd_per_hour;
}

}  // namespace

std::optional<NextCheaper> next_cheaper(const CapacityPlan& plan) {
  const Configuration& best = plan.configurations.front();
  const std::optional<double> of_best = plan.request.rate && best.fleet ? best.fleet->cost.total() : best.cost.total();
  if (!of_best) return std::nullopt;
  std::vector<NextCheaper> cheaper;
  for (const Configuration& c : plan.configurations) {
    auto a = alternative(plan, c, *of_best);
    if (a && a->usd_per_hour < *of_best) cheaper.push_back(std::move(*a));
  }
  std::optional<NextCheaper> next;
  for (const NextCheaper& a : cheaper) {
    const bool beaten =
        std::any_of(cheaper.begin(), cheaper.end(), [&a](const NextCheaper& other) { return beats(other, a); });
    if (!beaten && (!next || a.usd_per_hour > next->usd_per_hour)) next = a;
  }
  return next;
}

}  // namespace kvsim::planner::capacity
