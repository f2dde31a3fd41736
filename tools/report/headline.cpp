// Headline numbers with their intervals.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "tools/report/choice.h"
#include "tools/report/objectives.h"
#include "tools/report/report.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

struct Figure {
  std::string header;
  bool numeric = true;
  std::function<Cell(const Simulated&)> of;
};

double busiest_link(const Json& result) {
  double most = std::nan("");
  for (const Json& link : at(result, {"links"})) {
    const double share = number_or_nan(link, {"utilisation"});
    if (!(share <= most)) most = share;
  }
  return most;
}

std::string count(double value) {
  return results::with_commas(fmt::format("{:.0f}", value));
}

std::string whole_percent(double value) {
  return std::isfinite(value) ? fmt::format("{:.0f} %", value * 100) : "-";
}

Figure plain_figure(std::string header, Path path, std::string (*print)(double)) {
  const std::vector<std::string> keys(path.begin(), path.end());
  return {std::move(header), true, [keys, print](const Simulated& run) {
            const Json* here = &run.result;
            for (const std::string& key : keys) here = &at(*here, {key});
            return cell(here->is_number() ? here->get<double>() : std::nan(""), print);
          }};
}

Cell output_of(const Simulated& run) {
  if (is_lossless(run.result)) return {"lossless", 1.0};
  return cell(number_or_nan(run.result, {"quality", "mean_score"}), results::figure);
}

std::vector<Figure> figures() {
  return {
      {"output tokens/s", true,
       [](const Simulated& run) {
         return cell(number_or_nan(run.result, {"throughput", "output_tokens_per_s"}),
                     half_width(run.result, "throughput.output_tokens_per_s"), results::figure);
       }},
      {"output", true, output_of},
      plain_figure("requests/s", {"throughput", "requests_per_s"}, results::figure),
      {"TTFT mean", true,
       [](const Simulated& run) {
         return cell(number_or_nan(run.result, {"latency_s", "ttft", "mean"}),
                     half_width(run.result, "latency_s.ttft.mean"), results::seconds);
       }},
      plain_figure("TTFT p99", {"latency_s", "ttft", "p99"}, results::seconds),
      {"TPOT mean", true,
       [](const Simulated& run) {
         return cell(number_or_nan(run.result, {"latency_s", "tpot", "mean"}),
                     half_width(run.result, "latency_s.tpot.mean"), results::seconds);
       }},
      plain_figure("TPOT p99", {"latency_s", "tpot", "p99"}, results::seconds),
      plain_figure("gap p99", {"details", "round_gap_s", "p99"}, results::seconds),
      plain_figure("goodput, requests/s", {"slo", "goodput_requests_per_s"}, results::figure),
      plain_figure("within SLO", {"slo", "attainment"}, results::percent),
      plain_figure("accepted / round", {"speculation", "mean_accepted_length"}, results::figure),
      plain_figure("HBM peak", {"gpu", "hbm_peak_bytes"}, results::bytes),
      {"busiest link", true, [](const Simulated& run) { return cell(busiest_link(run.result), whole_percent); }},
      plain_figure("requests completed", {"requests", "completed"}, count),
      plain_figure("refused", {"requests", "refused"}, count),

  };
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

void strengthen(Table& t, std::size_t row) {
  for (Cell& c : t.rows[row]) c.strong = true;
}

Prose measured(const Json& result) {
  const std::string objectives = objectives_words(result);
  const std::string method = text(result, {"details", "confidence_method"});
  return {
      fmt::format("{} of simulated time measured. Behind a figure, half of its 95 % interval{}{}. "
                  "gap: between deliveries of tokens to a request. output: lossless, or the task score relative to "
                  "the full KV.{}",
                  results::seconds(number_or_nan(result, {"details", "measured_s"})), method.empty() ? "" : ": ",
                  method, objectives.empty() ? "" : " within SLO: requests within " + objectives + ".")};
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
  s.blocks.emplace_back(measured(compared.results.front().result));
  Table t = table_of(compared.results,
                     fmt::format("{}: policies, speed-up over {}", scenario_of(compared.document), baseline), columns);
  strengthen(t, chosen_of(compared));
  s.blocks.emplace_back(std::move(t));
  List left{"Policies that cannot run on this scenario", {}};
  for (const Json& l : at(compared.document, {"left_out"})) {
    left.items.push_back(fmt::format("{}: {}", text(l, {"policy"}), text(l, {"reason"})));
  }
  if (!left.items.empty()) s.blocks.emplace_back(std::move(left));
}

}  // namespace

Section headline(const Inputs& inputs) {
  Section s{"headline", "Headline numbers", {}};
  for (const Inputs::Compared& compared : inputs.compares) add_comparison(s, compared);
  if (!inputs.runs.empty()) {
    std::vector<Figure> columns = figures();
    columns.insert(columns.begin(), {{"scenario", false, [](const Simulated& r) { return scenario_of(r.result); }},
                                     {"policy", false, [](const Simulated& r) { return r.policy; }}});
    s.blocks.emplace_back(measured(inputs.runs.front().result));
    s.blocks.emplace_back(table_of(inputs.runs, "Runs", columns));
  }
  return s;
}

}  // namespace kvsim::report
