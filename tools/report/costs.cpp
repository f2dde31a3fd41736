// Fleets for a required rate, what they cost, and the prices behind it.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tools/report/documents.h"
#include "tools/report/parts.h"
#include "tools/report/report.h"
#include "tools/report/words.h"
#include "tools/results/capacity.h"
#include "tools/results/numbers.h"
#include "tools/results/time_account.h"

namespace kvsim::report {
namespace {

/// "h100-sxm x 2, 80 GB DRAM, ssd 800 GB"
std::string machine_of(const Json& c) {
  return fmt::format("{} x {}{}", text(c, {"machine"}), plain(number_or_nan(c, {"tensor_parallel"})), sizes_of(c));
}

void add_fleets(Section& s, const Json& capacity) {
  const std::optional<std::string> load = required_load(capacity);
  if (!load) return;
  Table t = table(fmt::format("Fleets for {}, {}", *load,
                              number(capacity, {"interrupted"}) ? "best so far first" : "cheapest first"),
                  {{"machine"},
                   {"policy"},
                   {"GPUs", true},
                   {"replicas", true},
                   {"host memory", true},
                   {"storage", true},
                   {"$ per hour", true},
                   {"of it GPUs", true},
                   {"of it host memory", true},
                   {"of it storage", true},
                   {"$ per month", true},
                   {"$ per 1M output tokens", true},
                   {"headroom", true},
                   {"attainment, at least", true}});
  for (const Json& c : at(capacity, {"configurations"})) {
    const Json& f = at(c, {"fleet"});
    if (f.empty()) continue;
    Cell attainment = cell(number_or_nan(f, {"attainment_lower"}), at_least);
    if (!truth(f, {"simulated"})) {
      const auto part = number(f, {"replicas_simulated"});
      attainment.text = part ? fmt::format("{} (of {})", attainment.text, plain(*part)) : "estimated, not simulated";
    }
    t.rows.push_back(
        {machine_of(c), text(c, {"policy"}), cell(number_or_nan(f, {"gpus"}), plain),
         cell(number_or_nan(f, {"replicas"}), plain), cell(number_or_nan(f, {"dram_gb"}), results::bytes_of_gb),
         cell(number_or_nan(f, {"ssd_gb"}), results::bytes_of_gb), cell(number_or_nan(f, {"usd_per_hour"}), usd),
         cell(number_or_nan(f, {"usd_per_hour_gpus"}), usd), cell(number_or_nan(f, {"usd_per_hour_dram"}), usd),
         cell(number_or_nan(f, {"usd_per_hour_ssd"}), usd),
         cell(number_or_nan(f, {"usd_per_month"}), results::whole_dollars),
         cell(number_or_nan(f, {"usd_per_1m_output_tokens"}), usd), cell(number_or_nan(f, {"headroom"}), whole_percent),
         std::move(attainment)});
    if (t.rows.size() == 1) {
      for (Cell& one : t.rows.front()) one.strong = true;
    }
  }
  if (t.rows.empty()) return;
  s.add(std::move(t));
  for (const Json& c : at(capacity, {"configurations"})) {
    const std::string why = pooling(capacity, c);
    if (why.empty()) continue;
    s.add(Prose{fmt::format("{}{} under {}, {} replica{}.{}", text(c, {"machine"}), sizes_of(c), text(c, {"policy"}),
                            plain(number_or_nan(c, {"fleet", "replicas"})),
                            number(c, {"fleet", "replicas"}) == 1.0 ? "" : "s", on_one_line(why))});
  }
}

/// "HBM 58 % +27 %", as the terminal's page has it.
std::string bound_in(const Json& c) {
  const serving::Bottleneck b = results::account_of([&c](std::string_view figure, std::string_view key) {
    return key.empty() ? number_or_nan(c, {figure}) : number_or_nan(c, {figure, key});
  });
  const results::Binding binding = results::binding_of(b, number_or_nan(c, {"tokeniser_busy"}), false);
  return binding.text + (binding.twice.empty() ? "" : " " + binding.twice);
}

void add_machines(Section& s, const Json& capacity) {
  const planner::capacity::Load load = load_of(capacity);
  const std::string words(planner::capacity::words_of(load));
  const auto rate = [load](double value) {
    Cell one = cell(value, results::figure);
    if (one.value) one.text = results::load_number(load, value);
    return one;
  };
  const std::vector<results::LatencyColumn> times = results::latency_columns(searched_objectives(capacity));
  Table t = table("One replica at the rate that it sustains",
                  {{"machine"}, {"policy"}, {words, true}, {words + " per GPU", true}, {"tokens/s", true}});
  for (results::LatencyColumn column : times) {
    std::replace(column.title.begin(), column.title.end(), '\n', ' ');
    t.add({column.title, true});
  }
  for (page::Column column :
       {page::Column{"misses first"}, page::Column{"bound by, twice it"}, page::Column{"$ per hour", true},
        page::Column{"$ per 1M output tokens", true}, page::Column{"output"}}) {
    t.add(std::move(column));
  }
  for (const Json& c : at(capacity, {"configurations"})) {
    std::string misses = text(c, {"limited_by"});
    if (const std::string problem = text(c, {"cannot_run"}); !problem.empty()) misses = "left out: " + problem;
    std::vector<Cell> row{machine_of(c), text(c, {"policy"}), rate(number_or_nan(c, {"rate_per_replica"})),
                          cell(number_or_nan(c, {"rate_per_gpu"}), results::figure),
                          cell(number_or_nan(c, {"tokens_per_s"}), results::figure)};
    for (const results::LatencyColumn& column : times) row.push_back(cell(time_of_column(c, column), results::seconds));
    for (Cell& one :
         std::vector<Cell>{misses.empty() ? "-" : misses, bound_in(c), cell(number_or_nan(c, {"usd_per_hour"}), usd),
                           cell(number_or_nan(c, {"usd_per_1m_output_tokens"}), usd), output_of(c)}) {
      row.push_back(std::move(one));
    }
    t.rows.push_back(std::move(row));
  }
  s.add(std::move(t));
  if (std::any_of(times.begin(), times.end(),
                  [](const results::LatencyColumn& c) { return c.of.metric == serving::SloMetric::itl; })) {
    s.add(Prose{fmt::format("ITL: {}.", results::kItlJudged)});
  }
}

/// Cost of every policy of a comparison, cheapest by its own sorting.
void add_policies(Section& s, const Inputs::Compared& compared) {
  const Json& cost = at(compared.document, {"usd_per_1m_output_tokens"});
  Table t =
      table(fmt::format("{}: cost by policy", scenario_of(compared.document)), {{"policy"},
                                                                                {"$ per 1M output tokens", true},
                                                                                {"output tokens/s per GPU", true},
                                                                                {"J per output token, at most", true}});
  for (const Simulated& run : compared.results) {
    t.rows.push_back(
        {run.policy, cell(number_or_nan(cost, {run.policy}), usd),
         cell(number_or_nan(run.result, {"throughput", "output_tokens_per_s_per_gpu"}), results::figure),
         cell(number_or_nan(run.result, {"details", "energy", "joules_per_output_token_at_most"}), results::figure)});
  }
  s.add(std::move(t));
}

void add_prices(Section& s, const Inputs& inputs) {
  Table t = table("Prices", {{"what"}, {"price", true}, {"per"}, {"date"}, {"source"}, {"reference"}});
  for (const Json& p : prices_of(inputs)) {
    t.rows.push_back({text(p, {"what"}), cell(number_or_nan(p, {"usd"}), usd), text(p, {"per"}), text(p, {"date"}),
                      text(p, {"source"}), text(p, {"reference"})});
  }
  s.add(std::move(t));
}

}  // namespace

Section costs(const Inputs& inputs) {
  Section s{"costs", "Machines and costs", {}};
  for (const Json& capacity : inputs.capacities) {
    add_fleets(s, capacity);
    add_machines(s, capacity);
  }
  for (const Inputs::Compared& compared : inputs.compares) add_policies(s, compared);
  add_prices(s, inputs);
  return s;
}

}  // namespace kvsim::report
