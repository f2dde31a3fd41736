#include "tools/results/plan.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "tools/results/fields.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::BreakdownRow;
using planner::OperatingPoint;
using planner::ScenarioPlan;
using planner::SimulatedCandidate;
using planner::SimulatedPlan;

using Baseline = std::optional<OperatingPoint>;  ///< with the full KV; none: not even one fits

double speedup(const OperatingPoint& point, const Baseline& full_kv) {
  return full_kv ? point.throughput_tokens_per_s / full_kv->throughput_tokens_per_s : kNone;
}

Fields<OperatingPoint> point_fields(const Baseline& full_kv) {
  using P = OperatingPoint;
  return {{"x", "x", &P::x},
          {"c", "c", &P::c, keep_ratio_text},
          {"B_c", "B_c", [](const P& p) { return p.batch.B_c; }},
          {"B_g", "B_g", [](const P& p) { return p.batch.B_g; }},
          {"l", "l", [](const P& p) { return p.batch.l; }},
          {"throughput_tokens_per_s", "tokens/s", &P::throughput_tokens_per_s},
          {"", "speedup", [full_kv](const P& p) { return speedup(p, full_kv); }, factor},
          {"", "TPOT", &P::tpot_s, seconds},
          {"t_gpu_s", "T_gpu", [](const P& p) { return p.times.gpu_s; }, seconds},
          {"t_xfer_s", "T_xfer", [](const P& p) { return p.times.transfer_s; }, seconds}};
}

/// Of points with names in front of them.
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

/// "draft 35 tokens on KV kept to 0.20, 12 requests offloaded, 0 resident", or "decode with the full KV, 3 requests".
std::string in_words(const OperatingPoint& p) {
  if (p.x == 0) return fmt::format("decode with the full KV, {} requests at once", whole(p.batch.requests()));
  const std::string depth = p.d_e > 1 ? fmt::format(" ({} tokens each, with the drafter)", p.d_e) : "";
  return fmt::format("draft {} tokens{} on KV kept to {}, {} requests offloaded and {} resident", whole(p.x), depth,
                     keep_ratio_text(p.c), whole(p.batch.B_c), whole(p.batch.B_g));
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

// What the search with the simulator in the loop found.

double half_width(const SimulatedCandidate& c) {
  return engine::confidence_95(c.tokens_per_s).half_width_95;
}

Json tried_plan(const SimulatedCandidate& c) {
  const auto batch = [&c](std::int64_t requests) { return c.open_batch ? Json("open") : Json(requests); };
  return {{"x", c.point.x}, {"c", c.point.c}, {"B_c", batch(c.point.batch.B_c)}, {"B_g", batch(c.point.batch.B_g)}};
}

const Fields<SimulatedCandidate> kCandidateFields{
    {"origin", "why tried", &SimulatedCandidate::origin, Align::left},
    {"plan", tried_plan},
    {"", "x", [](const SimulatedCandidate& c) { return c.point.x; }},
    {"", "c", [](const SimulatedCandidate& c) { return c.point.c; }, keep_ratio_text},
    {"", "B_c", [](const SimulatedCandidate& c) { return tried_plan(c)["B_c"]; }},
    {"", "B_g", [](const SimulatedCandidate& c) { return c.open_batch ? Json("") : Json(c.point.batch.B_g); }},
    {"predicted_tokens_per_s", "predicted", &SimulatedCandidate::predicted,
     [](const SimulatedCandidate& c) { return c.predicted ? figure(*c.predicted) : "infeasible"; }},
    {"simulated_tokens_per_s", "simulated", &SimulatedCandidate::mean},
    {"half_width_95", "", half_width, [](const SimulatedCandidate& c) { return plus_minus(half_width(c)); }},
    {"replications", "seeds", [](const SimulatedCandidate& c) { return c.tokens_per_s.size(); },
     [](const SimulatedCandidate& c) {
       return fmt::format("{}{}", c.tokens_per_s.size(), c.stopped ? ", stopped" : "");
     }},
    {"stopped_early", &SimulatedCandidate::stopped}};

using engine::ConfidenceInterval;

const Fields<ConfidenceInterval> kIntervalFields{{"mean", &ConfidenceInterval::mean},
                                                 {"half_width_95", &ConfidenceInterval::half_width_95},
                                                 {"replications", &ConfidenceInterval::observations}};

Json interval(const std::optional<ConfidenceInterval>& i) {
  return i ? object(kIntervalFields, *i) : Json(nullptr);
}

Json simulated_json(const SimulatedPlan& found) {
  const auto gap = found.gap();
  return {{"best", tried_plan(found.best())},
          {"origin", found.best().origin},
          {"throughput_tokens_per_s", interval(found.throughput)},
          {"full_kv_tokens_per_s", interval(found.full_kv)},
          {"speedup", interval(found.speedup)},
          {"predicted_over_simulated", gap ? Json(*gap + 1) : Json(nullptr)},
          {"simulations", found.simulations},
          {"candidates", array(kCandidateFields, found.candidates)},
          {"remark",
           "per replica; the intervals are from seeds that were not used to choose, those of the candidates from seeds "
           "that were"}};
}

std::string simulated_verdict(const SimulatedPlan& found) {
  const SimulatedCandidate& best = found.best();
  const std::string chosen = !best.open_batch ? in_words(best.point)
                             : best.point.x == 0
                                 ? "decode with the full KV, as many requests as fit"
                                 : fmt::format("draft {} tokens on KV kept to {}, as many requests as fit",
                                               best.point.x, keep_ratio_text(best.point.c));
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
  Table t = table_of(fmt::format("Simulated candidates, best first ({} simulations)", whole(found.simulations)),
                     kCandidateFields, found.candidates);
  t.rows.resize(std::min(t.rows.size(), kShown));
  return t;
}

// The documents.

/// The fixed part.
void add_plan(Section& doc, const OperatingPoint& optimum, const Baseline& full_kv, std::uint64_t evaluated,
              double wall_s, bool timing) {
  doc.set("optimum", operating_point(optimum));
  doc.set("full_kv", Json{{"B", full_kv ? full_kv->batch.B_g : 0},
                          {"throughput_tokens_per_s", full_kv ? full_kv->throughput_tokens_per_s : 0.0}});
  doc.number("speedup", speedup(optimum, full_kv), "not even one full KV fits");
  doc.count("candidates_evaluated", evaluated);
  if (timing) {
    doc.number("wall_s", wall_s, "not measured");
  } else {
    doc.missing("wall_s", "wall-clock figures differ between equal runs: ask with --timing");
  }
}

const Fields<BreakdownRow> kBreakdownFields{
    {"with", &BreakdownRow::name},
    {"description", &BreakdownRow::description},
    {"optimum", [](const BreakdownRow& r) { return r.optimum ? operating_point(*r.optimum) : Json(nullptr); }},
    {"full_kv_tokens_per_s",
     [](const BreakdownRow& r) { return r.full_kv ? r.full_kv->throughput_tokens_per_s : kNone; }}};

/// Tokens/s of the best batch, by keep ratio, then draft length.
Json heat_map(const ScenarioPlan& plan) {
  Json draft_lengths = Json::array();
  for (std::int64_t x = plan.request.least_draft_length; x <= plan.request.most_draft_length; ++x) {
    draft_lengths.push_back(x);
  }
  Json rows = Json::array();
  std::size_t at = 0;
  for (std::size_t i = 0; i < plan.request.keep_ratios.size(); ++i) {
    Json& row = rows.emplace_back(Json::array());
    for (std::size_t k = 0; k < draft_lengths.size(); ++k, ++at) {
      const auto& point = plan.best_of_each[at];
      row.push_back(point ? Json(point->throughput_tokens_per_s) : Json(nullptr));
    }
  }
  return {{"draft_length", std::move(draft_lengths)},
          {"keep_ratio", plan.request.keep_ratios},
          {"throughput_tokens_per_s", std::move(rows)}};
}

Json refinements(const ScenarioPlan& plan) {
  Json used = Json::object();
  for (const planner::RefinementName& r : planner::kRefinements) {
    used[std::string(r.name)] = plan.request.refinements.*r.member;
  }
  return used;
}

template <class Points>
Json by_model(const Points& points) {
  Json models = Json::object();
  for (const auto& [model, point] : points) models[std::string(planner::name_of(model))] = operating_point(point);
  return models;
}

}  // namespace

