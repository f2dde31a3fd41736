#include "tools/results/plan_page.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tools/results/numbers.h"
#include "tools/results/simulated_plan.h"

namespace kvsim::results {
namespace {

using planner::OperatingPoint;
using planner::ScenarioPlan;

std::string ratio(double c) {
  return fmt::format("{:.4g}", c);
}

std::vector<std::string> point_row(std::string label, const OperatingPoint& p,
                                   const std::optional<OperatingPoint>& full_kv) {
  return {std::move(label),
          whole(p.x),
          ratio(p.c),
          whole(p.batch.B_c),
          whole(p.batch.B_g),
          whole(p.batch.l),
          figure(p.throughput_tokens_per_s),
          factor(plan_speedup(p, full_kv)),
          seconds(p.tpot_s()),
          seconds(p.times.gpu_s),
          seconds(p.times.transfer_s)};
}

Table point_table(std::string title, std::string first) {
  Table t;
  t.title = std::move(title);
  t.header = {std::move(first), "x", "c", "B_c", "B_g", "l", "tokens/s", "speedup", "TPOT", "T_gpu", "T_xfer"};
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  return t;
}

const char* binding(const OperatingPoint& p) {
  return p.times.transfer_s > p.times.gpu_s ? "the link sets the pace (T_xfer > T_gpu)"
                                            : "the GPU sets the pace (T_gpu >= T_xfer)";
}

std::string decision(const OperatingPoint& p, const std::optional<OperatingPoint>& full_kv) {
  const std::string gain = full_kv ? fmt::format("{} of full-KV decoding", factor(plan_speedup(p, full_kv)))
                                   : std::string("where not even one full KV would fit");
  return fmt::format("{}: {} tokens/s, {}; {}.", plan_in_words(p), figure(p.throughput_tokens_per_s), gain, binding(p));
}

template <class Points>
Table model_table(const Points& points, planner::TransferModel asked, const std::optional<OperatingPoint>& full_kv) {
  Table t = point_table("The three models of the transfer", "model");
  for (const auto& [model, point] : points) {
    const std::string name(planner::name_of(model));
    t.rows.push_back(point_row(model == asked ? name + " *" : name, point, full_kv));
  }
  for (const planner::TransferModelName& entry : planner::kTransferModels) {
    const auto is_this = [&entry](const auto& of_model) { return of_model.first == entry.model; };
    if (std::any_of(points.begin(), points.end(), is_this)) continue;
    t.rows.push_back({std::string(entry.name), "nothing fits"});
    t.rows.back().resize(t.header.size());
  }
  if (full_kv) t.rows.push_back(point_row("full_kv", *full_kv, full_kv));
  return t;
}

List symbols_list() {
  return {"symbols",
          {"x: tokens drafted per verification; c: compressed / full KV bytes; l: iterations that a reload spans",
           "B_c, B_g: requests whose full KV is in host memory, and in GPU memory",
           "T_gpu, T_xfer: GPU work and link time of an average iteration; the longer one is its length",
           "* the model that was asked for"}};
}

Table breakdown_table(const ScenarioPlan& plan) {
  Table t = point_table("From the closed form to the plan: each line adds one refinement", "with");
  for (const planner::BreakdownRow& row : plan.breakdown) {
    if (row.optimum) {
      t.rows.push_back(point_row(row.name, *row.optimum, row.full_kv));
    } else {
      t.rows.push_back({row.name, "nothing fits"});
      t.rows.back().resize(t.header.size());
    }
  }
  return t;
}

/// The least and the most tokens/s of any point.
std::pair<double, double> range_of(const std::vector<std::optional<OperatingPoint>>& points) {
  std::pair<double, double> range{std::numeric_limits<double>::infinity(), 0};
  for (const auto& point : points) {
    if (!point) continue;
    range.first = std::min(range.first, point->throughput_tokens_per_s);
    range.second = std::max(range.second, point->throughput_tokens_per_s);
  }
  return range;
}

/// Tokens/s over keep ratio and draft length, at most a dozen columns; the optimum's own are among them.
Table heat_table(const ScenarioPlan& plan) {
  constexpr std::int64_t kColumns = 12;
  const planner::PlanRequest& r = plan.request;
  const std::int64_t lengths = r.most_draft_length - r.least_draft_length + 1;
  const std::int64_t step = (lengths + kColumns - 1) / kColumns;
  std::vector<std::int64_t> columns;
  for (std::int64_t x = r.least_draft_length + step - 1; x <= r.most_draft_length; x += step) columns.push_back(x);
  if (plan.optimum.x > 0 && std::find(columns.begin(), columns.end(), plan.optimum.x) == columns.end()) {
    columns.insert(std::upper_bound(columns.begin(), columns.end(), plan.optimum.x), plan.optimum.x);
  }
  Table t;
  t.title = "Tokens/s of the best batch, verified after x drafts: keep ratio c (down), x (across)";
  t.header.emplace_back("c \\ x");
  for (const std::int64_t x : columns) t.header.push_back(whole(x));
  t.align.assign(t.header.size(), Align::right);
  const auto [least, most] = range_of(plan.best_of_each);
  for (std::size_t i = 0; i < r.keep_ratios.size(); ++i) {
    std::vector<std::string> row{ratio(r.keep_ratios[i])};
    std::vector<Look> looks{{}};
    for (const std::int64_t x : columns) {
      const std::size_t at = i * static_cast<std::size_t>(lengths) + static_cast<std::size_t>(x - r.least_draft_length);
      const auto& point = plan.best_of_each[at];
      const bool best = x == plan.optimum.x && r.keep_ratios[i] == plan.optimum.c;
      row.push_back(point ? fmt::format("{}{}", best ? "*" : "",
                                        with_commas(fmt::format("{:.0f}", point->throughput_tokens_per_s)))
                          : "-");
      looks.push_back({!point ? Tone::faint : best ? Tone::best : Tone::plain});
      if (point) looks.back().shade = shade_of(point->throughput_tokens_per_s, least, most);
    }
    t.rows.push_back(std::move(row));
    t.looks.push_back(std::move(looks));
  }
  return t;
}

Table memory_table(const ScenarioPlan& plan) {
  Table t = key_figures("Memory of one replica");
  t.rows.push_back({"weights", bytes(plan.weights_bytes), ""});
  t.rows.push_back({"room for KV", bytes(plan.room_bytes), ""});
  t.rows.push_back(
      {"used by the plan", bytes(plan.optimum.kv_bytes), percent(plan.optimum.kv_bytes / plan.room_bytes)});
  t.rows.push_back(
      {"full KV of a request", bytes(plan.kv_bytes),
       fmt::format("{} prompt and {} generated tokens", whole(plan.prompt_tokens), whole(plan.generated_tokens))});
  return t;
}

std::string load_sentence(const planner::OfferedLoad& load) {
  return fmt::format("Offered load {} tokens/s per replica: {} of what the plan serves{}.",
                     figure(load.offered_tokens_per_s), percent(load.utilisation()),
                     load.sustainable() ? "" : ", so that queues grow without bound");
}

}  // namespace

std::string plan_in_words(const OperatingPoint& p) {
  if (p.x == 0) return fmt::format("decode with the full KV, {} requests at once", whole(p.batch.requests()));
  const std::string depth = p.d_e > 1 ? fmt::format(" ({} tokens each, with the drafter)", p.d_e) : "";
  return fmt::format("draft {} tokens{} on KV kept to {}, {} requests offloaded and {} resident", whole(p.x), depth,
                     ratio(p.c), whole(p.batch.B_c), whole(p.batch.B_g));
}

Page plan_page(const SymbolsOutcome& o) {
  Page page;
  page.title = "Plan from raw symbols";
  page.subtitle = {decision(o.plan.optimum, o.plan.full_kv),
                   fmt::format("Exact optimum under model {}, {} batches worked out in {}.",
                               planner::name_of(o.problem.model), whole(o.plan.evaluated), seconds(o.wall_s))};
  page.tables.push_back(model_table(o.by_model, o.problem.model, o.plan.full_kv));
  page.lists.push_back(symbols_list());
  return page;
}

Page plan_page(const PlanOutcome& o) {
  const ScenarioPlan& plan = o.plan;
  Page page;
  page.title = fmt::format("Plan: {}", o.scenario.name);
  page.subtitle = {
      decision(plan.optimum, plan.full_kv),
      fmt::format("Closed forms, one replica, compressor {}, model {}; planned in {}.",
                  o.scenario.serving.decode.compressor.name, planner::name_of(plan.request.model), seconds(o.wall_s))};
  if (o.simulated) page.subtitle.push_back(simulated_verdict(*o.simulated));
  if (plan.load) page.subtitle.push_back(load_sentence(*plan.load));
  page.tables = {model_table(plan.by_model, plan.request.model, plan.full_kv)};
  if (o.simulated) page.tables.push_back(simulated_table(*o.simulated));
  page.tables.insert(page.tables.end(), {breakdown_table(plan), heat_table(plan), memory_table(plan)});
  page.lists.push_back(symbols_list());
  page.lists.push_back({"assumptions", o.scenario.assumptions});
  page.lists.push_back({"fall-backs", plan.fallbacks});
  return page;
}

}  // namespace kvsim::results
