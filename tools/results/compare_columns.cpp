#include "tools/results/compare_columns.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "planner/capacity/fleet.h"
#include "planner/capacity/machine_choice.h"
#include "tools/results/lossless.h"
#include "tools/results/machines.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using serving::Measurements;

/// The busiest direction of a link.
double link_use(const Measurements& m) {
  double most = kNone;
  for (const auto& [name, link] : m.links) {
    const double use = share(link.busy_s, link.capacity_s);
    if (!(use <= most)) most = use;
  }
  return most;
}

double host_memory_peak(const Outcome& o) {
  const auto host = o.result.measured.tiers.find("host");
  return host == o.result.measured.tiers.end() ? kNone : static_cast<double>(host->second.bytes_peak);
}

template <class Print>
Column column(std::string header, std::string key, Better better, std::vector<double> values, Print print) {
  Column c{std::move(header), std::move(key), better, Kind::plain, std::move(values), {}};
  for (const double value : c.values) c.cells.push_back(print(value));
  return c;
}

Column of_latency(Column c) {
  c.kind = Kind::latency;
  return c;
}

std::vector<Column> policy_columns(const Comparison& comparison) {
  const std::vector<Outcome>& all = comparison.outcomes;
  std::vector<Column> columns;
  columns.push_back(figure_column("tokens\n/s", "output_tokens_per_s",
                                  values_of(all, [](const Outcome& o) { return output_tokens_per_s(o.result); })));
  columns.push_back(speedup_column(
      values_of(all, [&](const Outcome& o) { return speedup(o.result, all.front().result).value_or(kNone); })));
  columns.push_back(seconds_column("TTFT\np50 ", "ttft_p50_s", values_of(all, [](const Outcome& o) {
                                     return o.result.measured.ttft_s.quantile(0.5);
                                   })));
  columns.push_back(tpot_column(all));
  columns.push_back(seconds_column("gap\np99 ", "round_gap_p99_s", values_of(all, [](const Outcome& o) {
                                     return o.result.measured.round_gap_s.quantile(0.99);
                                   })));
  if (std::any_of(all.begin(), all.end(), [](const Outcome& o) { return o.result.measured.rounds > 0; })) {
    columns.push_back(column("accept\n/round", "", Better::neither,
                             values_of(all,
                                       [](const Outcome& o) {
                                         const Measurements& m = o.result.measured;
                                         return share(static_cast<double>(m.accepted_tokens),
                                                      static_cast<double>(m.rounds));
                                       }),
                             figure));
  }
  columns.push_back(bytes_column("HBM\n", "hbm_peak_bytes", values_of(all, [](const Outcome& o) {
                                   return static_cast<double>(o.result.measured.hbm_peak_bytes);
                                 })));
  columns.push_back(bytes_column("DRAM\n", "host_memory_peak_bytes", values_of(all, host_memory_peak)));
  columns.push_back(link_column(all));
  columns.push_back(cost_column(comparison));
  columns.push_back(fidelity_column("output", all));
  return columns;
}

std::vector<std::string> policy_notes(const std::vector<Outcome>& outcomes) {
  const serving::ClusterConfig& cluster = outcomes.front().scenario.serving.cluster;
  std::vector<std::string> notes{fmt::format("speedup: output tokens/s over those of {}", outcomes.front().policy),
                                 "TPOT: mean over requests; gap p99: between deliveries of tokens to a request"};
  if (std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return o.result.measured.rounds > 0; })) {
    notes.emplace_back("accept: drafted tokens accepted per round, without the verifier's own");
  }
  notes.push_back(fmt::format("HBM, DRAM: peak of GPU and of host memory of a {}; link: {}, share of time",
                              group_word(cluster),
                              cluster.pools ? "the busiest" : "busier direction of the host link"));
  notes.emplace_back(
      "output: lossless, or task score relative to full KV (KL in nats per request where none is known)");
  return notes;
}

enum class Compares { decode, placement, prefill };

Compares what(const Comparison& comparison) {
  const scenario::Scenario& first = comparison.outcomes.front().scenario;
  if (first.workload.chunks) return Compares::prefill;
  return first.serving.placement ? Compares::placement : Compares::decode;
}

}  // namespace

std::vector<Column> columns_of(const Comparison& comparison) {
  switch (what(comparison)) {
    case Compares::prefill:
      return reuse_columns(comparison);
    case Compares::placement:
      return placement_columns(comparison);
    case Compares::decode:
      break;
  }
  return policy_columns(comparison);
}