std::string keep_ratio_text(double ratio) {
  return fmt::format("{:.4g}", ratio);
}

Json operating_point(const OperatingPoint& p) {
  static const Fields<OperatingPoint> fields = point_fields({});
  Json point = object(fields, p);
  if (p.d_e > 1) point["d_e"] = p.d_e;
  return point;
}

Json plan_document(const SymbolsOutcome& o, bool timing) {
  Json reasons = Json::object();
  Section doc("", reasons);
  doc.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  doc.set("model", planner::name_of(o.problem.model));
  add_plan(doc, o.plan.optimum, o.plan.full_kv, o.plan.evaluated, o.wall_s, timing);
  doc.set("details", Json{{"by_model", by_model(o.by_model)},
                          {"optimum_kv_bytes", o.plan.optimum.kv_bytes},
                          {"tpot_s", o.plan.optimum.tpot_s()},
                          {"reasons", reasons}});
  return doc.take();
}

Json plan_document(const PlanOutcome& o, bool timing) {
  const ScenarioPlan& plan = o.plan;
  Json reasons = Json::object();
  Section doc("", reasons);
  doc.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  doc.set("scenario", o.scenario.name).set("model", planner::name_of(plan.request.model));
  add_plan(doc, plan.optimum, plan.full_kv, plan.evaluated, o.wall_s, timing);
  if (o.simulated) doc.set("simulated", simulated_json(*o.simulated));
  doc.set("resolved_scenario", scenario::resolved_yaml(o.scenario));
  Json details = {{"per", "replica"},
                  {"tpot_s", plan.optimum.tpot_s()},
                  {"weights_bytes", plan.weights_bytes},
                  {"kv_bytes_per_request", plan.kv_bytes},
                  {"kv_capacity_bytes", plan.room_bytes},
                  {"optimum_kv_bytes", plan.optimum.kv_bytes},
                  {"context_tokens", plan.prompt_tokens},
                  {"generated_tokens", plan.generated_tokens},
                  {"refinements", refinements(plan)},
                  {"by_model", by_model(plan.by_model)},
                  {"breakdown", array(kBreakdownFields, plan.breakdown)},
                  {"heat_map", heat_map(plan)}};
  if (plan.load) {
    details["offered_load"] = {{"offered_tokens_per_s", plan.load->offered_tokens_per_s},
                               {"capacity_tokens_per_s", plan.load->capacity_tokens_per_s},
                               {"utilisation", plan.load->utilisation()},
                               {"sustainable", plan.load->sustainable()}};
  }
  details["assumptions"] = o.scenario.assumptions;
  details["fallbacks"] = plan.fallbacks;
  details["reasons"] = reasons;
  doc.set("details", std::move(details));
  return doc.take();
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
  page.lists = {symbols_list(), {"assumptions", o.scenario.assumptions}, {"fall-backs", plan.fallbacks}};
  return page;
}

}  // namespace kvsim::results
