#include "tools/results/plan.h"

#include <algorithm>
#include <functional>
#include <limits>

#include <fmt/format.h>

#include "tools/results/stated_error.h"

namespace kvsim::results {
namespace {

using planner::BreakdownRow;
using planner::OperatingPoint;
using planner::ScenarioPlan;
using planner::SimulatedCandidate;
using planner::SimulatedPlan;

Fields<OperatingPoint> point_fields(const Baseline& full_kv) {
  using P = OperatingPoint;
  return {
      {"x", {kTokens, "draft length: tokens drafted for a verification; 0: decoding with the full KV"}, "x", &P::x},
      {"c", {kPlain, "keep ratio: bytes of the compressed KV over those of the full KV"}, "c", &P::c, keep_ratio_text},
      {"B_c", {kRequests, "requests whose full KV is in host memory"}, "B_c", [](const P& p) { return p.batch.B_c; }},
      {"B_g", {kRequests, "requests whose full KV is in GPU memory"}, "B_g", [](const P& p) { return p.batch.B_g; }},
      {"l", {kCount, "iterations that a reload of full KV is spread over"}, "l", [](const P& p) { return p.batch.l; }},
      {"throughput_tokens_per_s",
       {kTokensPerS, kHigher, "output tokens a second of a replica, by the closed form"},
       "tokens/s",
       &P::throughput_tokens_per_s},
      {kOnPages, "speedup", [full_kv](const P& p) { return speedup(p, full_kv); }, factor},
      {kOnPages, "TPOT", &P::tpot_s, seconds},
      {"t_gpu_s",
       {kSeconds, kLower, "GPU time of an average iteration"},
       "T_gpu",
       [](const P& p) { return p.times.gpu_s; }},
      {"t_xfer_s", {kSeconds, kLower, "link time of an average iteration"}, "T_xfer", [](const P& p) {
         return p.times.transfer_s;
       }}};
}

/// Table of points with names in front of them.
Table point_table(std::string title, std::string first) {
  Table t = empty_table(std::move(title), point_fields({}));
  t.header.insert(t.header.begin(), std::move(first));
  t.align.insert(t.align.begin(), Align::left);
  return t;
}

void add_point(Table& t, std::string name, const Baseline& point, const Baseline& full_kv) {
  std::vector<Cell> row{"nothing fits"};
  if (point) row = cells(point_fields(full_kv), *point);
  row.insert(row.begin(), std::move(name));
  row.resize(t.header.size());
  t.rows.push_back(std::move(row));
}

std::string decision(const OperatingPoint& p, const Baseline& full_kv) {
  const std::string gain = full_kv ? fmt::format("{} of full-KV decoding", factor(speedup(p, full_kv)))
                                   : std::string("where not even one full KV would fit");
  const char* binding = p.times.transfer_s > p.times.gpu_s ? "the link sets the pace (T_xfer > T_gpu)"
                                                           : "the GPU sets the pace (T_gpu >= T_xfer)";
  return fmt::format("{}: {} tokens/s, {}; {}.", in_words(p), figure(p.throughput_tokens_per_s), gain, binding);
}

template <class Points>
Table model_table(const Points& points, planner::TransferModel asked, const Baseline& full_kv) {
  Table t = point_table("The three models of the transfer", "model");
  for (const auto& [model, point] : points) {
    add_point(t, std::string(planner::name_of(model)) + (model == asked ? " *" : ""), point, full_kv);
  }
  for (const planner::TransferModelName& entry : planner::kTransferModels) {
    const auto is_this = [&entry](const auto& of_model) { return of_model.first == entry.model; };
    if (std::none_of(points.begin(), points.end(), is_this)) add_point(t, std::string(entry.name), {}, full_kv);
  }
  if (full_kv) add_point(t, "full_kv", full_kv, full_kv);
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
  for (const BreakdownRow& row : plan.breakdown) add_point(t, row.name, row.optimum, row.full_kv);
  return t;
}

/// The least and the most tokens/s of any point.
std::pair<double, double> range_of(const std::vector<Baseline>& points) {
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
  std::vector<std::string> header{"c \\ x"};
  for (const std::int64_t x : columns) header.push_back(whole(x));
  Table t = with_columns("Tokens/s of the best batch, verified after x drafts: keep ratio c (down), x (across)",
                         std::move(header));
  t.align.front() = Align::right;
  const auto [least, most] = range_of(plan.best_of_each);
  for (std::size_t i = 0; i < r.keep_ratios.size(); ++i) {
    std::vector<Cell> row{keep_ratio_text(r.keep_ratios[i])};
    for (const std::int64_t x : columns) {
      const std::size_t at = i * static_cast<std::size_t>(lengths) + static_cast<std::size_t>(x - r.least_draft_length);
      const auto& point = plan.best_of_each[at];
      const bool best = x == plan.optimum.x && r.keep_ratios[i] == plan.optimum.c;
      row.push_back(point ? fmt::format("{}{}", best ? "*" : "",
                                        with_commas(fmt::format("{:.0f}", point->throughput_tokens_per_s)))
                          : "-");
      row.back().look = Look{!point ? Tone::faint : best ? Tone::best : Tone::plain};
      if (point) row.back().look->shade = shade_of(point->throughput_tokens_per_s, least, most);
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

Table memory_table(const ScenarioPlan& plan) {
  Table t = key_figures("Memory of one replica");
  t.rows = {
      {"weights", bytes(plan.weights_bytes)},
      {"room for KV", bytes(plan.room_bytes)},
      {"used by the plan", bytes(plan.optimum.kv_bytes), percent(plan.optimum.kv_bytes / plan.room_bytes)},
      {"full KV of a request", bytes(plan.kv_bytes),
       fmt::format("{} prompt and {} generated tokens", whole(plan.prompt_tokens), whole(plan.generated_tokens))}};
  return t;
}

std::string load_sentence(const planner::OfferedLoad& load) {
  return fmt::format("Offered load {} tokens/s per replica: {} of what the plan serves{}.",
                     figure(load.offered_tokens_per_s), percent(load.utilisation()),
                     load.sustainable() ? "" : ", so that queues grow without bound");
}

// Results of the search with the simulator in the loop.

double half_width_of_mean(const SimulatedCandidate& c) {
  return engine::confidence_95(c.tokens_per_s).half_width_95;
}

/// How many of a batch that was tried, or "open": as many as fit.
auto tried(std::int64_t planner::Batch::*requests) {
  return
      [requests](const SimulatedCandidate& c) { return c.open_batch ? Json("open") : Json(c.point.batch.*requests); };
}

Fields<SimulatedCandidate> tried_fields() {
  using C = SimulatedCandidate;
  return {{"x", {kTokens, "draft length that was tried"}, "x", [](const C& c) { return c.point.x; }},
          {"c", {kPlain, "keep ratio that was tried"}, "c", [](const C& c) { return c.point.c; }, keep_ratio_text},
          {"B_c",
           {kRequestsOrWord, "requests with their full KV in host memory, or open: as many as fit"},
           "B_c",
           tried(&planner::Batch::B_c)},
          {"B_g",
           {kRequestsOrWord, "requests with their full KV in GPU memory, or open: as many as fit"},
           "B_g",
           tried(&planner::Batch::B_g),
           [](const C& c) { return c.open_batch ? std::string() : whole(c.point.batch.B_g); }}};
}

Fields<SimulatedCandidate> candidate_fields() {
  using C = SimulatedCandidate;
  using F = Field<C>;
  Fields<C> fields{{"origin", {kText, "why the plan was tried"}, "why tried", &C::origin, Align::left},
                   F::part("plan", "what was tried", std::identity{}, tried_fields())};
  for (F field : tried_fields()) {
    field.key.clear();
    fields.push_back(std::move(field));
  }
  append(fields,
         {{"predicted_tokens_per_s",
           {kTokensPerS, kHigher, "what the closed form said; null: infeasible"},
           "predicted",
           &C::predicted,
           [](const C& c) { return c.predicted ? figure(*c.predicted) : "infeasible"; }},
          {"simulated_tokens_per_s",
           {kTokensPerS, kHigher, "what the simulation came to, mean over seeds"},
           "simulated",
           &C::mean},
          {"half_width_95",
           {kTokensPerS, kLower, "half the 95 % confidence interval of the simulated mean"},
           "",
           half_width_of_mean,
           [](const C& c) { return plus_minus(half_width_of_mean(c)); }},
          {"replications",
           {kCount, "seeds that were simulated"},
           "seeds",
           [](const C& c) { return c.tokens_per_s.size(); },
           [](const C& c) { return fmt::format("{}{}", c.tokens_per_s.size(), c.stopped ? ", stopped" : ""); }},
          {"stopped_early", {kTruth, "given up before all seeds: clearly worse than the best so far"}, &C::stopped}});
  return fields;
}

using engine::ConfidenceInterval;

Fields<ConfidenceInterval> interval_fields(const Unit& unit, const std::string& what) {
  return {{"mean", {unit, kHigher, what + ", mean over seeds"}, &ConfidenceInterval::mean},
          {"half_width_95",
           {unit, kLower, what + ", half the 95 % confidence interval"},
           &ConfidenceInterval::half_width_95},
          {"replications", {kCount, "seeds behind the interval"}, &ConfidenceInterval::observations}};
}

}  // namespace

std::string keep_ratio_text(double ratio) {
  return fmt::format("{:.4g}", ratio);
}

double speedup(const OperatingPoint& point, const Baseline& full_kv) {
  return full_kv ? point.throughput_tokens_per_s / full_kv->throughput_tokens_per_s : kNone;
}

std::string in_words(const OperatingPoint& p) {
  if (p.x == 0) return fmt::format("decode with the full KV, {} at once", counted(p.batch.requests(), "request"));
  const std::string depth = p.d_e > 1 ? fmt::format(" ({} tokens each, with the drafter)", p.d_e) : "";
  return fmt::format("draft {}{} on KV kept to {}, {} offloaded and {} resident", counted(p.x, "token"), depth,
                     keep_ratio_text(p.c), counted(p.batch.B_c, "request"), whole(p.batch.B_g));
}

Fields<OperatingPoint> operating_point_fields() {
  return point_fields({});
}

Fields<OperatingPoint> symbols_point_fields() {
  Fields<OperatingPoint> fields = operating_point_fields();
  fields.push_back({"d_e?",
                    {kTokens, "tokens that a draft step proposes, where a drafter proposes several"},
                    [](const OperatingPoint& p) { return p.d_e > 1 ? std::optional(p.d_e) : std::nullopt; }});
  return fields;
}

Json operating_point(const OperatingPoint& p) {
  return object(point_fields({}), p);
}

Fields<SimulatedPlan> simulated_fields() {
  using S = SimulatedPlan;
  using F = Field<S>;
  return {F::part("best", "the plan that won", &S::best, tried_fields()),
          {"origin", {kText, "why the plan that won was tried"}, [](const S& s) { return s.best().origin; }},
          F::part("throughput_tokens_per_s", "of the plan that won, on seeds that did not choose it", &S::throughput,
                  interval_fields(kTokensPerS, "output tokens a second of the plan that won")),
          F::part("full_kv_tokens_per_s", "of decoding with the full KV, on the same seeds", &S::full_kv,
                  interval_fields(kTokensPerS, "output tokens a second of full-KV decoding")),
          F::part("speedup", "of the plan that won over full-KV decoding", &S::speedup,
                  interval_fields(kFactor, "speedup over full-KV decoding")),
          {"predicted_over_simulated",
           {kPlain, "what the closed form said over what was simulated"},
           [](const S& s) {
             const auto gap = s.gap();
             return gap ? std::optional(*gap + 1) : std::nullopt;
           }},
          {"simulations", {kCount, "simulations that the search took"}, &S::simulations},
          F::list("candidates", "plans that were simulated, best first", &S::candidates, candidate_fields()),
          {"remark", {kText, "which seeds the intervals are from"}, [](const S&) {
             return "per replica; the intervals are from seeds that were not used to choose, those of the candidates "
                    "from seeds that were";
           }}};
}

std::string simulated_verdict(const SimulatedPlan& found) {
  const SimulatedCandidate& best = found.best();
  const std::string chosen = !best.open_batch ? in_words(best.point)
                             : best.point.x == 0
                                 ? "decode with the full KV, as many requests as fit"
                                 : fmt::format("draft {} on KV kept to {}, as many requests as fit",
                                               counted(best.point.x, "token"), keep_ratio_text(best.point.c));
  std::string text = fmt::format("Simulated: {}: {} {} tokens/s", chosen, figure(found.throughput.mean),
                                 plus_minus(found.throughput.half_width_95));
  if (found.speedup) {
    text += fmt::format(", {} {} of full-KV decoding", factor(found.speedup->mean),
                        plus_minus(found.speedup->half_width_95, factor));
  }
  if (const auto gap = found.gap()) {
    text += fmt::format("; the closed form said {} ({:+.1f} %)", figure(*best.predicted), *gap * 100);
  }
  return text + ".";
}

Table simulated_table(const SimulatedPlan& found) {
  constexpr std::size_t kShown = 20;
  Table t = table_of(fmt::format("Simulated candidates, best first ({})", counted(found.simulations, "simulation")),
                     candidate_fields(), found.candidates);
  t.rows.resize(std::min(t.rows.size(), kShown));
  return t;
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
  page.lists = {symbols_list(),
                {"how sure", how_sure(o.scenario)},
                {"assumptions", o.scenario.assumptions},
                {"fall-backs", plan.fallbacks}};
  return page;
}

}  // namespace kvsim::results
