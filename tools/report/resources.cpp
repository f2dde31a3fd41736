// Which resource binds, what more of each would bring, how far the plan holds; what GPU memory holds.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <optional>

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

std::string change_text(double relative, double half) {
  if (!std::isfinite(relative)) return "-";
  std::string said = fmt::format("{:+.1f} %", relative * 100);
  if (std::isfinite(half)) said += fmt::format(" ± {:.1f} %", half * 100);
  return said;
}

Cell change(const Json& side) {
  const double relative = number_or_nan(side, {"relative"});
  return std::isfinite(relative) ? Cell{change_text(relative, number_or_nan(side, {"half_width_95"})), relative}
                                 : Cell{"-"};
}

Plot elasticities(const Json& explanation, std::size_t index) {
  Plot p = plot_of(numbered("elasticities", index), "What 10 % more of each would bring, in tokens/s",
                   "By simulation, with the plan made anew for it. ±: half of the 95 % interval.",
                   {{"10 % more"},
                    {"change of tokens/s, planned anew", true},
                    {"change of tokens/s, same plan", true},
                    {"elasticity", true},
                    {"plan for it"}});
  plot::Bars bars;
  bars.x_title = "change of tokens/s in %";
  std::vector<std::pair<std::string, const Json*>> ranked;
  for (const auto& [key, e] : at(explanation, {"elasticities"}).items()) ranked.emplace_back(key, &e);
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
    return number(*a.second, {"replanned", "relative"}).value_or(0) >
           number(*b.second, {"replanned", "relative"}).value_or(0);
  });
  for (const auto& [key, found] : ranked) {
    const Json& e = *found;
    const std::string name = factor_name(key);
    p.data.rows.push_back({name, change(at(e, {"replanned"})), change(at(e, {"kept"})),
                           cell(number_or_nan(e, {"elasticity"}), results::figure),
                           truth(e, {"same_plan"}) ? "the same" : plan_text(at(e, {"plan"}))});
    const double relative = number_or_nan(e, {"replanned", "relative"});
    if (!std::isfinite(relative)) continue;
    bars.bars.push_back({name,
                         {{0, relative * 100, 0, tip_of(p.data, p.data.rows.size() - 1)}},
                         change_text(relative, number_or_nan(e, {"replanned", "half_width_95"}))});
  }
  return with_drawing(std::move(p), std::move(bars));
}

std::string side(const Json& margin) {
  const auto factor = number(margin, {"factor"});
  if (!factor) return "however far it was searched";
  const double change = (*factor - 1) * 100;
  constexpr double small = 0.05;  // would be printed as 0.0
  return fmt::format("{:+.{}f} %: {}", change, std::fabs(change) < small ? 3 : 1, text(margin, {"change"}));
}

Table margins(const Json& explanation) {
  Table t = table("How far the plan stays the best, by the closed forms",
                  {{"if there is"}, {"less, until"}, {"more, until"}});
  for (const auto& [key, m] : at(explanation, {"margins"}).items()) {
    if (!m.is_object()) continue;
    t.rows.push_back({factor_name(key), side(at(m, {"down"})), side(at(m, {"up"}))});
  }
  return t;
}

Table time_shares(const Json& explanation) {
  Table t = table("Where the time goes", {{"share of"}, {"what"}, {"share", true}});
  const auto add = [&](const char* of, const std::string& what, Path path) {
    const double share = number_or_nan(explanation, path);
    if (std::isfinite(share)) t.rows.push_back({of, what, cell(share, results::percent)});
  };
  for (const serving::TimePartName& part : serving::kTimeParts) {
    add("GPU time bound by", time_part_name(part.key), {"binding", "time_shares", part.key});
  }
  add("time in which", "the next request or reload found no room in GPU memory", {"binding", "short_of_gpu_memory"});
  add("link time in use", "host to GPU", {"utilisation", "host_to_gpu"});
  add("link time in use", "GPU to host", {"utilisation", "gpu_to_host"});
  add("GPU memory in use", "mean", {"utilisation", "hbm_mean"});
  add("GPU memory in use", "peak", {"utilisation", "hbm_peak"});
  add("iterations of requests", "drafting", {"stalls", "drafting"});
  add("iterations of requests", "verifying", {"stalls", "verifying"});
  add("iterations of requests", "stalled, the reload was late", {"stalls", "late_reload"});
  add("iterations of requests", "stalled otherwise", {"stalls", "otherwise"});
  return t;
}

