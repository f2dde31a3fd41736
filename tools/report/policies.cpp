// Policies and runs side by side: headline numbers with their intervals; tokens/s of a GPU against those of a user.
#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>

#include <fmt/format.h>

#include "tools/report/best_policy.h"
#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/results/functional.h"
#include "tools/results/metrics.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

struct Figure {
  std::string header;
  bool numeric = true;
  std::function<Cell(const Simulated&)> of;
  bool second = false;  ///< of the table of latencies and machines: one for all is wider than a page
};

double busiest_link(const Json& result) {
  double most = std::nan("");
  for (const Json& link : at(result, {"links"})) {
    const double share = number_or_nan(link, {"utilisation"});
    if (!(share <= most)) most = share;
  }
  return most;
}

/// A metric of the table, printed as its unit is. `interval`: with half of its confidence interval.
Figure metric(std::string header, std::string_view path, bool interval = false) {
  const auto print = results::find_metric(path)->unit.print;
  return {std::move(header), true, [path, print, interval](const Simulated& run) {
            const double value = figure_at(run.result, path);
            return interval ? cell(value, half_width(run.result, path), print) : cell(value, print);
          }};
}

/// The figure, in the second table.
Figure second(Figure figure) {
  figure.second = true;
  return figure;
}

Cell output_of(const Simulated& run) {
  if (results::quality_of(run.result).lossless) return {"lossless", 1.0};
  return cell(number_or_nan(run.result, {"quality", "mean_score"}), results::figure);
}

Cell functional_output_of(const Simulated& run) {
  const bool lossless = results::quality_of(run.result).lossless;
  const double least = lossless ? 1.0 : models::least_functional(results::functional_of(run.result));
  return {results::functional_text(lossless, least), least};
}

std::vector<Figure> figures() {
  std::vector<Figure> all{
      metric("output tokens/s", "throughput.output_tokens_per_s", true),
      {"output", true, output_of},
      {"functional", true, functional_output_of},
      metric("requests/s", "throughput.requests_per_s"),
      second(metric("TTFT mean", "latency_s.ttft.mean", true)),
      second(metric("TTFT p99", "latency_s.ttft.p99")),
      second(metric("TPOT mean", "latency_s.tpot.mean", true)),
      second(metric("TPOT p99", "latency_s.tpot.p99")),
      second(metric("gap p99", "details.round_gap_s.p99")),
      metric("goodput, requests/s", "slo.goodput_requests_per_s"),
      metric("within SLO", "slo.attainment"),
      second(metric("accepted / round", "speculation.mean_accepted_length")),
      second(metric("prefix hits", "prefix.hit_rate")),
      second(metric("HBM peak", "gpu.hbm_peak_bytes")),
      {"busiest link", true, [](const Simulated& run) { return cell(busiest_link(run.result), whole_percent); }, true},
      metric("requests completed", "requests.completed"),
      metric("refused", "requests.refused")};
  // Figures that objectives limit, but for the 99th of TTFT and TPOT, which are there anyway.
  std::vector<Figure> limited;
  for (const serving::SloMetricEntry& entry : serving::kSloMetrics) {
    for (std::size_t p = 0; p < serving::kSloPercentiles.size(); ++p) {
      const bool shown = (entry.metric == serving::SloMetric::ttft || entry.metric == serving::SloMetric::tpot) &&
                         p + 1 == serving::kSloPercentiles.size();
      const std::string path = "slo.measured_s." + serving::slo_key(entry.metric, p);
      if (shown) continue;
      limited.push_back({serving::slo_name({entry.metric, p, 0}), true,
                         [path](const Simulated& run) { return cell(figure_at(run.result, path), results::seconds); },
                         true});
    }
  }
  const auto behind = std::find_if(all.begin(), all.end(), [](const Figure& f) { return f.header == "within SLO"; });
  all.insert(std::next(behind), limited.begin(), limited.end());
  return all;
}

/// Columns in which nobody has a figure are left out.
Table table_of(const std::vector<Simulated>& runs, std::string caption, std::vector<Figure> columns) {
  Table t = table(std::move(caption), {}, std::vector<std::vector<Cell>>(runs.size()));
  for (const Figure& column : columns) {
    std::vector<Cell> cells;
    for (const Simulated& run : runs) cells.push_back(column.of(run));
    const bool any = std::any_of(cells.begin(), cells.end(), [](const Cell& c) { return c.text != "-"; });
    if (!any) continue;
    t.add({column.header, column.numeric});
    for (std::size_t i = 0; i < runs.size(); ++i) t.rows[i].push_back(std::move(cells[i]));
  }
  return t;
}

