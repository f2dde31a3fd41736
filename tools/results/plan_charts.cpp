// Charts of plans: which link hides the fetch of how many pairs, and from which bandwidth on loading chunks and putting
// them together is faster than computing them.
#include <algorithm>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "tools/plot/chart.h"
#include "tools/results/numbers.h"
#include "tools/results/plan.h"

namespace kvsim::results {
namespace {

std::string description_of(const planner::Crossover& c) {
  const std::string own = c.own.largest_hidden_k
                              ? fmt::format("up to {} pairs are hidden", whole(*c.own.largest_hidden_k))
                              : std::string("not even one pair is hidden");
  return fmt::format(
      "The least rate, in GB/s per GPU, at which rows of {} must arrive from host memory so that fetching k KV pairs "
      "per layer and KV head does not lengthen a decoding step of {} requests of {} tokens. Above the curve the fetch "
      "is hidden, below it is not. On {}, whose rows arrive at {} GB/s, {}.",
      bytes(c.row_bytes), whole(c.requests.batch), whole(c.requests.context()), c.own.name,
      figure(c.own.rows_bytes_per_s / kGB), own);
}

}  // namespace

std::string crossover_svg(const PrefetchOutcome& o, const planner::Crossover& c) {
  plot::Chart chart;
  chart.title = "Which link hides the fetch of how many KV pairs";
  chart.description = description_of(c);
  chart.x_title = "k: KV pairs fetched per layer and KV head";
  chart.y_title = fmt::format("rate of rows of {}, GB/s per GPU", bytes(c.row_bytes));
  chart.x_scale = chart.y_scale = plot::ScaleKind::logarithmic;
  plot::Series least{"least rate", {}};
  for (const planner::CrossoverPoint& p : c.points) {
    if (p.rows_bytes_per_s) least.points.push_back({static_cast<double>(p.k), *p.rows_bytes_per_s / kGB});
  }
  chart.series.push_back(std::move(least));
  for (const planner::HostLink& link : c.links) {
    const double y = link.rows_bytes_per_s / kGB;
    chart.rules.push_back({y, false, fmt::format("{}: {}", link.name, figure(y)), link.own});
  }
  chart.above = "hidden";
  chart.below = "not hidden";
  chart.markers.push_back(
      {{static_cast<double>(c.k), c.own.rows_bytes_per_s / kGB}, fmt::format("this scenario, k = {}", whole(c.k))});
  return plot::to_svg_file(chart, o.scenario.name);
}

namespace {

using planner::PromptMethod;
using planner::ReusePlan;

std::vector<plot::Point> points_of(const ReusePlan& plan, PromptMethod method) {
  std::vector<plot::Point> points;
  for (const planner::BreakEvenPoint& p : plan.curve) {
    const auto& rate = p.bytes_per_s[static_cast<std::size_t>(method)];
    if (rate) points.push_back({static_cast<double>(p.prompt.context()), *rate / kGB});
  }
  return points;
}

/// Selective where it can win at all; else the first that can.
PromptMethod main_method(const ReusePlan& plan) {
  if (!points_of(plan, PromptMethod::selective).empty()) return PromptMethod::selective;
  for (const PromptMethod method : planner::prompt_methods()) {
    if (!points_of(plan, method).empty()) return method;
  }
  return PromptMethod::selective;
}

std::string description_of(const ReusePlan& plan, PromptMethod main) {
  return fmt::format(
      "The bandwidth, in GB/s into the whole replica, at which a prompt alone has its first token as soon when {} of "
      "its chunks' tokens are loaded as when all of it is computed, against the tokens of its chunks. Above a curve "
      "the method is faster, below it recomputing is. {} is the thick one; a curve ends where no bandwidth suffices.",
      percent(plan.hit_rate), name_of(main));
}

/// Bandwidths of the catalogue's host links but those far above everything, and of the way that this plan loads.
std::vector<plot::Rule> bandwidths_of(const ReusePlanOutcome& o, double most) {
  constexpr double kFar = 10;
  const auto gpus = static_cast<double>(o.scenario.serving.cluster.uniform().parallel.tensor);
  const planner::LoadPath& path = o.plan.path;
  const std::string own = path.by_storage ? path.tier : path.link;
  std::vector<plot::Rule> rules;
  const models::Catalogue& catalogue = *o.scenario.catalogue;
  for (const models::Catalogue::Line& line : catalogue.list(models::EntryKind::link)) {
    const models::LinkSpec link = catalogue.link(line.name);
    if (link.kind != models::LinkKind::host || link.name == own) continue;
    const double y = link.read_bytes_per_s.value * gpus / kGB;
    if (y > kFar * most) continue;
    rules.push_back({y, false, fmt::format("{}: {}", link.name, figure(y))});
  }
  const double y = path.bytes_per_s / kGB;
  rules.push_back({y, false, fmt::format("{}: {}", own, figure(y)), true});
  return rules;
}

}  // namespace

std::string break_even_svg(const ReusePlanOutcome& o) {
  const ReusePlan& plan = o.plan;
  const PromptMethod main = main_method(plan);
  plot::Chart chart;
  chart.title = fmt::format("From which bandwidth on chunks are faster loaded than computed, {} of them stored",
                            percent(plan.hit_rate));
  chart.description = description_of(plan, main);
  chart.x_title = "tokens of a prompt's chunks";
  chart.y_title = "bandwidth into the replica, GB/s";
  chart.x_scale = chart.y_scale = plot::ScaleKind::logarithmic;
  chart.above = fmt::format("{} is faster", name_of(main));
  chart.below = "recomputing is faster";
  chart.series.push_back({std::string(name_of(main)), points_of(plan, main)});
  for (const PromptMethod method : planner::prompt_methods()) {
    if (method == main || method == PromptMethod::recompute) continue;
    chart.series.push_back({std::string(name_of(method)), points_of(plan, method)});
  }
  double most = plan.path.bytes_per_s / kGB;
  for (const plot::Series& s : chart.series) {
    for (const plot::Point& p : s.points) most = std::max(most, p.y);
  }
  chart.rules = bandwidths_of(o, most);
  for (const planner::ContextEstimate& c : plan.contexts) {
    chart.markers.push_back({{static_cast<double>(c.prompt.context()), plan.path.bytes_per_s / kGB},
                             whole(c.prompt.context()) + " tokens"});
  }
  return plot::to_svg_file(chart, o.scenario.name);
}

}  // namespace kvsim::results
