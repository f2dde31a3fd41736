// Which resource binds, what more of each would bring, how far the plan holds.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tools/report/binding.h"
#include "tools/report/choice.h"
#include "tools/report/report.h"
#include "tools/report/stacks.h"
#include "tools/report/tables.h"
#include "tools/results/numbers.h"

namespace kvsim::report {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 4> kCauses{
    {{"hbm_bandwidth", "HBM bandwidth"}, {"compute", "compute"}, {"link", "a link"}, {"idle", "nothing: idle"}}};

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
  Plot p;
  p.id = numbered("elasticities", index);
  p.title = "What 10 % more of each would bring, in tokens/s";
  p.caption = "By simulation, with the plan made anew for it. ±: half of the 95 % interval.";
  p.data = table(p.title, {{"10 % more"},
                           {"tokens/s, planned anew", true},
                           {"tokens/s, same plan", true},
                           {"elasticity", true},
                           {"plan for it"}});
  plot::Bars bars;
  bars.title = p.title;
  bars.description = p.caption;
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
  p.drawing = std::move(bars);
  return p;
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
  const auto add = [&](const char* of, const char* what, Path path) {
    const double share = number_or_nan(explanation, path);
    if (std::isfinite(share)) t.rows.push_back({of, what, cell(share, results::percent)});
  };
  for (const auto& [key, name] : kCauses) add("GPU time bound by", name, {"binding", "time_shares", key});
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

/// What the GPUs' time was bound by, a bar a policy.
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
                  return number_or_nan(result, {"gpu", "bound_by", kCauses[part].first});
                }};
  for (const auto& [key, name] : kCauses) stacks.parts.emplace_back(name);
  return stacked(runs, std::move(stacks));
}

}  // namespace

std::string factor_name(std::string_view key) {
  if (key == "hbm_capacity") return "GPU memory (HBM capacity)";
  if (key == "hbm_bandwidth") return "HBM bandwidth";
  if (key == "link_bandwidth") return "link bandwidth (host to GPU)";
  if (key == "agreement") return "agreement of the drafts";
  if (key == "context") return "context length";
  std::string name(key);
  for (char& c : name) c = c == '_' ? ' ' : c;
  return name;
}

std::string explained_plan(const Json& explanation) {
  const std::string plan = plan_text(at(explanation, {"plan"}));
  if (plan.empty()) return {};
  return fmt::format("\nThis is of the plan that the closed forms choose, {}: {} tokens/s simulated.", plan,
                     interval_text(number_or_nan(explanation, {"binding", "output_tokens_per_s"}),
                                   number_or_nan(explanation, {"binding", "half_width_95"}), results::figure));
}

std::string time_and_memory(const Json& explanation) {
  if (text(explanation, {"binding", "resource"}) != "hbm_capacity") return {};
  const double share = number_or_nan(explanation, {"binding", "time_shares", "hbm_bandwidth"});
  constexpr double most = 0.5;
  if (!(share > most)) return {};
  return fmt::format(
      "\nThe GPUs spend {} of their time reading memory, whatever is decoded: how many requests share each "
      "reading is what memory decides.",
      results::percent(share));
}

Section binding(const Inputs& inputs) {
  Section s{"binding", "What binds", {}};
  for (std::size_t i = 0; i < inputs.plans.size(); ++i) {
    const Json& e = at(inputs.plans[i], {"explanation"});
    if (e.empty()) continue;
    s.blocks.emplace_back(
        Prose{on_one_line(text(e, {"binding", "sentence"}) + time_and_memory(e) + explained_plan(e))});
    s.blocks.emplace_back(elasticities(e, i));
    s.blocks.emplace_back(margins(e));
    if (const std::string searched = text(e, {"margins", "searched"}); !searched.empty()) {
      s.blocks.emplace_back(Prose{"Searched " + searched + "."});
    }
    s.blocks.emplace_back(time_shares(e));
    if (auto remarks = texts(e, {"remarks"}); !remarks.empty()) {
      s.blocks.emplace_back(List{"Remarks", std::move(remarks)});
    }
  }
  for (std::size_t i = 0; i < inputs.compares.size(); ++i) {
    s.blocks.emplace_back(by_policy(inputs.compares[i].results, numbered("bound-by", i)));
  }
  if (!inputs.runs.empty()) s.blocks.emplace_back(by_policy(inputs.runs, "bound-by-of-runs"));
  return s;
}

}  // namespace kvsim::report