/// Takes the columns of the second table out of these, and returns them behind the `names` first.
std::vector<Figure> take_second(std::vector<Figure>& columns, std::size_t names) {
  std::vector<Figure> first, second(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(names));
  for (Figure& column : columns) (column.second ? second : first).push_back(std::move(column));
  columns = std::move(first);
  return second;
}

void strengthen(Table& t, std::size_t row) {
  for (Cell& c : t.rows[row]) c.strong = true;
}

Prose measured(const Json& result) {
  const std::string objectives = objectives_words(result);
  const std::string method = text(result, {"details", "confidence_method"});
  std::string itl;
  for (const auto& [key, value] : at(result, {"slo", "measured_s"}).items()) {
    if (key.starts_with("itl_")) itl = fmt::format(" ITL: {}.", results::kItlJudged);
  }
  return {
      fmt::format("{} of simulated time measured. Behind a figure, half of its 95 % interval{}{}. "
                  "gap: between deliveries of tokens to a request. output: lossless, or the task score relative to "
                  "the full KV. {}.{}{}",
                  results::seconds(number_or_nan(result, {"details", "measured_s"})), method.empty() ? "" : ": ",
                  method, results::functional_note("functional"),
                  objectives.empty() ? "" : " within SLO: requests within " + objectives + ".", itl)};
}

void add_comparison(Section& s, const Inputs::Compared& compared) {
  std::vector<Figure> columns = figures();
  columns.insert(columns.begin(), {"policy", false, [](const Simulated& run) { return run.policy; }});
  const std::string baseline = text(compared.document, {"baseline"});
  const Json& ttft = at(compared.document, {"ttft_speedup"});
  const Json& speedups = ttft.empty() ? at(compared.document, {"speedup"}) : ttft;
  columns.insert(columns.begin() + 2, {ttft.empty() ? "speed-up" : "speed-up (TTFT)", true, [&](const Simulated& run) {
                                         return cell(number_or_nan(speedups, {run.policy}), results::factor);
                                       }});
  const Json& cost = at(compared.document, {"usd_per_1m_output_tokens"});
  columns.insert(columns.begin() + 3, {"$ per 1M output tokens", true, [&](const Simulated& run) {
                                         return cell(number_or_nan(cost, {run.policy}), usd);
                                       }});
  s.add(measured(compared.results.front().result));
  const std::vector<Figure> second = take_second(columns, 1);
  Table t = table_of(compared.results,
                     fmt::format("{}: policies, speed-up over {}", scenario_of(compared.document), baseline), columns);
  strengthen(t, chosen_of(compared));
  s.add(std::move(t));
  t = table_of(compared.results, fmt::format("{}: latencies and machines", scenario_of(compared.document)), second);
  strengthen(t, chosen_of(compared));
  s.add(std::move(t));
  s.add(Prose{results::latency_note(rivals_of(compared), !ttft.empty()) + "."});
  List left{"Policies that cannot run on this scenario", {}};
  for (const Json& l : at(compared.document, {"left_out"})) {
    left.items.push_back(fmt::format("{}: {}", text(l, {"policy"}), text(l, {"reason"})));
  }
  s.add(std::move(left));
}

constexpr const char* kPerUser = "tokens/s per user";
constexpr const char* kPerGpu = "tokens/s per GPU";

plot::Chart trade_off_chart(std::string description) {
  plot::Chart c;
  c.description = std::move(description);
  c.x_title = kPerUser;
  c.y_title = kPerGpu;
  c.shape = plot::Shape::points;
  return c;
}

