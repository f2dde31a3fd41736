#include "tools/results/documents.h"
#include "tools/results/plan.h"
#include "tools/results/stated_error.h"

namespace kvsim::results {
namespace {

using planner::BreakdownRow;
using planner::OperatingPoint;
using planner::ScenarioPlan;

/// Fields that both documents of a plan have in front of the details; these keys are fixed.
template <class Source>
Fields<Source> common_fields(bool timing, const Fields<OperatingPoint>& point) {
  using F = Field<Source>;
  struct FullKv {
    const Baseline* point;
  };
  const Fields<FullKv> full_kv{{"B",
                                {kRequests, kHigher, "requests at once with the full KV; 0: not even one fits"},
                                [](const FullKv& f) { return *f.point ? (*f.point)->batch.B_g : 0; }},
                               {"throughput_tokens_per_s",
                                {kTokensPerS, kHigher, "output tokens a second of full-KV decoding"},
                                [](const FullKv& f) { return *f.point ? (*f.point)->throughput_tokens_per_s : 0.0; }}};
  return {F::part(
              "optimum", "the best plan", [](const Source& s) { return s.plan.optimum; }, point),
          F::part(
              "full_kv", "the baseline: decoding with the full KV",
              [](const Source& s) { return FullKv{&s.plan.full_kv}; }, full_kv),
          {"speedup",
           {kFactor, kHigher, "tokens a second of the best plan over those of full-KV decoding"},
           [](const Source& s) { return speedup(s.plan.optimum, s.plan.full_kv); },
           "not even one full KV fits"},
          {"candidates_evaluated",
           {kCount, "batches that the search worked out"},
           [](const Source& s) { return s.plan.evaluated; }},
          {"wall_s",
           {kSeconds, kLower, "wall-clock time of the search, with --timing"},
           [timing](const Source& s) { return timing ? s.wall_s : kNone; },
           "wall-clock figures differ between equal runs: ask with --timing"}};
}

template <class Points>
std::vector<std::pair<std::string_view, OperatingPoint>> by_model(const Points& points) {
  std::vector<std::pair<std::string_view, OperatingPoint>> named;
  for (const auto& [model, point] : points) named.emplace_back(planner::name_of(model), point);
  return named;
}

Fields<SymbolsOutcome> symbols_fields(bool timing = false) {
  using O = SymbolsOutcome;
  using F = Field<O>;
  Fields<O> fields{{"model", {kText, "model of the transfer that was asked for"}, [](const O& o) {
                      return planner::name_of(o.problem.model);
                    }}};
  append(fields, common_fields<O>(timing, symbols_point_fields()));
  const Fields<O> details{F::by_name(
                              "by_model", "the best plan under each model of the transfer",
                              [](const O& o) { return by_model(o.by_model); }, symbols_point_fields()),
                          {"optimum_kv_bytes",
                           {kBytes, "KV in GPU memory under the best plan"},
                           [](const O& o) { return o.plan.optimum.kv_bytes; }},
                          {"tpot_s", {kSeconds, kLower, "time per output token under the best plan"}, [](const O& o) {
                             return o.plan.optimum.tpot_s();
                           }}};
  fields.push_back(F::part(
      "details", "what is behind the plan", [](const O& o) -> const O& { return o; }, details));
  return fields;
}

const Fields<BreakdownRow> kBreakdownFields{
    {"with", {kText, "the refinement that the row adds"}, &BreakdownRow::name},
    {"description", {kText, "what the refinement counts"}, &BreakdownRow::description},
    Field<BreakdownRow>::part("optimum", "the best plan with the refinements so far", &BreakdownRow::optimum,
                              operating_point_fields()),
    {"full_kv_tokens_per_s",
     {kTokensPerS, kHigher, "output tokens a second of full-KV decoding with the refinements so far"},
     [](const BreakdownRow& r) { return r.full_kv ? r.full_kv->throughput_tokens_per_s : kNone; }}};

Json draft_lengths(const planner::PlanRequest& request) {
  Json lengths = Json::array();
  for (std::int64_t x = request.least_draft_length; x <= request.most_draft_length; ++x) lengths.push_back(x);
  return lengths;
}

/// Tokens/s of the best batch, a row a keep ratio.
Json heat_map(const ScenarioPlan& plan) {
  Json rows = Json::array();
  const std::size_t across = draft_lengths(plan.request).size();
  for (std::size_t at = 0; at < plan.best_of_each.size(); ++at) {
    if (at % across == 0) rows.push_back(Json::array());
    const auto& point = plan.best_of_each[at];
    rows.back().push_back(point ? Json(point->throughput_tokens_per_s) : Json(nullptr));
  }
  return rows;
}

const Fields<ScenarioPlan> kHeatMapFields{
    Field<ScenarioPlan>::values("draft_length[]", {kTokens, "draft lengths of the columns"},
                                [](const ScenarioPlan& p) { return draft_lengths(p.request); }),
    Field<ScenarioPlan>::values("keep_ratio[]", {kPlain, "keep ratios of the rows"},
                                [](const ScenarioPlan& p) { return Json(p.request.keep_ratios); }),
    Field<ScenarioPlan>::values("throughput_tokens_per_s[][]",
                                {kTokensPerS, kHigher, "output tokens a second of the best batch; null: none fits"},
                                heat_map)};

const Fields<planner::OfferedLoad> kLoadFields{
    {"offered_tokens_per_s",
     {kTokensPerS, "output tokens a second that requests ask of a replica"},
     &planner::OfferedLoad::offered_tokens_per_s},
    {"capacity_tokens_per_s",
     {kTokensPerS, kHigher, "output tokens a second that the plan serves"},
     &planner::OfferedLoad::capacity_tokens_per_s},
    {"utilisation", {kShare, kLower, "offered over served"}, &planner::OfferedLoad::utilisation},
    {"sustainable", {kTruth, "whether queues stay bounded"}, &planner::OfferedLoad::sustainable}};

Json refinements(const ScenarioPlan& plan) {
  Json used = Json::object();
  for (const planner::RefinementName& r : planner::kRefinements) {
    used[std::string(r.name)] = plan.request.refinements.*r.member;
  }
  return used;
}

Fields<PlanOutcome> outcome_details() {
  using O = PlanOutcome;
  using F = Field<O>;
  const auto of = [](auto member) { return [member](const O& o) { return std::invoke(member, o.plan); }; };
  return {
      {"per", {kText, "what throughputs are of: a replica"}, [](const O&) { return "replica"; }},
      {"tpot_s",
       {kSeconds, kLower, "time per output token under the best plan"},
       [](const O& o) { return o.plan.optimum.tpot_s(); }},
      {"weights_bytes", {kBytes, "weights of a replica"}, of(&ScenarioPlan::weights_bytes)},
      {"kv_bytes_per_request", {kBytes, "full KV of a request"}, of(&ScenarioPlan::kv_bytes)},
      {"kv_capacity_bytes", {kBytes, "GPU memory of a replica that is there for KV"}, of(&ScenarioPlan::room_bytes)},
      {"optimum_kv_bytes",
       {kBytes, "KV in GPU memory under the best plan"},
       [](const O& o) { return o.plan.optimum.kv_bytes; }},
      {"context_tokens", {kTokens, "prompt of a request, mean"}, of(&ScenarioPlan::prompt_tokens)},
      {"generated_tokens",
       {kTokens, "tokens that a request has generated, mean over its decoding"},
       of(&ScenarioPlan::generated_tokens)},
      F::values("refinements.*", {kTruth, "whether the refinement of that name is in the plan"},
                [](const O& o) { return refinements(o.plan); }),
      F::by_name(
          "by_model", "the best plan under each model of the transfer",
          [](const O& o) { return by_model(o.plan.by_model); }, operating_point_fields()),
      F::list("breakdown", "from the closed form to the plan, a refinement a row", of(&ScenarioPlan::breakdown),
              kBreakdownFields),
      F::part(
          "heat_map", "throughput over keep ratio and draft length",
          [](const O& o) -> const ScenarioPlan& { return o.plan; }, kHeatMapFields),
      F::part("offered_load?", "what requests ask for, beside what the plan serves", of(&ScenarioPlan::load),
              kLoadFields),
      F::values("assumptions[]", {kText, "what the scenario assumes"},
                [](const O& o) { return Json(o.scenario.assumptions); }),
      how_sure_field<O>(),
      F::values("fallbacks[]", {kText, "what the plan took for want of something better"},
                [](const O& o) { return Json(o.plan.fallbacks); })};
}

Fields<PlanOutcome> outcome_fields(bool timing = false) {
  using O = PlanOutcome;
  using F = Field<O>;
  Fields<O> fields{{"scenario", {kText, "name of the scenario"}, [](const O& o) { return o.scenario.name; }},
                   {"model", {kText, "model of the transfer that was asked for"}, [](const O& o) {
                      return planner::name_of(o.plan.request.model);
                    }}};
  append(fields, common_fields<O>(timing, operating_point_fields()));
  fields.push_back(F::part("simulated?", "what the search with the simulator found, with --simulate", &O::simulated,
                           simulated_fields()));
  fields.push_back({"resolved_scenario", {kText, "the scenario as resolved, YAML"}, [](const O& o) {
                      return scenario::resolved_yaml(o.scenario);
                    }});
  fields.push_back(F::values("remarks?[]", {kText, "keys of the scenario that nothing reads"}, [](const O& o) {
    return o.scenario.remarks.empty() ? Json(nullptr) : Json(o.scenario.remarks);
  }));
  fields.push_back(F::part(
      "details", "what is behind the plan", [](const O& o) -> const O& { return o; }, outcome_details()));
  fields.push_back(
      F::part("explanation?", "why the plan is what it is, with --explain", &O::explanation, explanation_fields()));
  fields.push_back(
      F::part("pareto?", "throughput against the speed of each user, with --pareto", &O::pareto, pareto_fields()));
  return fields;
}

}  // namespace

Json plan_document(const SymbolsOutcome& o, bool timing) {
  return document(symbols_fields(timing), o);
}

Json plan_document(const PlanOutcome& o, bool timing) {
  return document(outcome_fields(timing), o);
}

KeyList symbols_plan_keys() {
  return document_keys(keys_of(symbols_fields()));
}

KeyList plan_keys() {
  return document_keys(keys_of(outcome_fields()));
}

}  // namespace kvsim::results
