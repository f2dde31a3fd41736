#include "tools/results/plan.h"

#include <functional>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "planner/policy_words.h"
#include "tools/results/documents.h"
#include "tools/results/fields.h"
#include "tools/results/functional.h"
#include "tools/results/provenance.h"
#include "tools/results/stated_error.h"

namespace kvsim::results {
namespace {

using planner::BreakEven;
using planner::BreakEvenPoint;
using planner::ContextBreakEven;
using planner::ContextEstimate;
using planner::HoldsWhere;
using planner::LoadPath;
using planner::MethodEstimate;
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

/// A method, and how much faster the first token is than where all of the prompt is computed.
struct Way : MethodEstimate {
  double speedup = 1;
};

std::vector<Way> ways(const ContextEstimate& c) {
  std::vector<Way> all;
  for (const MethodEstimate& m : c.methods) all.push_back({m, c.methods.front().ttft_s / m.ttft_s});
  return all;
}

const Fields<Way> kWayNames{
    {"method", {kText, "how the prompt's KV comes to be"}, [](const Way& m) { return name_of(m.method); }},
    {"label", {kText, "the method with its settings"}, "method", &Way::label, Align::left}};

Fields<Way> way_figures() {
  using M = Way;
  const auto part = [](auto member) { return [member](const M& m) { return m.parts.*member; }; };
  using T = planner::FirstToken;
  return {{"ttft_s", {kSeconds, kLower, "time to first token of one prompt alone"}, "TTFT", &M::ttft_s},
          {"speedup",
           {kFactor, kHigher, "time to first token with all of the prompt computed over that of the method"},
           "speedup",
           &M::speedup},
          {"load_s", {kSeconds, kLower, "time in which stored KV is loaded"}, "loading", &M::load_s, seconds_if_any},
          {"select_s",
           {kSeconds, kLower, "time until the small model has chosen tokens"},
           "scoring",
           part(&T::select_s),
           seconds_if_any},
          {"alone_s",
           {kSeconds, kLower, "time in which missing chunks are computed, each alone"},
           "missing",
           part(&T::alone_s),
           seconds_if_any},
          {"rest_s",
           {kSeconds, kLower, "time from the prompt's KV being there to the first token"},
           "rest",
           part(&T::after_s)},
          {"loaded_tokens", {kTokens, "tokens whose KV is loaded"}, part(&T::loaded_tokens)},
          {"loaded_bytes", {kBytes, "KV that is loaded into the replica"}, part(&T::loaded_bytes)},
          {"computed_tokens",
           {kTokens, kLower, "tokens of chunks that are computed over the whole prompt"},
           "tokens",
           part(&T::computed_tokens)},
          {"bound_by",
           {kText, "what most of the time to first token goes to"},
           [](const M& m) { return words_of(m.binding); }},
          {"relative_score",
           {kPlain, kHigher, "mean task score over that with all of the prompt computed"},
           "score",
           &M::relative_score},
          {"good_share",
           {kShare, kHigher, "answers that reach slo.quality_floor by themselves; null: no floor is set"},
           "good",
           &M::good_share,
           whole_percent},
          {kOnPages, "bound by", [](const M& m) { return words_of(m.binding); }, Align::left}};
}

Table method_table(const ContextEstimate& c) {
  Fields<Way> fields = kWayNames;
  append(fields, way_figures());
  return table_with_problems(fmt::format("Time to first token: {} tokens in {} chunks, {} after them",
                                         whole(c.prompt.context()), whole(c.prompt.chunks), whole(c.prompt.query)),
                             fields, ways(c));
}

/// Where a method is the faster one, as something grows that is counted in `unit`.
template <class Row>
Field<Row> faster_where(std::string key, const std::string& what, const Unit& unit, std::string header,
                        HoldsWhere Row::*where, std::string (*print)(double)) {
  const Fields<HoldsWhere> fields{
      {"faster_at_first", {kTruth, "whether the method is the faster one at the least " + what}, &HoldsWhere::at_first},
      Field<HoldsWhere>::values("changes_at[]", {unit, what + " at which the two methods change places"},
                                &HoldsWhere::changes)};
  Field<Row> field = Field<Row>::part(std::move(key), "at which " + what + " the method is faster", where, fields);
  field.header = std::move(header);
  field.show = {[=](const Row& row) { return words_of(row.*where, print); }, Align::left};
  return field;
}

/// Fields that every break-even begins with.
template <class Row>
Fields<Row> of_methods() {
  const auto method = [](const Row& b) { return name_of(b.method); };
  const auto against = [](const Row& b) { return name_of(b.against); };
  return {{"method", {kText, "method that loads"}, "method", method, Align::left},
          {"against", {kText, "method that the other one is compared with"}, "than", against, Align::left}};
}

Fields<BreakEven> break_even_fields() {
  Fields<BreakEven> fields = of_methods<BreakEven>();
  fields.push_back(faster_where("bytes_per_s", "bandwidth into the replica", kBytesPerS, "bandwidth is",
                                &BreakEven::bytes_per_s, rate));
  fields.push_back(faster_where("hit_rate", "hit rate", kShare, "hit rate is", &BreakEven::hit_rate, percent));
  return fields;
}

/// A break-even whose changes are in tokens, not chunks.
struct TokenBreakEven {
  planner::PromptMethod method, against;
  HoldsWhere tokens;
};

std::vector<TokenBreakEven> in_tokens(const ReusePlan& plan) {
  std::vector<TokenBreakEven> all;
  for (const ContextBreakEven& b : plan.context_break_evens) {
    all.push_back({b.method, b.against, b.chunks});
    for (double& at : all.back().tokens.changes) at *= static_cast<double>(plan.curve.front().prompt.chunk_tokens);
  }
  return all;
}

Fields<TokenBreakEven> context_break_even_fields() {
  Fields<TokenBreakEven> fields = of_methods<TokenBreakEven>();
  fields.push_back(faster_where(
      "context_tokens", "number of chunk tokens", kTokens, "faster where the chunks have", &TokenBreakEven::tokens,
      +[](double tokens) { return whole(static_cast<std::int64_t>(tokens)) + " tokens"; }));
  return fields;
}

template <class Row>
Field<Row> context_field() {
  const auto context = [](const Row& row) { return row.prompt.context(); };
  return {"context_tokens", {kTokens, "tokens of the prompt's chunks"}, "context", context};
}

using Chosen = std::optional<std::size_t> ContextEstimate::*;

Field<ContextEstimate> choice_field(std::string key, std::string says, std::string header, Chosen which) {
  const auto chosen = [which](const ContextEstimate& c) { return c.*which ? &c.methods[*(c.*which)] : nullptr; };
  const auto words = [chosen](const ContextEstimate& c) {
    const MethodEstimate* m = chosen(c);
    return m ? fmt::format("{}: {}", name_of(m->method), seconds(m->ttft_s)) : "none";
  };
  const auto name = [chosen](const ContextEstimate& c) {
    return chosen(c) ? Json(name_of(chosen(c)->method)) : Json();
  };
  return {std::move(key), {kText, std::move(says)}, std::move(header), name, {words, Align::left}};
}

/// `floor`: slo.quality_floor, of which pages say more.
Fields<ContextEstimate> context_fields(const std::optional<double>& floor = {}) {
  using C = ContextEstimate;
  Fields<C> fields{
      context_field<C>(),
      {"chunks", {kCount, "chunks of the prompt"}, [](const C& c) { return c.prompt.chunks; }},
      {"query_tokens", {kTokens, "tokens of the prompt after its chunks"}, [](const C& c) { return c.prompt.query; }},
      choice_field("fastest", "method with the least time to first token; null: none can run", "fastest", &C::fastest),
      choice_field("fastest_good", "the fastest method with a mean score of at least slo.quality_floor; null: none",
                   fmt::format("mean score of {:.4g}", floor.value_or(0)), &C::good),
      choice_field("fastest_good_without_load",
                   "the fastest good method where no prompt begins like another; null: none",
                   floor ? "that, no common beginning" : "no common beginning", &C::without_load),
      figures_or_problems<C>("methods", "the prompt by each method", ways, kWayNames, way_figures()),
      Field<C>::list("break_even", "where one method becomes faster than another", &C::break_evens,
                     break_even_fields())};
  if (!floor) fields[4].header.reset();
  return fields;
}

/// Bandwidth that every method but recomputing is compared with. `suffix`: behind the name of a method.
Fields<BreakEvenPoint> bandwidth_fields(std::string_view suffix = "") {
  Fields<BreakEvenPoint> fields;
  for (const planner::PromptMethod method : planner::prompt_methods()) {
    if (method == planner::PromptMethod::recompute) continue;
    const auto rate = [method](const BreakEvenPoint& p) { return p.bytes_per_s[static_cast<std::size_t>(method)]; };
    fields.push_back(
        {fmt::format("{}{}", name_of(method), suffix),
         {kBytesPerS, kLower,
          fmt::format("bandwidth into the replica at which {} is as fast as recomputing; null: none", name_of(method))},
         std::string(name_of(method)),
         rate,
         [rate](const BreakEvenPoint& p) { return rate(p) ? figure(*rate(p) / kGB) : "none"; }});
  }
  return fields;
}

Fields<BreakEvenPoint> curve_fields(const Fields<BreakEvenPoint>& bandwidths) {
  using P = BreakEvenPoint;
  Fields<P> fields{
      context_field<P>(),
      {"recompute_s", {kSeconds, kLower, "time to first token with all of the prompt computed"}, &P::recompute_s}};
  append(fields, bandwidths);
  return fields;
}

Table curve_table(const ReusePlan& plan) {
  Table t = table_of("Break-even curve: bandwidth, in GB/s, at which a method is as fast as recomputing",
                     curve_fields(bandwidth_fields()), plan.curve);
  thin_out(t);
  return t;
}

/// Assumptions of the scores and times of a plan, under any of its methods.
std::vector<std::string> plan_assumptions(const scenario::Scenario& scenario) {
  std::vector<std::string> said;
  for (const serving::PrefillKind prefill : {serving::PrefillKind::full_reuse, serving::PrefillKind::epic,
                                             serving::PrefillKind::cacheblend, serving::PrefillKind::selective}) {
    for (std::string& sentence : assumptions_of(scenario::with(scenario, planner::prefill_changes(prefill)))) {
      add_once(said, std::move(sentence));
    }
  }
  return said;
}

/// How many of its answers are good, and which way of blending has more of them.
std::string better_answers(const ContextEstimate& c, const MethodEstimate& chosen) {
  std::string text = fmt::format(" ({} of its answers good", whole_percent(*chosen.good_share));
  const MethodEstimate* best = &chosen;
  for (const MethodEstimate& m : c.methods) {
    if (planner::blends(m.method) && m.problem.empty() && *m.good_share > *best->good_share) best = &m;
  }
  if (best == &chosen) return text + ")";
  text += fmt::format("; {} by {}, {}", whole_percent(*best->good_share), best->label, seconds(best->ttft_s));
  return text + ")";
}

std::string decision(const ContextEstimate& c, const ReusePlan& plan) {
  std::string text = fmt::format("{} tokens of chunks, {} of {} chunks stored: ", whole(c.prompt.context()),
                                 c.prompt.found(plan.hit_rate), c.prompt.chunks);
  const MethodEstimate& fastest = c.methods[*c.fastest];
  text += fmt::format("{} is fastest, {}", decision_of(fastest), seconds(fastest.ttft_s));
  if (fastest.relative_score < 1) text += fmt::format(" with {:.2f} of the score", fastest.relative_score);
  if (plan.quality_floor && c.good && c.good != c.fastest) {
    const MethodEstimate& good = c.methods[*c.good];
    text += fmt::format("; with a mean score of at least {:.4g} {}, {}", *plan.quality_floor, decision_of(good),
                        seconds(good.ttft_s));
  }
  if (c.without_load && c.without_load != (plan.quality_floor ? c.good : c.fastest)) {
    const MethodEstimate& m = c.methods[*c.without_load];
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
  for (const ContextEstimate& c : plan.contexts) {
    for (const MethodEstimate& m : c.methods) {
      if (m.problem.empty()) continue;
      all.push_back(fmt::format("{}, {} tokens: {}", name_of(m.method), whole(c.prompt.context()), m.problem));
    }
  }
  return all;
}

Fields<LoadPath> load_fields() {
  using L = LoadPath;
  return {{"tier", {kText, "where chunks are stored"}, &L::tier},
          {"link", {kText, "link between host memory and a GPU"}, &L::link},
          {"bytes_per_s", {kBytesPerS, kHigher, "bandwidth from the tier into the whole replica"}, &L::bytes_per_s},
          {"fixed_s", {kSeconds, kLower, "setup and latency of a load"}, &L::fixed_s},
          {"narrowest", {kText, "what limits the bandwidth: tier or link"}, [](const L& l) {
             return l.by_storage ? "tier" : "link";
           }}};
}

Fields<ReusePlanOutcome> reuse_fields() {
  using O = ReusePlanOutcome;
  using F = Field<O>;
  const auto of = [](auto member) {
    return [member](const O& o) -> const auto& {
      return o.plan.*member;
    };
  };
  const Fields<O> details{
      {"per", {kText, "what figures of the plan are of"}, [](const O&) { return "replica"; }},
      {"chunk_tokens",
       {kTokens, "tokens of a chunk"},
       [](const O& o) { return o.plan.curve.front().prompt.chunk_tokens; }},
      {"output_tokens", {kTokens, "output tokens for which there must be room"}, of(&ReusePlan::output)},
      {"least_bytes_per_s",
       {kBytesPerS, "least bandwidth at which break-evens are looked for"},
       [](const O&) { return planner::kLeastBandwidth; }},
      {"most_bytes_per_s",
       {kBytesPerS, "most bandwidth at which break-evens are looked for"},
       [](const O&) { return planner::kMostBandwidth; }},
      how_sure_field<ReusePlanOutcome>(),
      F::values("assumptions[]", {kText, "an assumption of the scores and times"},
                [](const O& o) { return plan_assumptions(o.scenario); }),
      F::values("fallbacks[]", {kText, "a figure that had to be replaced"}, of(&ReusePlan::fallbacks))};
  return {{"scenario", {kText, "name of the scenario"}, [](const O& o) { return o.scenario.name; }},
          {"hit_rate", {kShare, "tokens of chunks that are stored"}, of(&ReusePlan::hit_rate), "not finite"},
          {"quality_floor",
           {kPlain,
            "slo.quality_floor: least mean score of a good method; 1 with slo.functional_floor, since the functional "
            "correctness of blended answers is not known"},
           of(&ReusePlan::quality_floor),
           "slo.quality_floor is not set: fastest_good is null"},
          F::part("load", "the way from where chunks are stored", of(&ReusePlan::path), load_fields()),
          F::list("contexts", "prompts that were asked for", of(&ReusePlan::contexts), context_fields()),
          F::list(
              "context_break_even", "from which context on a method is faster",
              [](const O& o) { return in_tokens(o.plan); }, context_break_even_fields()),
          F::list("curve", "break-even bandwidths by context", of(&ReusePlan::curve),
                  curve_fields({Field<BreakEvenPoint>::part("bytes_per_s",
                                                            "bandwidth at which a method is as fast as recomputing",
                                                            std::identity{}, bandwidth_fields())})),
          F::part("details", "what is behind the plan", std::identity{}, details)};
}

}  // namespace

Json reuse_plan_document(const ReusePlanOutcome& o) {
  return document(reuse_fields(), o);
}

KeyList reuse_plan_keys() {
  return document_keys(keys_of(reuse_fields()));
}

std::string break_even_csv(const ReusePlan& plan) {
  return csv(curve_fields(bandwidth_fields("_bytes_per_s")), plan.curve);
}

Page reuse_plan_page(const ReusePlanOutcome& o) {
  const ReusePlan& plan = o.plan;
  Page page;
  page.title = fmt::format("Plan: {}", o.scenario.name);
  for (const ContextEstimate& c : plan.contexts) page.subtitle.push_back(decision(c, plan));
  page.subtitle.push_back(path_sentence(plan));
  if (plan.contexts.size() > 1)
    page.tables.push_back(table_of("Decision", context_fields(plan.quality_floor), plan.contexts));
  for (const ContextEstimate& c : plan.contexts) page.tables.push_back(method_table(c));
  for (const ContextEstimate& c : plan.contexts) {
    page.tables.push_back(table_of(fmt::format("Break-even, {} tokens: faster where", whole(c.prompt.context())),
                                   break_even_fields(), c.break_evens));
  }
  page.tables.push_back(
      table_of(fmt::format("Break-even of the context, up to {} tokens", whole(plan.curve.back().prompt.context())),
               context_break_even_fields(), in_tokens(plan)));
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
        "score: a soft one; of reused chunks, " + std::string(kFunctionalUnknown) +
            (o.scenario.serving.slo.functional_floor ? ": slo.functional_floor leaves those that blend none" : ""),
        "bandwidth: into the whole replica, by the narrowest part of the way; setup and latency stay. Hit rates: whole "
        "chunks found of the prompt's",
        "bound by: what most of the time to the first token goes to, of what cannot be hidden"}});
  page.lists.push_back({"without figures", problems(plan)});
  page.lists.push_back({"how sure", how_sure(o.scenario)});
  page.lists.push_back({"assumptions", plan_assumptions(o.scenario)});
  page.lists.push_back({"fall-backs", plan.fallbacks});
  return page;
}

}  // namespace kvsim::results