/// A point a policy: 1 / mean TPOT against tokens/s per GPU.
void add_policies(Section& s, const Inputs::Compared& compared, std::size_t index) {
  Plot p = plot_of(
      numbered("policies", index), "Policies: throughput against the speed of a user",
      "Up and to the right is better. Tokens/s per user: 1 / mean time per output token (TPOT). Simulated, at the load "
      "of the scenario.",
      {{"policy"}, {kPerUser, true}, {kPerGpu, true}, {"output", true}, {"functional", true}});
  plot::Chart c = trade_off_chart("A point a policy.");
  for (const Simulated& run : compared.results) {
    const double tpot = number_or_nan(run.result, {"latency_s", "tpot", "mean"});
    const double per_gpu = number_or_nan(run.result, {"throughput", "output_tokens_per_s_per_gpu"});
    if (!(tpot > 0) || !std::isfinite(per_gpu)) continue;
    const bool lossless = results::quality_of(run.result).lossless;
    p.data.rows.push_back(
        {run.policy, cell(1 / tpot, results::figure), cell(per_gpu, results::figure),
         lossless ? Cell{"lossless", 1.0} : cell(number_or_nan(run.result, {"quality", "mean_score"}), results::figure),
         functional_output_of(run)});
    plot::Series series{run.policy + (lossless || run.policy == "lossy" ? "" : " (lossy)"), {{1 / tpot, per_gpu}}};
    series.tips.push_back(tip_of(p.data, p.data.rows.size() - 1));
    p.legend.push_back(series.label);
    c.series.push_back(std::move(series));
  }
  if (c.series.size() < 2) return;
  s.add(with_drawing(std::move(p), std::move(c)));
}

/// The planner's front, a series a policy.
void add_front(Section& s, const Json& plan, std::size_t index) {
  const Json& points = at(plan, {"pareto", "points"});
  if (!points.is_array() || points.empty()) return;
  Plot p = plot_of(numbered("pareto", index), "Pareto front: throughput, speed of a user and quality",
                   "Nothing else of these policies gives more of all three. By the closed forms; on one "
                   "machine, cost and energy per token follow from tokens/s per GPU. " +
                       results::functional_note("functional") + ".",
                   {{"policy"},
                    {kPerUser, true},
                    {kPerGpu, true},
                    {"quality", true},
                    {"functional", true},
                    {"$ per 1M output tokens", true},
                    {"J per token, at most", true},
                    {"plan"}});
  plot::Chart c = trade_off_chart("Points that no other plan beats, by policy.");
  std::map<std::string, std::size_t> series_of;
  std::vector<const Json*> ordered;  // what loses nothing first
  for (const Json& point : points) ordered.push_back(&point);
  std::stable_partition(ordered.begin(), ordered.end(),
                        [](const Json* one) { return number(*one, {"quality"}).value_or(0) >= 1; });
  for (const Json* found : ordered) {
    const Json& point = *found;
    const std::string policy = text(point, {"policy"});
    const double x = number_or_nan(point, {"tokens_per_s_per_user"}),
                 y = number_or_nan(point, {"tokens_per_s_per_gpu"});
    if (!std::isfinite(x) || !std::isfinite(y)) continue;
    p.data.rows.push_back({policy, cell(x, results::figure), cell(y, results::figure),
                           cell(number_or_nan(point, {"quality"}), results::percent),
                           cell(number_or_nan(point, {"functional"}), results::percent),
                           cell(number_or_nan(point, {"usd_per_1m_output_tokens"}), usd),
                           cell(number_or_nan(point, {"joules_per_output_token_at_most"}), results::figure),
                           plan_text(at(point, {"plan"}))});
    const auto [entry, fresh] = series_of.try_emplace(policy, c.series.size());
    if (fresh) {
      c.series.push_back({policy, {}});
      p.legend.push_back(policy);
    }
    plot::Series& series = c.series[entry->second];
    series.points.push_back({x, y});
    series.tips.push_back(tip_of(p.data, p.data.rows.size() - 1));
  }
  s.add(with_drawing(std::move(p), std::move(c)));
}

}  // namespace

Section headline(const Inputs& inputs) {
  Section s{"headline", "Headline numbers", {}};
  for (const Inputs::Compared& compared : inputs.compares) add_comparison(s, compared);
  if (!inputs.runs.empty()) {
    std::vector<Figure> columns = figures();
    columns.insert(columns.begin(), {{"scenario", false, [](const Simulated& r) { return scenario_of(r.result); }},
                                     {"policy", false, [](const Simulated& r) { return r.policy; }}});
    s.add(measured(inputs.runs.front().result));
    const std::vector<Figure> second = take_second(columns, 2);
    s.add(table_of(inputs.runs, "Runs", columns));
    s.add(table_of(inputs.runs, "Runs: latencies and machines", second));
  }
  return s;
}

Section trade_off(const Inputs& inputs) {
  Section s{"trade-off", "Throughput against the speed of a user", {}};
  for (std::size_t i = 0; i < inputs.compares.size(); ++i) add_policies(s, inputs.compares[i], i);
  for (std::size_t i = 0; i < inputs.plans.size(); ++i) add_front(s, inputs.plans[i], i);
  return s;
}

}  // namespace kvsim::report
