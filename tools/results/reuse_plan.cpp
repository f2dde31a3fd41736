#include "tools/results/reuse_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "models/schema/si.h"
#include "tools/results/fields.h"
#include "tools/results/provenance.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::BreakEven;
using planner::BreakEvenPoint;
using planner::ContextBreakEven;
using planner::ContextOutlook;
using planner::HoldsWhere;
using planner::MethodOutlook;
using planner::ReusePlan;

std::string rate(double bytes_per_s) {
  return figure(bytes_per_s / kGB) + " GB/s";
}

std::string seconds_if_any(double s) {
  return s > 0 ? seconds(s) : "-";
}

std::string whole_percent(double share) {
  return fmt::format("{:.0f} %", share * 100);
}

/// `recompute_s`: the first token's time where all of the prompt is computed.
Fields<MethodOutlook> method_fields(double recompute_s) {
  using M = MethodOutlook;
  return {{"method", [](const M& m) { return name_of(m.method); }},
          {"label", "method", &M::label, Align::left},
          {"ttft_s", "TTFT", &M::ttft_s, seconds},
          {"speedup", "speedup", [=](const M& m) { return recompute_s / m.ttft_s; }, factor},
          {"load_s", "loading", &M::load_s, seconds_if_any},
          {"select_s", "scoring", [](const M& m) { return m.parts.select_s; }, seconds_if_any},
          {"alone_s", "missing", [](const M& m) { return m.parts.alone_s; }, seconds_if_any},
          {"rest_s", "rest", [](const M& m) { return m.parts.after_s; }, seconds},
          {"loaded_tokens", [](const M& m) { return m.parts.loaded_tokens; }},
          {"loaded_bytes", [](const M& m) { return m.parts.loaded_bytes; }},
          {"computed_tokens", "tokens", [](const M& m) { return m.parts.computed_tokens; }},
          {"bound_by", [](const M& m) { return words_of(m.binding); }},
          {"relative_score", "score", &M::relative_score},
          {"good_share", "good", &M::good_share, whole_percent},
          {"", "bound by", [](const M& m) { return words_of(m.binding); }, Align::left}};
}

Json methods_json(const ContextOutlook& c) {
  const Fields<MethodOutlook> fields = method_fields(c.methods.front().ttft_s);
  Json list = Json::array();
  for (const MethodOutlook& m : c.methods) {
    list.push_back(m.problem.empty() ? object(fields, m)
                                     : Json{{"method", name_of(m.method)}, {"label", m.label}, {"problem", m.problem}});
  }
  return list;
}

Table method_table(const ContextOutlook& c) {
  Table t = table_of(fmt::format("Time to first token: {} tokens in {} chunks, {} after them",
                                 whole(c.prompt.context()), whole(c.prompt.chunks), whole(c.prompt.query)),
                     method_fields(c.methods.front().ttft_s), c.methods);
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    if (!c.methods[i].problem.empty()) t.rows[i] = dashes(c.methods[i].label, t.header.size());
  }
  return t;
}

Json where_json(const HoldsWhere& where, double times = 1) {
  Json changes = Json::array();
  for (const double at : where.changes) changes.push_back(at * times);
  return {{"faster_at_first", where.at_first}, {"changes_at", std::move(changes)}};
}

const Fields<BreakEven> kBreakEvenFields{
    {"method", "method", [](const BreakEven& b) { return name_of(b.method); }, Align::left},
    {"against", "than", [](const BreakEven& b) { return name_of(b.against); }, Align::left},
    {"bytes_per_s",
     "bandwidth is",
     [](const BreakEven& b) { return where_json(b.bytes_per_s); },
     {[](const BreakEven& b) { return words_of(b.bytes_per_s, rate); }, Align::left}},
    {"hit_rate",
     "hit rate is",
     [](const BreakEven& b) { return where_json(b.hit_rate); },
     {[](const BreakEven& b) { return words_of(b.hit_rate, percent); }, Align::left}}};

Fields<ContextBreakEven> context_break_even_fields(const ReusePlan& plan) {
  using B = ContextBreakEven;
  const auto of_chunk = static_cast<double>(plan.curve.front().prompt.chunk_tokens);
  const auto tokens = [=](double chunks) { return whole(static_cast<std::int64_t>(chunks * of_chunk)) + " tokens"; };
  return {{"method", "method", [](const B& b) { return name_of(b.method); }, Align::left},
          {"against", "than", [](const B& b) { return name_of(b.against); }, Align::left},
          {"context_tokens",
           "faster where the chunks have",
           [=](const B& b) { return where_json(b.chunks, of_chunk); },
           {[=](const B& b) { return words_of(b.chunks, tokens); }, Align::left}}};
}

