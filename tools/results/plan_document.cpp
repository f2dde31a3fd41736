#include "tools/results/plan_document.h"

#include <limits>

#include "tools/results/result_document.h"
#include "tools/results/simulated_plan.h"

namespace kvsim::results {
namespace {

using planner::OperatingPoint;
using planner::ScenarioPlan;

constexpr std::string_view kNoBaseline = "not even one full KV fits";

/// The fixed part.
void add_plan(Section& doc, const OperatingPoint& optimum, const std::optional<OperatingPoint>& full_kv,
              std::uint64_t evaluated, double wall_s, bool timing) {
  doc.set("optimum", operating_point(optimum));
  doc.set("full_kv", Json{{"B", full_kv ? full_kv->batch.B_g : 0},
                          {"throughput_tokens_per_s", full_kv ? full_kv->throughput_tokens_per_s : 0.0}});
  doc.number("speedup", plan_speedup(optimum, full_kv), kNoBaseline);
  doc.count("candidates_evaluated", evaluated);
  if (timing) {
    doc.number("wall_s", wall_s, "not measured");
  } else {
    doc.missing("wall_s", "wall-clock figures differ between equal runs: ask with --timing");
  }
}

Json maybe(const std::optional<OperatingPoint>& point) {
  return point ? operating_point(*point) : Json(nullptr);
}

Json breakdown(const ScenarioPlan& plan) {
  Json rows = Json::array();
  for (const planner::BreakdownRow& row : plan.breakdown) {
    rows.push_back(
        {{"with", row.name},
         {"description", row.description},
         {"optimum", maybe(row.optimum)},
         {"full_kv_tokens_per_s", row.full_kv ? Json(row.full_kv->throughput_tokens_per_s) : Json(nullptr)}});
  }
  return rows;
}

/// Tokens/s of the best batch, by keep ratio, then draft length.
Json heat_map(const ScenarioPlan& plan) {
  Json draft_lengths = Json::array();
  for (std::int64_t x = plan.request.least_draft_length; x <= plan.request.most_draft_length; ++x) {
    draft_lengths.push_back(x);
  }
  Json rows = Json::array();
  std::size_t at = 0;
  for (std::size_t i = 0; i < plan.request.keep_ratios.size(); ++i) {
    Json row = Json::array();
    for (std::size_t k = 0; k < draft_lengths.size(); ++k, ++at) {
      const auto& point = plan.best_of_each[at];
      row.push_back(point ? Json(point->throughput_tokens_per_s) : Json(nullptr));
    }
    rows.push_back(std::move(row));
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

Json operating_point(const OperatingPoint& p) {
  Json point = {{"x", p.x},
                {"c", p.c},
                {"B_c", p.batch.B_c},
                {"B_g", p.batch.B_g},
                {"l", p.batch.l},
                {"throughput_tokens_per_s", p.throughput_tokens_per_s},
                {"t_gpu_s", p.times.gpu_s},
                {"t_xfer_s", p.times.transfer_s}};
  if (p.d_e > 1) point["d_e"] = p.d_e;
  return point;
}

double plan_speedup(const OperatingPoint& point, const std::optional<OperatingPoint>& full_kv) {
  return full_kv ? point.throughput_tokens_per_s / full_kv->throughput_tokens_per_s
                 : std::numeric_limits<double>::quiet_NaN();
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
  if (o.simulated) doc.set("simulated", simulated_plan(*o.simulated));
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
                  {"breakdown", breakdown(plan)},
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

}  // namespace kvsim::results
