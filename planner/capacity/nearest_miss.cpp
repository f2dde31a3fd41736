#include "planner/capacity/nearest_miss.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "planner/infeasible.h"

namespace kvsim::planner::capacity {
namespace {

using serving::Miss;

std::string time(double seconds) {
  return schema::round_quantity(schema::Dimension::time, seconds);
}

/// Of the finished requests; with few misses it may lie within the objective.
std::string p99(double value_s, double limit_s) {
  return fmt::format("p99 {} {} {}", time(value_s), value_s > limit_s ? ">" : "<=", time(limit_s));
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

}  // namespace

std::string describe_misses(const Probe& probe, const serving::SloConfig& slo) {
  if (probe.misses.empty()) {
    return fmt::format("none of {} requests misses, and they are too few to be sure", probe.attainment.requests);
  }
  const Miss miss = std::max_element(probe.misses.begin(), probe.misses.end(), [](const auto& a, const auto& b) {
                      return a.second < b.second;
                    })->first;
  switch (miss) {
    case Miss::ttft:
      return fmt::format("TTFT {}, missed by {}", p99(probe.ttft_p99_s, *slo.ttft_s), share_of(probe, miss));
    case Miss::tpot:
      return fmt::format("TPOT {}, missed by {}", p99(probe.tpot_p99_s, *slo.tpot_s), share_of(probe, miss));
    case Miss::itl:
      return fmt::format("{} wait longer than {} between two tokens", share_of(probe, miss), time(*slo.itl_s));
    case Miss::e2e:
      return fmt::format("{} take longer than {} in all", share_of(probe, miss), time(*slo.e2e_s));
    case Miss::refused:
      return fmt::format("{} are refused for want of memory: {}", share_of(probe, miss), probe.refusal);
    case Miss::unfinished:
      return fmt::format("{} do not finish", share_of(probe, miss));
  }
  return {};
}

void throw_nearest_miss(const std::vector<Configuration>& configurations, const ProbeOptions& options) {
  const Configuration* nearest = nullptr;
  std::string others;
  for (const Configuration& c : configurations) {
    const std::string name = fmt::format("{}:{}, {}", c.machine, c.tensor_parallel, c.policy);
    if (!c.problem.empty()) {
      others += fmt::format("; {} was left out: {}", name, c.problem);
    } else if (!nearest || lowest(c).attainment.share > lowest(*nearest).attainment.share) {
      nearest = &c;
    }
  }
  if (!nearest) throw Infeasible(fmt::format("no configuration can run{}", others));
  const Probe& probe = lowest(*nearest);
  const std::string when =
      nearest->scenario.trace
          ? fmt::format(
                "even with the trace stretched to {:.3g}/s, where only requests that arrive together still meet",
                probe.rate)
          : fmt::format("even when requests run alone ({:.3g}/s)", probe.rate);
  throw Infeasible(fmt::format(
      "nothing meets the objectives at any rate: {} {}; attainment {:.2f} %, at least {:.2f} % with confidence {:g} %, "
      "target {:g} %; {}{}:{}, {}{}",
      describe_misses(probe, nearest->scenario.serving.slo), when, 100 * probe.attainment.share,
      100 * probe.attainment.lower, 100 * options.confidence, 100 * options.target,
      configurations.size() > 1 ? "nearest: " : "", nearest->machine, nearest->tensor_parallel, nearest->policy,
      others));
}

}  // namespace kvsim::planner::capacity
