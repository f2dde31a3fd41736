// Throughput over draft length and keep ratio, by the closed forms; and what sweeps found over their axes.
#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/report/sweep_view.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

void add_plan(Section& s, const Json& plan, std::size_t index) {
  const Json& h = at(plan, {"details", "heat_map"});
  const std::vector<double> xs = numbers(h, {"draft_length"}), cs = numbers(h, {"keep_ratio"});
  const Json& values = at(h, {"throughput_tokens_per_s"});
  if (xs.empty() || !values.is_array() || values.size() != cs.size()) return;
  const double best_x = number_or_nan(plan, {"optimum", "x"}), best_c = number_or_nan(plan, {"optimum", "c"});
  const Json& won = at(plan, {"simulated", "best"});
  const double won_x = number_or_nan(won, {"x"}), won_c = number_or_nan(won, {"c"});
  Plot p;
  p.id = numbered("plan-map", index);
  p.title = "Tokens/s over draft length and keep ratio, by the closed forms";
  p.caption = fmt::format(
      "One replica, the best batch of every cell, model {}. Framed: the optimum "
      "by these forms, {}. Hatched: cannot be, no batch fits.",
      text(plan, {"model"}), plan_text(at(plan, {"optimum"})));
  if (!won.empty() && (won_x != best_x || won_c != best_c)) {
    p.caption += fmt::format(" Dashed: what won by simulation, {}.", plan_text(won));
  }
  plot::HeatMap map;
  map.x_title = "draft length x in tokens";
  map.y_title = "keep ratio c";
  for (const double x : xs) map.x_labels.push_back(plain(x));
  for (std::size_t r = 0; r < cs.size(); ++r) {
    map.y_labels.push_back(plain(cs[r]));
    std::vector<plot::HeatCell> row(xs.size());
    for (std::size_t c = 0; c < xs.size(); ++c) {
      const bool there = values[r].is_array() && c < values[r].size() && values[r][c].is_number();
      const std::string where = fmt::format("x = {}, c = {}", plain(xs[c]), plain(cs[r]));
      if (there) {
        const double value = values[r][c].get<double>();
        row[c] = {value, results::figure(value), fmt::format("{}: {} tokens/s", where, results::figure(value))};
      } else {
        row[c] = {std::nullopt, "-", where + ": no batch fits"};
      }
      if (xs[c] == best_x && cs[r] == best_c) map.best = {r, c};
      if (xs[c] == won_x && cs[r] == won_c) map.chosen = {r, c};
    }
    map.rows.push_back(std::move(row));
  }
  s.add(mapped(std::move(p), std::move(map), "c \\ x"));
}

}  // namespace

Section maps(const Inputs& inputs) {
  Section s{"maps", "Draft length, keep ratio and what else was varied", {}};
  for (std::size_t i = 0; i < inputs.plans.size(); ++i) add_plan(s, inputs.plans[i], i);
  for (std::size_t i = 0; i < inputs.sweeps.size(); ++i) {
    const SweepView view(inputs.sweeps[i]);
    add_sweep_maps(s, view, i);
    add_sweep_tables(s, view);
  }
  return s;
}

}  // namespace kvsim::report
