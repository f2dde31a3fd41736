// Which link hides the fetch of how many pairs.
#include <fmt/format.h>

#include "models/schema/si.h"
#include "tools/plot/chart.h"
#include "tools/results/numbers.h"
#include "tools/results/prefetch.h"

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

}  // namespace kvsim::results