using Chosen = std::optional<std::size_t> ContextOutlook::*;

Field<ContextOutlook> choice_field(std::string key, std::string header, Chosen which) {
  const auto chosen = [which](const ContextOutlook& c) { return c.*which ? &c.methods[*(c.*which)] : nullptr; };
  const auto words = [chosen](const ContextOutlook& c) {
    const MethodOutlook* m = chosen(c);
    return m ? fmt::format("{}: {}", name_of(m->method), seconds(m->ttft_s)) : "none";
  };
  const auto name = [chosen](const ContextOutlook& c) { return chosen(c) ? Json(name_of(chosen(c)->method)) : Json(); };
  return {std::move(key), std::move(header), name, {words, Align::left}};
}

Fields<ContextOutlook> context_fields(const ReusePlan& plan) {
  using C = ContextOutlook;
  const bool floor = plan.quality_floor.has_value();
  Fields<C> fields{
      {"context_tokens", "context", [](const C& c) { return c.prompt.context(); }},
      {"chunks", [](const C& c) { return c.prompt.chunks; }},
      {"query_tokens", [](const C& c) { return c.prompt.query; }},
      choice_field("fastest", "fastest", &C::fastest),
      choice_field("fastest_good", fmt::format("mean score of {:.4g}", plan.quality_floor.value_or(0)), &C::good),
      choice_field("fastest_good_without_load", floor ? "that, no common beginning" : "no common beginning",
                   &C::without_load),
      {"methods", methods_json},
      {"break_even", [](const C& c) { return array(kBreakEvenFields, c.break_evens); }}};
  if (!floor) fields[4].header.reset();
  return fields;
}

/// Of every method but recomputing, the bandwidth that it is compared with.
Fields<BreakEvenPoint> curve_fields() {
  using P = BreakEvenPoint;
  Fields<P> fields{{"context_tokens", "context", [](const P& p) { return p.prompt.context(); }},
                   {"recompute_s", &P::recompute_s}};
  for (const planner::PromptMethod method : planner::prompt_methods()) {
    if (method == planner::PromptMethod::recompute) continue;
    const auto rate = [method](const P& p) { return p.bytes_per_s[static_cast<std::size_t>(method)]; };
    fields.push_back({fmt::format("{}_bytes_per_s", name_of(method)), std::string(name_of(method)), rate,
                      [rate](const P& p) { return rate(p) ? figure(*rate(p) / kGB) : "none"; }});
  }
  return fields;
}

Json curve_json(const ReusePlan& plan) {
  Json points = Json::array();
  for (const BreakEvenPoint& p : plan.curve) {
    Json rates = Json::object();
    for (const planner::PromptMethod method : planner::prompt_methods()) {
      if (method == planner::PromptMethod::recompute) continue;
      rates[std::string(name_of(method))] = or_null(p.bytes_per_s[static_cast<std::size_t>(method)]);
    }
    points.push_back(
        {{"context_tokens", p.prompt.context()}, {"recompute_s", p.recompute_s}, {"bytes_per_s", std::move(rates)}});
  }
  return points;
}

Table curve_table(const ReusePlan& plan) {
  Table t = table_of("Break-even curve: bandwidth, in GB/s, at which a method is as fast as recomputing",
                     curve_fields(), plan.curve);
  thin_out(t);
  return t;
}

/// What the scores and times of a plan take for granted, under any of its methods.
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

/// How many of its answers are good, and which way of blending has more of them.
std::string better_answers(const ContextOutlook& c, const MethodOutlook& chosen) {
  std::string text = fmt::format(" ({} of its answers good", whole_percent(*chosen.good_share));
  const MethodOutlook* best = &chosen;
  for (const MethodOutlook& m : c.methods) {
    if (planner::blends(m.method) && m.problem.empty() && *m.good_share > *best->good_share) best = &m;
  }
  if (best != &chosen) {
    text += fmt::format("; {} by {}, {}", whole_percent(*best->good_share), best->label, seconds(best->ttft_s));
  }
  return text + ")";
}