std::vector<std::string> column_notes(const Comparison& comparison) {
  switch (what(comparison)) {
    case Compares::prefill:
      return reuse_notes(comparison.outcomes);
    case Compares::placement:
      return placement_notes(comparison.outcomes);
    case Compares::decode:
      break;
  }
  return policy_notes(comparison.outcomes);
}

bool most_finished(const Measurements& measured) {
  return measured.completed_measured > 0 && 2 * measured.completed >= measured.arrived;
}

std::vector<Competitor> competitors_of(const std::vector<Outcome>& outcomes) {
  std::vector<Competitor> rows;
  for (const Outcome& o : outcomes) {
    const Measurements& m = o.result.measured;
    rows.push_back({lossless(o.scenario), m.output_tokens > 0, m.refused == 0 && most_finished(m)});
  }
  return rows;
}

std::optional<double> usd_per_million(const Outcome& outcome, const models::PriceTable& prices) {
  namespace capacity = planner::capacity;
  const serving::ClusterConfig& cluster = outcome.scenario.serving.cluster;
  const double host = host_memory_peak(outcome);
  const capacity::Purchase memory =
      capacity::purchase_for(outcome.scenario, cluster.replicas, host == host ? static_cast<std::int64_t>(host) : 0);
  const capacity::HourlyCost cost =
      capacity::hourly_cost(prices, cluster.gpu.name, serving::gpus(cluster), memory.dram_gb, memory.storage_gb);
  if (!cost.total()) return std::nullopt;
  return capacity::usd_per_million_tokens(*cost.total(), output_tokens_per_s(outcome.result));
}

Column tpot_column(const std::vector<Outcome>& all) {
  return seconds_column("TPOT\n", "tpot_mean_s",
                        values_of(all, [](const Outcome& o) { return o.result.measured.tpot_s.mean(); }));
}

Column seconds_column(std::string header, std::string key, std::vector<double> values) {
  const ColumnUnit unit = common_seconds(values);
  header += unit.name;
  return of_latency(column(std::move(header), std::move(key), Better::less, std::move(values),
                           [&unit](double value) { return in_unit(value, unit); }));
}

Column bytes_column(std::string header, std::string key, std::vector<double> values) {
  const ColumnUnit unit = common_bytes(values);
  header += unit.name;
  return column(std::move(header), std::move(key), Better::less, std::move(values),
                [&unit](double value) { return in_unit(value, unit); });
}

Column percent_column(std::string header, std::string key, std::vector<double> values) {
  const Better better = key.empty() ? Better::neither : Better::more;
  return column(header + "\n%", std::move(key), better, std::move(values),
                [](double value) { return value == value ? fmt::format("{:.0f}", value * 100) : "-"; });
}

Column figure_column(std::string header, std::string key, std::vector<double> values) {
  const Better better = key.empty() ? Better::neither : Better::more;
  return column(std::move(header), std::move(key), better, std::move(values), figure);
}

Column speedup_column(std::vector<double> values) {
  return column("speed\nup", "", Better::neither, std::move(values), factor);
}

Column link_column(const std::vector<Outcome>& outcomes) {
  return percent_column("link", "", values_of(outcomes, [](const Outcome& o) { return link_use(o.result.measured); }));
}

Column cost_column(const Comparison& comparison) {
  std::vector<double> usd = values_of(comparison.outcomes, [&comparison](const Outcome& o) {
    return usd_per_million(o, comparison.prices).value_or(kNone);
  });
  return column("$ per\n1M", "usd_per_1m_output_tokens", Better::less, std::move(usd),
                [](double value) { return in_unit(value); });
}

Column fidelity_column(std::string header, const std::vector<Outcome>& outcomes) {
  Column c{std::move(header), "quality", Better::more, Kind::quality, {}, {}};
  // A divergence is below lossless, but says nothing beside a score.
  const bool any_score = std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) {
    const Measurements& m = o.result.measured;
    return !lossless(o.scenario) && m.completed_measured > 0 && m.quality == m.quality;
  });
  for (const Outcome& o : outcomes) {
    const auto finished = static_cast<double>(o.result.measured.completed_measured);
    const double score = share(o.result.measured.quality, finished);
    const double nats = share(o.result.measured.kl_nats, finished);
    if (lossless(o.scenario)) {
      c.values.push_back(1);
      c.cells.emplace_back("lossless");
    } else if (score == score) {
      c.values.push_back(score);
      c.cells.push_back(fmt::format("{:.3f}", score));
    } else {
      c.values.push_back(any_score ? kNone : -nats);
      c.cells.push_back(nats == nats ? "KL " + figure(nats) : "lossy");
    }
  }
  return c;
}

}  // namespace kvsim::results
