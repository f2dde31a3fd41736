#include "planner/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "models/workload/distributions.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/simulation.h"

namespace kvsim::planner {
namespace {

using models::AcceptanceKind;

void scale(models::Sourced<double>& figure, double by) {
  figure.value *= by;
}

std::int64_t scaled_tokens(std::int64_t tokens, double by) {
  return std::clamp<std::int64_t>(std::llround(static_cast<double>(tokens) * by), 1, models::max_request_tokens);
}

/// S(i)^power as a curve with a point for every length up to `last`; beyond, the last S holds, as for the original.
std::vector<models::AcceptancePoint> raised(const models::AcceptanceSpec& spec, std::int64_t last, double power) {
  const models::AcceptanceModel law(spec, 1.0, last);
  std::vector<models::AcceptancePoint> points;
  double sum = 0;
  for (std::int64_t i = 1; i <= last; ++i) {
    sum += std::pow(law.survival(i), power);
    points.push_back({i, sum});
  }
  return points;
}

void raise_agreement(serving::DecodeConfig& decode, double power) {
  models::AcceptanceSpec& law = decode.acceptance;
  switch (law.kind) {
    case AcceptanceKind::compressor:
      for (models::KeepRatioPoint& p : decode.compressor.agreement) p.value = std::pow(p.value, power);
      for (models::KeepRatioPoint& p : decode.compressor.step_kl_nats) p.value *= power;
      break;
    case AcceptanceKind::constant:
    case AcceptanceKind::heterogeneous:  // of the mean; requests differ as much as before
      law.agreement = std::pow(law.agreement, power);
      break;
    case AcceptanceKind::step_kl:
      law.step_kl_nats *= power;
      break;
    case AcceptanceKind::curve:
      law.points = raised(law, law.points.back().draft_length, power);
      break;
    case AcceptanceKind::positions:
      for (double& reached : law.positions) reached = std::pow(reached, power);
      break;
    case AcceptanceKind::recorded:
      law.points = raised(law, *std::max_element(law.lengths.begin(), law.lengths.end()) + 1, power);
      law.lengths.clear();
      law.kind = AcceptanceKind::curve;
      break;
  }
}

void scale_lengths(models::LengthSpec& length, double by) {
  length.mean *= by;
  length.min = scaled_tokens(length.min, by);
  length.max = scaled_tokens(length.max, by);
  for (std::int64_t& value : length.values) value = scaled_tokens(value, by);
}

void scale_contexts(scenario::Scenario& s, double by) {
  if (s.trace) {
    auto requests = std::make_shared<std::vector<models::RequestSpec>>(*s.trace);
    for (models::RequestSpec& r : *requests) r.prompt_tokens = scaled_tokens(r.prompt_tokens, by);
    s.trace = std::move(requests);
  }
  if (s.workload.context) scale_lengths(*s.workload.context, by);
  if (s.workload.sessions) scale_lengths(s.workload.sessions->spec.growth, by);
  for (scenario::ClassInput& of : s.workload.classes) {
    scale_lengths(of.requests.prompt, by);
    if (of.requests.prefixes) scale_lengths(of.requests.prefixes->tokens, by);
  }
  if (s.workload.prefixes) {
    if (s.workload.prefixes->datasets.empty()) scale_lengths(s.workload.prefixes->tokens, by);
    for (models::DatasetSpec& dataset : s.workload.prefixes->datasets) dataset.mean_tokens.value *= by;
  }
  if (auto& chunks = s.workload.chunks) {
    const std::int64_t most = (models::max_request_tokens - 1) / chunks->per_request;
    chunks->tokens = std::min(scaled_tokens(chunks->tokens, by), most);
    s.serving.chunks = chunks;  // what is stored beforehand
  }
}

}  // namespace

const FactorName& name_of(Factor factor) {
  return *std::find_if(kFactors.begin(), kFactors.end(), [factor](const FactorName& f) { return f.factor == factor; });
}

scenario::Scenario scaled(const scenario::Scenario& scenario, Factor factor, double by) {
  scenario::Scenario s = scenario;
  const auto each = [&s](const auto& change) {
    for (serving::GroupConfig& group : s.serving.cluster.groups) change(group);
  };
  switch (factor) {
    case Factor::hbm_bandwidth:
      each([by](serving::GroupConfig& group) { scale(group.gpu.memory_bytes_per_s, by); });
      break;
    case Factor::hbm_capacity:
      each([by](serving::GroupConfig& group) {
        group.gpu.memory_bytes.value = std::llround(static_cast<double>(group.gpu.memory_bytes.value) * by);
      });
      break;
    case Factor::link_bandwidth:
      each([by](serving::GroupConfig& group) {
        scale(group.host_link.read_bytes_per_s, by);
        scale(group.host_link.write_bytes_per_s, by);
      });
      break;
    case Factor::compute:
      each([by](serving::GroupConfig& group) {
        scale(group.gpu.bf16_flops_per_s, by);
        scale(group.gpu.fp8_flops_per_s, by);
      });
      break;
    case Factor::agreement:
      raise_agreement(s.serving.decode, 1 / by);
      break;
    case Factor::context:
      scale_contexts(s, by);
      break;
  }
  return s;
}

namespace {

/// Without reloads there is nothing to spread.
bool spans_differ(const OperatingPoint& a, const OperatingPoint& b) {
  return a.batch.l != b.batch.l && (a.batch.B_c > 0 || b.batch.B_c > 0);
}

}  // namespace

bool same_plan(const OperatingPoint& a, const OperatingPoint& b) {
  return a.x == b.x && a.c == b.c && a.batch.B_c == b.batch.B_c && a.batch.B_g == b.batch.B_g && !spans_differ(a, b);
}

std::string difference(const OperatingPoint& from, const OperatingPoint& to) {
  std::string text;
  const auto add = [&text](const char* symbol, auto a, auto b) {
    if (a != b) text += fmt::format("{}{} {:g} -> {:g}", text.empty() ? "" : ", ", symbol, a, b);
  };
  const auto real = [](std::int64_t n) { return static_cast<double>(n); };
  add("x", real(from.x), real(to.x));
  add("c", from.c, to.c);
  add("B_c", real(from.batch.B_c), real(to.batch.B_c));
  add("B_g", real(from.batch.B_g), real(to.batch.B_g));
  if (spans_differ(from, to)) add("l", real(from.batch.l), real(to.batch.l));
  return text;
}

namespace {

using serving::Measurements;

/// Gains below this share of the throughput are no reason to call a resource binding: 10 % of it bring a twentieth of
/// what they would if nothing else mattered.
constexpr double kNoticeable = 0.05 * Elasticity::kStep;

TimeShares shares_of(const Measurements& m) {
  return {serving::bottleneck(m), engine::share(m.memory_short_s, m.capacity_s)};
}

Utilisation utilisation_of(const Measurements& m, const scenario::Scenario& planned) {
  Utilisation u;
  u.gpu_busy = engine::share(m.busy_s, m.capacity_s);
  const auto link = [&m](const char* name) {
    const auto it = m.links.find(name);
    return it == m.links.end() ? 0.0 : engine::share(it->second.busy_s, it->second.capacity_s);
  };
  u.link_to_gpu = link("host_to_gpu");
  u.link_to_host = link("gpu_to_host");
  u.hbm_peak_bytes = static_cast<double>(m.hbm_peak_bytes);
  u.hbm_mean_bytes = m.hbm_mean_bytes;
  const serving::KvCapacity capacity = serving::kv_capacity(planned.serving, planned.serving.cluster.uniform());
  u.hbm_bytes = static_cast<double>(capacity.weights_bytes + capacity.bytes);
  return u;
}

Stalls stalls_of(const Measurements& m) {
  Stalls s;
  s.request_iterations = m.drafting_request_iterations + m.verifying_request_iterations + m.stalled_request_iterations;
  const auto of_all = [&s](std::uint64_t part) {
    return engine::share(static_cast<double>(part), static_cast<double>(s.request_iterations));
  };
  s.drafting = of_all(m.drafting_request_iterations);
  s.verifying = of_all(m.verifying_request_iterations);
  s.late_reload = of_all(m.late_request_iterations);
  s.otherwise = of_all(m.stalled_request_iterations - m.late_request_iterations);
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
  const auto& machine = s.serving.cluster.uniform().profile.machine;
  if (machine && machine->architecture != s.serving.cluster.uniform().gpu.architecture) {
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