/// Parts of the GPUs' time by what bound it, a bar a policy.
Plot by_policy(const std::vector<Simulated>& runs, const std::string& id) {
  constexpr double one_percent = 0.01;
  Stacks stacks{.id = id,
                .title = "What the GPUs' time was bound by",
                .caption = "Shares of the measured time.",
                .x_title = "% of the time",
                .unit = one_percent,
                .parts = {},
                .print = results::percent,
                .of = [](const Json& result, std::size_t part) {
                  return number_or_nan(result, {"gpu", "bound_by", serving::kTimeParts[part].key});
                }};
  for (const serving::TimePartName& part : serving::kTimeParts) stacks.parts.emplace_back(time_part_name(part.key));
  return stacked(runs, std::move(stacks));
}

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
  Plot p = plot_of(
      id, fmt::format("Memory of one replica's GPUs under {}", run.policy),
      fmt::format("From all of it, {}, to what is left. KV that stays: what requests decode or draft on, full or "
                  "compressed. Means "
                  "over the measured time; most at once: {} of KV that streams in, {} of all KV.",
                  results::bytes(all),
                  results::bytes(number_or_nan(run.result, {"details", "memory", "kv", "streaming_peak_bytes"})),
                  results::bytes(number_or_nan(run.result, {"details", "memory", "kv", "reserved_peak_bytes"}))),
      {{"part"}, {"bytes", true}, {"share", true}});
  plot::Bars bars;
  bars.x_title = "GB";
  double end = all;
  bars.bars.push_back({"all of it", {{0, all / kGB, 7, "all of it: " + results::bytes(all)}}, results::bytes(all)});
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
        {kParts[i].name, {{begin / kGB, end / kGB, i, tip_of(p.data, p.data.rows.size() - 1)}}, results::bytes(size)});
    end = begin;
  }
  return with_drawing(std::move(p), std::move(bars));
}

Plot memory_by_policy(const std::vector<Simulated>& all, const std::string& id) {
  std::vector<Simulated> runs;
  std::copy_if(all.begin(), all.end(), std::back_inserter(runs),
               [](const Simulated& run) { return is_known(run.result); });
  Stacks stacks{.id = id,
                .title = "Memory of one replica's GPUs, by policy",
                .caption = "Means over the measured time. What policies differ in is the KV.",
                .x_title = "GB",
                .unit = kGB,
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

Section binding(const Inputs& inputs) {
  Section s{"binding", "What binds", {}};
  for (std::size_t i = 0; i < inputs.plans.size(); ++i) {
    const Json& e = at(inputs.plans[i], {"explanation"});
    if (e.empty()) continue;
    s.add(Prose{on_one_line(text(e, {"binding", "sentence"}) + time_and_memory(e) + explained_plan(e))});
    s.add(elasticities(e, i));
    s.add(margins(e));
    if (const std::string searched = text(e, {"margins", "searched"}); !searched.empty()) {
      s.add(Prose{"Searched " + searched + "."});
    }
    s.add(time_shares(e));
    s.add(List{"Remarks", texts(e, {"remarks"})});
  }
  for (std::size_t i = 0; i < inputs.compares.size(); ++i) {
    s.add(by_policy(inputs.compares[i].results, numbered("bound-by", i)));
  }
  if (!inputs.runs.empty()) s.add(by_policy(inputs.runs, "bound-by-of-runs"));
  return s;
}

Section memory(const Inputs& inputs) {
  Section s{"memory", "What GPU memory holds", {}};
  const auto add_pools = [&s](const Simulated& run) {
    if (auto t = of_pools(run)) s.add(std::move(*t));
  };
  for (const Inputs::Compared& compared : inputs.compares) add_pools(compared.results[chosen_of(compared)]);
  for (const Simulated& run : inputs.runs) add_pools(run);
  for (std::size_t i = 0; i < inputs.compares.size(); ++i) {
    const Inputs::Compared& compared = inputs.compares[i];
    const Simulated& chosen = compared.results[chosen_of(compared)];
    if (!is_known(chosen.result)) continue;
    s.add(waterfall(chosen, numbered("memory-waterfall", i)));
    if (compared.results.size() > 1) s.add(memory_by_policy(compared.results, numbered("memory-by-policy", i)));
  }
  for (std::size_t i = 0; i < inputs.runs.size(); ++i) {
    if (is_known(inputs.runs[i].result)) s.add(waterfall(inputs.runs[i], numbered("memory-of-run", i)));
  }
  return s;
}

}  // namespace kvsim::report
