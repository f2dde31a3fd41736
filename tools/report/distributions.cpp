// Distributions of latencies, a line a policy.
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

struct Latency {
  const char* key;
  const char* name;
  const char* caption;
};

constexpr std::size_t kMostFractions = 2000;  // results have 103
constexpr const char* kOfRequests = "Share of requests that took at most so long. To the left is better.";
constexpr std::array<Latency, 4> kLatencies{
    {{"ttft", "Time to first token (TTFT)", kOfRequests},
     {"tpot", "Time per output token (TPOT)", kOfRequests},
     {"e2e", "End to end (E2E)", kOfRequests},
     {"itl", "Gap before each token (ITL)",
      "Share of gaps that were at most so long. To the left is better. Tokens of a verified round arrive together: "
      "gaps "
      "of 0 are left of the axis, and where most are 0 the axis begins at 0.9."}}};

/// "99.9 %".
std::string fraction_word(double fraction) {
  return fmt::format("{:g} %", fraction * 100);
}

void add(Section& s, const std::vector<Simulated>& runs, std::size_t index) {
  for (const Latency& latency : kLatencies) {
    Plot p;
    p.id = numbered(std::string(latency.key) + "-distribution", index);
    p.title = latency.name;
    p.caption = latency.caption;
    p.data = table(p.title, {{"share", true}});
    plot::Chart c;
    c.title = p.title;
    c.description = p.caption;
    c.x_title = "seconds, logarithmic";
    c.y_title = "share";
    c.x_scale = plot::ScaleKind::logarithmic;
    c.y_most = 1.0;
    std::vector<std::vector<double>> columns;
    std::vector<double> fractions;
    for (const Simulated& run : runs) {
      const Json& d = at(run.result, {"details", "latency_distribution_s"});
      const std::vector<double> quantiles = numbers(d, {latency.key});
      if (quantiles.empty() || quantiles.size() > kMostFractions) continue;
      if (fractions.empty()) fractions = numbers(d, {"fractions"});
      if (quantiles.size() != fractions.size()) continue;
      plot::Series series{run.policy, {}};
      for (std::size_t i = 0; i < fractions.size(); ++i) {
        if (quantiles[i] > 0 && std::isfinite(fractions[i])) series.points.push_back({quantiles[i], fractions[i]});
      }
      // Where most are 0, what is to be seen is the rest.
      constexpr double most = 0.5, rest = 0.9;
      if (!series.points.empty() && series.points.front().y > most) c.y_least = rest;
      p.legend.push_back(run.policy);
      p.data.add({run.policy, true});
      columns.push_back(quantiles);
      c.series.push_back(std::move(series));
    }
    if (c.series.empty()) continue;
    if (c.y_least) {  // what lies below the axis is left out, not drawn along it
      for (plot::Series& series : c.series) {
        std::erase_if(series.points, [&c](const plot::Point& point) { return point.y < *c.y_least; });
      }
    }
    for (std::size_t i = 0; i < fractions.size(); ++i) {
      std::vector<Cell> row{cell(fractions[i], fraction_word)};
      for (const std::vector<double>& column : columns) row.push_back(cell(column[i], results::seconds));
      p.data.rows.push_back(std::move(row));
    }
    // Pointed at, a line says where it is at some of its shares.
    for (std::size_t k = 0; k < c.series.size(); ++k) {
      plot::Series& series = c.series[k];
      series.tips.resize(series.points.size());
      for (std::size_t i = 0; i < series.points.size(); ++i) {
        constexpr double tail = 0.945;
        const double tenths = series.points[i].y * 10;
        if (series.points[i].y < tail && std::fabs(tenths - std::round(tenths)) > 1e-6) continue;
        series.tips[i] = fmt::format("{}: {} within {}", series.label, fraction_word(series.points[i].y),
                                     results::seconds(series.points[i].x));
      }
    }
    p.drawing = std::move(c);
    s.blocks.emplace_back(std::move(p));
  }
}

}  // namespace

Section distributions(const Inputs& inputs) {
  Section s{"distributions", "Distributions of latencies", {}};
  std::size_t index = 0;
  for (const Inputs::Compared& compared : inputs.compares) add(s, compared.results, index++);
  if (!inputs.runs.empty()) add(s, inputs.runs, index);
  return s;
}

}  // namespace kvsim::report