std::string decision(const ContextOutlook& c, const ReusePlan& plan) {
  std::string text = fmt::format("{} tokens of chunks, {} of {} chunks stored: ", whole(c.prompt.context()),
                                 c.prompt.found(plan.hit_rate), c.prompt.chunks);
  const MethodOutlook& fastest = c.methods[*c.fastest];
  text += fmt::format("{} is fastest, {}", decision_of(fastest), seconds(fastest.ttft_s));
  if (fastest.relative_score < 1) text += fmt::format(" with {:.2f} of the score", fastest.relative_score);
  if (plan.quality_floor && c.good && c.good != c.fastest) {
    const MethodOutlook& good = c.methods[*c.good];
    text += fmt::format("; with a mean score of at least {:.4g} {}, {}", *plan.quality_floor, decision_of(good),
                        seconds(good.ttft_s));
  }
  if (c.without_load && c.without_load != (plan.quality_floor ? c.good : c.fastest)) {
    const MethodOutlook& m = c.methods[*c.without_load];
    text += fmt::format("; where no prompt begins like another {}, {}", decision_of(m), seconds(m.ttft_s));
    if (m.good_share) text += better_answers(c, m);
  }
  return text + ".";
}

std::string path_sentence(const ReusePlan& plan) {
  const planner::LoadPath& p = plan.path;
  const std::string by = p.by_storage ? fmt::format("as fast as {} is read", p.tier) : "over " + p.link;
  return fmt::format("Chunks come from {} at {} into the replica ({}), with {} of setup and latency.", p.tier,
                     rate(p.bytes_per_s), by, seconds(p.fixed_s));
}

std::vector<std::string> problems(const ReusePlan& plan) {
  std::vector<std::string> all;
  for (const ContextOutlook& c : plan.contexts) {
    for (const MethodOutlook& m : c.methods) {
      if (!m.problem.empty()) {
        all.push_back(fmt::format("{}, {} tokens: {}", name_of(m.method), whole(c.prompt.context()), m.problem));
      }
    }
  }
  return all;
}

}  // namespace

Json reuse_plan_document(const ReusePlanOutcome& o) {
  const ReusePlan& plan = o.plan;
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
  doc.set("contexts", array(context_fields(plan), plan.contexts));
  doc.set("context_break_even", array(context_break_even_fields(plan), plan.context_break_evens));
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
  return csv(curve_fields(), plan.curve);
}

Page reuse_plan_page(const ReusePlanOutcome& o) {
  const ReusePlan& plan = o.plan;
  Page page;
  page.title = fmt::format("Plan: {}", o.scenario.name);
  for (const ContextOutlook& c : plan.contexts) page.subtitle.push_back(decision(c, plan));
  page.subtitle.push_back(path_sentence(plan));
  if (plan.contexts.size() > 1) page.tables.push_back(table_of("Decision", context_fields(plan), plan.contexts));
  for (const ContextOutlook& c : plan.contexts) page.tables.push_back(method_table(c));
  for (const ContextOutlook& c : plan.contexts) {
    page.tables.push_back(table_of(fmt::format("Break-even, {} tokens: faster where", whole(c.prompt.context())),
                                   kBreakEvenFields, c.break_evens));
  }
  page.tables.push_back(
      table_of(fmt::format("Break-even of the context, up to {} tokens", whole(plan.curve.back().prompt.context())),
               context_break_even_fields(plan), plan.context_break_evens));
  page.tables.push_back(curve_table(plan));
  page.lists.push_back(
      {"notes",
       {"one prompt alone on an idle replica: no queue, and nobody else on its GPUs and links; stored KV is whole",
        "TTFT = max(loading, scoring, missing) + rest: positions, the tokens computed over the whole prompt, the "
        "first token",
        "load: as much of the prompt as is stored is its beginning, exact; blending finds chunks wherever they stand",
        "tokens: of chunks, computed over the whole prompt; score: mean over the tasks, of that with all of "
        "the prompt computed; good: share of answers that reach slo.quality_floor, each by itself, as goodput counts "
        "them (a mean at the floor leaves half of them below)",
        "bandwidth: into the whole replica, by the narrowest part of the way; setup and latency stay. Hit rates: whole "
        "chunks found of the prompt's",
        "bound by: what most of the time to the first token goes to, of what cannot be hidden"}});
  page.lists.push_back({"without figures", problems(plan)});
  page.lists.push_back({"assumptions", plan_assumptions(o.scenario)});
  page.lists.push_back({"fall-backs", plan.fallbacks});
  return page;
}

}  // namespace kvsim::results
