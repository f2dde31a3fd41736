// Distributions of latencies, a line a policy; GPUs, links, memory and queue over the time of a run.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "sim/serving/bottleneck.h"
#include "tools/report/best_policy.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/report/words.h"
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
      "Share of gaps that were at most so long. To the left is better. Tokens of a verified round arrive "
      "together: gaps of 0 are left of the axis, and where most are 0 the axis begins at 0.9."}}};

/// "99.9 %".
std::string fraction_word(double fraction) {
  return fmt::format("{:g} %", fraction * 100);
}

void add(Section& s, const std::vector<Simulated>& runs, std::size_t index) {
  for (const Latency& latency : kLatencies) {
    Plot p = plot_of(numbered(std::string(latency.key) + "-distribution", index), latency.name, latency.caption,
                     {{"share", true}});
    plot::Chart c;
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
    s.add(with_drawing(std::move(p), std::move(c)));
  }
}

struct Line {
  std::string label;
  std::vector<double> values;
};

struct TimeLook {
  std::string id, title, caption, y_title;
  plot::Shape shape = plot::Shape::line;
  std::string (*print)(double) = results::figure;
  double unit = 1;  ///< of the y axis
  std::optional<double> y_most{};
  std::vector<plot::Rule> rules{};
};

/// At most so many values: means of equal numbers of them.
std::vector<double> thinned(const std::vector<double>& values, std::size_t each) {
  if (each <= 1) return values;
  std::vector<double> out;
  for (std::size_t begin = 0; begin < values.size(); begin += each) {
    const std::size_t end = std::min(begin + each, values.size());
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += values[i];
    out.push_back(sum / static_cast<double>(end - begin));
  }
  return out;
}

Plot over(const std::vector<double>& all_times, double warmup_s, std::vector<Line> lines, TimeLook look) {
  constexpr std::size_t most = 300;
  const std::size_t each = (all_times.size() + most - 1) / most;
  std::vector<double> times;
  for (std::size_t i = 0; i < all_times.size(); i += each)
    times.push_back(all_times[std::min(i + each, all_times.size()) - 1]);
  for (Line& line : lines) line.values = thinned(line.values, each);
  if (each > 1) look.caption += fmt::format(" Means of {} samples each.", each);
  Plot p = plot_of(std::move(look.id), std::move(look.title), std::move(look.caption), {{"time", true}});
  plot::Chart c;
  c.x_title = "time in s";
  c.y_title = std::move(look.y_title);
  c.shape = look.shape;
  c.y_most = look.y_most;
  c.rules = std::move(look.rules);
  if (warmup_s > 0) c.rules.push_back({warmup_s, true, "end of warm-up"});
  for (const Line& line : lines) {
    p.data.add({line.label, true});
    p.legend.push_back(line.label);
    plot::Series series{line.label, {}};
    for (std::size_t i = 0; i < std::min(times.size(), line.values.size()); ++i) {
      series.points.push_back({times[i], line.values[i] / look.unit});
    }
    c.series.push_back(std::move(series));
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    std::vector<Cell> row{cell(times[i], results::seconds)};
    for (const Line& line : lines)
      row.push_back(cell(i < line.values.size() ? line.values[i] : std::nan(""), look.print));
    p.data.rows.push_back(std::move(row));
    c.hovers.push_back({times[i], tip_of(p.data, i)});
  }
  return with_drawing(std::move(p), std::move(c));
}

void add(Section& s, const Simulated& run, std::size_t index, const std::string& whose) {
  const Json& t = at(run.result, {"timeline"});
  const std::vector<double> times = numbers(t, {"time_s"});
  if (times.size() < 2) return;
  const double warmup = number(t, {"warmup_s"}).value_or(0);
  const std::string each =
      fmt::format("The first replication, in periods of {}.", results::seconds(number_or_nan(t, {"period_s"})));
  const auto id = [index](const char* name) { return numbered(name, index); };

  std::vector<Line> gpu;
  for (const serving::TimePartName& part : serving::kTimeParts) {
    std::vector<double> values = numbers(t, {"gpu", part.key});
    if (std::any_of(values.begin(), values.end(), [](double share) { return share > 0; })) {
      gpu.push_back({time_part_name(part.key), std::move(values)});
    }
  }
  if (!gpu.empty()) {
    s.add(
        over(times, warmup, std::move(gpu),
             {id("gpu-over-time"), "GPU time: what it was bound by" + whose, "Shares of each period, stacked. " + each,
              "share of the time", plot::Shape::stacked_areas, results::percent, 1, 1.0}));
  }
  std::vector<Line> links;
  for (const auto& [name, values] : at(t, {"links"}).items()) links.push_back({name, numbers(t, {"links", name})});
  if (!links.empty()) {
    s.add(over(times, warmup, std::move(links),
               {id("links-over-time"), "Links: share of the time in use" + whose,
                "1: the link never rests, and what needs it waits. " + each, "utilisation", plot::Shape::line,
                results::percent, 1, 1.0}));
  }
  std::vector<Line> kv;
  if (std::vector<double> resident = numbers(t, {"kv_parts_bytes", "resident"}); !resident.empty()) {
    kv.push_back({"KV that stays", std::move(resident)});
    kv.push_back({"KV that streams in to verify", numbers(t, {"kv_parts_bytes", "streaming"})});
  } else {
    kv.push_back({"KV reserved", numbers(t, {"kv_bytes"})});
  }
  const double capacity = number_or_nan(t, {"kv_capacity_bytes"});
  TimeLook look{id("memory-over-time"),
                "GPU memory reserved for KV" + whose,
                "Over all replicas, at the end of each period. At the capacity, requests wait. " + each,
                "GB",
                plot::Shape::stacked_areas,
                results::bytes,
                kGB};
  if (std::isfinite(capacity)) look.rules.push_back({capacity / kGB, false, "capacity"});
  s.add(over(times, warmup, std::move(kv), std::move(look)));
  s.add(over(
      times, warmup, {{"running", numbers(t, {"running"})}, {"waiting", numbers(t, {"waiting"})}},
      {id("requests-over-time"), "Requests running and waiting" + whose,
       "At the end of each period. A queue that grows from end to end: the load is more than is sustained. " + each,
       "requests"}));
}

}  // namespace

Section distributions(const Inputs& inputs) {
  Section s{"distributions", "Distributions of latencies", {}};
  std::size_t index = 0;
  for (const Inputs::Compared& compared : inputs.compares) add(s, compared.results, index++);
  if (!inputs.runs.empty()) add(s, inputs.runs, index);
  return s;
}

Section over_time(const Inputs& inputs) {
  Section s{"over-time", "Over the time of the run", {}};
  constexpr std::size_t most_runs = 4;
  std::size_t shown = 0;
  for (const Inputs::Compared& compared : inputs.compares) {
    const Simulated& chosen = compared.results[chosen_of(compared)];
    if (shown < most_runs) add(s, chosen, shown++, " (" + chosen.policy + ")");
  }
  for (const Simulated& run : inputs.runs) {
    if (shown >= most_runs) break;
    add(s, run, shown++, inputs.size() > 1 ? " (" + run.policy + ")" : "");
  }
  if (inputs.compares.size() + inputs.runs.size() > most_runs) {
    s.add(Prose{
        fmt::format("The first {} of {} results are drawn.", most_runs, inputs.compares.size() + inputs.runs.size())});
  }
  return s;
}

}  // namespace kvsim::report
