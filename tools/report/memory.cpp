// What GPU memory holds: the waterfall of one replica, and the same of every policy.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

#include <fmt/format.h>

#include "tools/report/choice.h"
#include "tools/report/report.h"
#include "tools/report/stacks.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

struct Part {
  const char* name;
  std::array<std::string_view, 2> path;  ///< in details.memory; the second may be empty
};

/// In the order in which they are taken off the memory of the GPUs.
constexpr std::array<Part, 7> kParts{{{"kept free", {"kept_free_bytes", ""}},
                                      {"weights", {"weights_bytes", ""}},
                                      {"activations", {"activations_bytes", ""}},
                                      {"workspace and other weights", {"other_bytes", ""}},
                                      {"KV that stays", {"kv", "resident_mean_bytes"}},
                                      {"KV that streams in to verify", {"kv", "streaming_mean_bytes"}},
                                      {"headroom", {"kv", "unused_mean_bytes"}}}};

constexpr double kGb = 1e9;

double part_of(const Json& result, const Part& part) {
  const Json& memory = at(result, {"details", "memory"});
  return part.path[1].empty() ? number_or_nan(memory, {part.path[0]})
                              : number_or_nan(memory, {part.path[0], part.path[1]});
}

bool is_known(const Json& result) {
  return number(result, {"details", "memory", "gpu_bytes"}).value_or(0) > 0;
}

/// Each part on its own row, beginning where the one before ended.
Plot waterfall(const Simulated& run, const std::string& id) {
  const double all = number_or_nan(run.result, {"details", "memory", "gpu_bytes"});
  Plot p;
  p.id = id;
  p.title = fmt::format("Memory of one replica's GPUs under {}", run.policy);
  p.caption = fmt::format(
      "From all of it, {}, to what is left. KV that stays: what requests decode or draft on, full or compressed. Means "
      "over the measured time; most at once: {} of KV that streams in, {} of all KV.",
      results::bytes(all),
      results::bytes(number_or_nan(run.result, {"details", "memory", "kv", "streaming_peak_bytes"})),
      results::bytes(number_or_nan(run.result, {"details", "memory", "kv", "reserved_peak_bytes"})));
  p.data = table(p.title, {{"part"}, {"bytes", true}, {"share", true}});
  plot::Bars bars;
  bars.title = p.title;
  bars.description = p.caption;
  bars.x_title = "GB";
  double end = all;
  bars.bars.push_back({"all of it", {{0, all / kGb, 7, "all of it: " + results::bytes(all)}}, results::bytes(all)});
  constexpr double seen = 0.002;  // of all: thinner bars are not seen, the table has them
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const double size = part_of(run.result, kParts[i]);
    if (!std::isfinite(size) || (size == 0 && i < 4)) continue;
    p.data.rows.push_back({kParts[i].name, cell(size, results::bytes), cell(size / all, results::percent)});
    const double begin = std::max(0.0, end - size);
    if (size < seen * all && i == 3) {
      end = begin;
      continue;
    }
    bars.bars.push_back(
        {kParts[i].name, {{begin / kGb, end / kGb, i, tip_of(p.data, p.data.rows.size() - 1)}}, results::bytes(size)});
    end = begin;
  }
  p.drawing = std::move(bars);
  return p;
}

Plot memory_by_policy(const std::vector<Simulated>& all, const std::string& id) {
  std::vector<Simulated> runs;
  std::copy_if(all.begin(), all.end(), std::back_inserter(runs),
               [](const Simulated& run) { return is_known(run.result); });
  Stacks stacks{.id = id,
                .title = "Memory of one replica's GPUs, by policy",
                .caption = "Means over the measured time. What policies differ in is the KV.",
                .x_title = "GB",
                .unit = kGb,
                .parts = {},
                .print = results::bytes,
                .of = [](const Json& result, std::size_t part) { return part_of(result, kParts[part]); },
                .behind =
                    [](const Json& result) {
                      return results::bytes(number_or_nan(result, {"details", "memory", "gpu_bytes"}));
                    }};
  for (const Part& part : kParts) stacks.parts.emplace_back(part.name);
  return stacked(runs, std::move(stacks));
}

/// Pools: KV reserved beside what there is, by pool.
std::optional<Table> of_pools(const Simulated& run) {
  Table t =
      table(fmt::format("KV memory of a node under {}, the fullest and on average", run.policy),
            {{"pool"}, {"nodes", true}, {"room for KV", true}, {"reserved, mean", true}, {"reserved, most", true}});
  for (const auto& [name, pool] : at(run.result, {"pools"}).items()) {
    t.rows.push_back({name, cell(number_or_nan(pool, {"nodes"}), plain),
                      cell(number_or_nan(pool, {"kv_capacity_bytes"}), results::bytes),
                      cell(number_or_nan(pool, {"kv_reserved_mean_bytes"}), results::bytes),
                      cell(number_or_nan(pool, {"kv_reserved_peak_bytes"}), results::bytes)});
  }
  if (t.rows.empty()) return std::nullopt;
  return t;
}

}  // namespace

Section memory(const Inputs& inputs) {
  Section s{"memory", "What GPU memory holds", {}};
  const auto add_pools = [&s](const Simulated& run) {
    if (auto t = of_pools(run)) s.blocks.emplace_back(std::move(*t));
  };
  for (const Inputs::Compared& compared : inputs.compares) add_pools(compared.results[chosen_of(compared)]);
  for (const Simulated& run : inputs.runs) add_pools(run);
  for (std::size_t i = 0; i < inputs.compares.size(); ++i) {
    const Inputs::Compared& compared = inputs.compares[i];
    const Simulated& chosen = compared.results[chosen_of(compared)];
    if (!is_known(chosen.result)) continue;
    s.blocks.emplace_back(waterfall(chosen, numbered("memory-waterfall", i)));
    if (compared.results.size() > 1)
      s.blocks.emplace_back(memory_by_policy(compared.results, numbered("memory-by-policy", i)));
  }
  for (std::size_t i = 0; i < inputs.runs.size(); ++i) {
    if (is_known(inputs.runs[i].result)) s.blocks.emplace_back(waterfall(inputs.runs[i], numbered("memory-of-run", i)));
  }
  return s;
}

}  // namespace kvsim::report
