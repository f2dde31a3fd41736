#include "tools/results/reuse_plan_document.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/results/provenance.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::ContextOutlook;
using planner::HoldsWhere;
using planner::MethodOutlook;
using planner::ReusePlan;

Json where_json(const HoldsWhere& where, double times = 1) {
  Json changes = Json::array();
  for (const double at : where.changes) changes.push_back(at * times);
  return {{"faster_at_first", where.at_first}, {"changes_at", std::move(changes)}};
}

Json method_json(const MethodOutlook& m, double recompute_s) {
  Json method = {{"method", name_of(m.method)}, {"label", m.label}};
  if (!m.problem.empty()) {
    method["problem"] = m.problem;
    return method;
  }
  method["ttft_s"] = m.ttft_s;
  method["speedup"] = recompute_s / m.ttft_s;
  method["load_s"] = m.load_s;
  method["select_s"] = m.parts.select_s;
  method["alone_s"] = m.parts.alone_s;
  method["rest_s"] = m.parts.after_s;
  method["loaded_tokens"] = m.parts.loaded_tokens;
  method["loaded_bytes"] = m.parts.loaded_bytes;
  method["computed_tokens"] = m.parts.computed_tokens;
  method["bound_by"] = words_of(m.binding);
  method["relative_score"] = m.relative_score;
  method["good_share"] = m.good_share ? Json(*m.good_share) : Json(nullptr);
  return method;
}

Json choice_json(const ContextOutlook& c, const std::optional<std::size_t>& choice) {
  return choice ? Json(name_of(c.methods[*choice].method)) : Json(nullptr);
}

Json context_json(const ContextOutlook& c) {
  Json methods = Json::array(), break_evens = Json::array();
  for (const MethodOutlook& m : c.methods) methods.push_back(method_json(m, c.methods.front().ttft_s));
  for (const planner::BreakEven& b : c.break_evens) {
    break_evens.push_back({{"method", name_of(b.method)},
                           {"against", name_of(b.against)},
                           {"bytes_per_s", where_json(b.bytes_per_s)},
                           {"hit_rate", where_json(b.hit_rate)}});
  }
  return {{"context_tokens", c.prompt.context()},   {"chunks", c.prompt.chunks},
          {"query_tokens", c.prompt.query},         {"fastest", choice_json(c, c.fastest)},
          {"fastest_good", choice_json(c, c.good)}, {"fastest_good_without_load", choice_json(c, c.without_load)},
          {"methods", std::move(methods)},          {"break_even", std::move(break_evens)}};
}

Json curve_json(const ReusePlan& plan) {
  Json points = Json::array();
  for (const planner::BreakEvenPoint& p : plan.curve) {
    Json rates = Json::object();
    for (const planner::PromptMethod method : planner::prompt_methods()) {
      if (method == planner::PromptMethod::recompute) continue;
      const auto& rate = p.bytes_per_s[static_cast<std::size_t>(method)];
      rates[std::string(name_of(method))] = rate ? Json(*rate) : Json(nullptr);
    }
    points.push_back(
        {{"context_tokens", p.prompt.context()}, {"recompute_s", p.recompute_s}, {"bytes_per_s", std::move(rates)}});
  }
  return points;
}

}  // namespace

Json reuse_plan_document(const ReusePlanOutcome& o) {
  const ReusePlan& plan = o.plan;
  const auto chunk_tokens = static_cast<double>(plan.curve.front().prompt.chunk_tokens);
  Json reasons = Json::object();
  Section doc("", reasons);
  doc.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  doc.set("scenario", o.scenario.name);
  doc.number("hit_rate", plan.hit_rate, "not finite");
  if (plan.quality_floor) {
    doc.number("quality_floor", *plan.quality_floor, "not finite");
  } else {
    doc.missing("quality_floor", "slo.quality_floor is not set: fastest_good is null");
  }
  doc.set("load", Json{{"tier", plan.path.tier},
                       {"link", plan.path.link},
                       {"bytes_per_s", plan.path.bytes_per_s},
                       {"fixed_s", plan.path.fixed_s},
                       {"narrowest", plan.path.by_storage ? "tier" : "link"}});
  Json contexts = Json::array(), context_break_evens = Json::array();
  for (const ContextOutlook& c : plan.contexts) contexts.push_back(context_json(c));
  for (const planner::ContextBreakEven& b : plan.context_break_evens) {
    context_break_evens.push_back({{"method", name_of(b.method)},
                                   {"against", name_of(b.against)},
                                   {"context_tokens", where_json(b.chunks, chunk_tokens)}});
  }
  doc.set("contexts", std::move(contexts)).set("context_break_even", std::move(context_break_evens));
  doc.set("curve", curve_json(plan));
  doc.set("details", Json{{"per", "replica"},
                          {"chunk_tokens", plan.curve.front().prompt.chunk_tokens},
                          {"output_tokens", plan.output},
                          {"least_bytes_per_s", planner::kLeastBandwidth},
                          {"most_bytes_per_s", planner::kMostBandwidth},
                          {"assumptions", plan_assumptions(o.scenario)},
                          {"fallbacks", plan.fallbacks},
                          {"reasons", reasons}});
  return doc.take();
}

std::string break_even_csv(const ReusePlan& plan) {
  std::string csv = "context_tokens,recompute_s";
  for (const planner::PromptMethod method : planner::prompt_methods()) {
    if (method != planner::PromptMethod::recompute) csv += fmt::format(",{}_bytes_per_s", name_of(method));
  }
  csv += "\n";
  for (const planner::BreakEvenPoint& p : plan.curve) {
    csv += fmt::format("{},{}", p.prompt.context(), p.recompute_s);
    for (std::size_t i = 1; i < p.bytes_per_s.size(); ++i) {
      csv += "," + (p.bytes_per_s[i] ? fmt::format("{}", *p.bytes_per_s[i]) : std::string());
    }
    csv += "\n";
  }
  return csv;
}

std::vector<std::string> plan_assumptions(const scenario::Scenario& scenario) {
  std::vector<std::string> said;
  for (const serving::PrefillKind prefill : {serving::PrefillKind::full_reuse, serving::PrefillKind::epic,
                                             serving::PrefillKind::cacheblend, serving::PrefillKind::selective}) {
    scenario::Scenario one = scenario;
    scenario::set_prefill(one, prefill);
    for (std::string& sentence : assumptions_of(one)) {
      if (std::find(said.begin(), said.end(), sentence) == said.end()) said.push_back(std::move(sentence));
    }
  }
  return said;
}

}  // namespace kvsim::results
