#include "tools/results/plan.h"

#include <functional>

#include <fmt/format.h>

#include "models/schema/units.h"
#include "tools/results/documents.h"
#include "tools/results/fields.h"
#include "tools/results/stated_error.h"

namespace kvsim::results {
namespace {

using planner::Crossover;
using planner::CrossoverPoint;
using planner::FetchEstimate;
using planner::HostLink;
using planner::PolicyEstimate;
using planner::PrefetchPlan;
using planner::TwoTokenMachine;

std::string gigabytes(double bytes) {
  return figure(bytes / kGB);
}

/// `own`: the scenario's policy, which pages mark.
Fields<PolicyEstimate> policy_names(const std::string& own = "") {
  using P = PolicyEstimate;
  return {{"policy",
           {kText, "decode policy"},
           "policy",
           &P::policy,
           {[own](const P& p) { return p.policy + (p.policy == own ? " *" : ""); }, Align::left}}};
}

Fields<PolicyEstimate> policy_figures() {
  using P = PolicyEstimate;
  const auto memory = [](auto member) { return [member](const P& p) { return std::invoke(member, p.memory); }; };
  const auto step = [](auto member) { return [member](const P& p) { return std::invoke(member, p.step); }; };
  using M = planner::BatchByMemory;
  using S = planner::StepEstimate;
  return {{"batch",
           {kRequests, kHigher, "requests of average context that a replica decodes at once"},
           "batch",
           memory(&M::batch)},
          {"batch_at_final_context",
           {kRequests, kHigher, "requests that fit with their final context"},
           memory(&M::at_the_end)},
          {"batch_bound_by", {kText, "what limits the batch"}, [](const P& p) { return words_of(p.memory.bound); }},
          {"step_s", {kSeconds, kLower, "length of a decoding step of the batch"}, "step", step(&S::step_s)},
          {"computing_s", {kSeconds, kLower, "GPU time of a decoding step"}, "computing", step(&S::computing_s)},
          {"fetch_s",
           {kSeconds, kLower, "link time of a decoding step's fetches"},
           "link",
           step(&S::fetch_s),
           [](const P& p) { return p.step.layers.fetch_bytes > 0 ? seconds(p.step.fetch_s()) : "-"; }},
          {"fetch_hidden", {kTruth, "whether the step is hardly longer than its GPU time"}, step(&S::hidden)},
          {"output_tokens_per_s",
           {kTokensPerS, kHigher, "output tokens/s of a replica"},
           "tokens/s",
           step(&S::tokens_per_s)},
          {"paced_by",
           {kText, "what sets the pace of decoding steps"},
           "pace",
           [](const P& p) { return words_of(p.step.pace); },
           Align::left},
          {"fetch_bytes_per_request",
           {kBytes, kLower, "KV fetched for a request in a step"},
           step(&S::fetch_bytes_per_request)},
          {"resident_fraction",
           {kShare, kLower, "KV on the GPU over that of a 16-bit cache"},
           "KV resident",
           &P::resident_fraction},
          {"kv_capacity_bytes", {kBytes, kHigher, "GPU memory of a replica for KV"}, memory(&M::capacity_bytes)},
          {"kv_bytes_per_request",
           {kBytes, kLower, "GPU memory reserved for a request of average context"},
           memory(&M::request_bytes)},
          {"within_profile",
           {kTruth, "whether the profile was measured at sizes like those of the step"},
           step(&S::within_domain)}};
}

Table step_table(const PrefetchPlan& plan) {
  Fields<PolicyEstimate> fields = policy_names(plan.own.policy);
  append(fields, policy_figures());
  return table_with_problems("Step: as many requests as fit, and what sets the pace", fields, plan.policies);
}

const Fields<FetchEstimate> kFetchFields{
    {"rows_per_request_layer_and_gpu",
     {kPlain, "rows of KV that a request fetches for a layer to a GPU"},
     "rows",
     &FetchEstimate::rows,
     {},
     "per layer and GPU"},
    {"row_bytes", {kBytes, "size of a row of KV that is fetched"}, "row", &FetchEstimate::row_bytes},
    {"method", {kText, "way of copying rows"}, "way of copying", &FetchEstimate::method},
    {"rows_bytes_per_s",
     {kBytesPerS, kHigher, "rate at which rows reach a GPU"},
     "rate of rows",
     &FetchEstimate::rows_bytes_per_s,
     [](const FetchEstimate& f) { return gigabytes(f.rows_bytes_per_s) + " GB/s"; }},
    {"contiguous_bytes_per_s",
     {kBytesPerS, kHigher, "rate at which the link copies contiguous bytes"},
     &FetchEstimate::contiguous_bytes_per_s}};

Table fetch_table(const PrefetchPlan& plan) {
  const FetchEstimate& f = *plan.fetch;
  Table t = figures_of("Fetch of a request", kFetchFields, f);
  t.rows.back().back() =
      fmt::format("per GPU; {} of {} GB/s contiguous", percent(f.rows_bytes_per_s / f.contiguous_bytes_per_s),
                  gigabytes(f.contiguous_bytes_per_s));
  for (const PolicyEstimate& p : plan.policies) {
    if (!p.problem.empty() || p.step.layers.fetch_bytes == 0) continue;
    t.rows.push_back({p.policy, bytes(p.step.fetch_bytes_per_request),
                      fmt::format("per step, all layers; the batch's take {} of a step",
                                  percent(p.step.fetch_s() / p.step.step_s))});
  }
  return t;
}

/// `c`: of which pages say more.
Fields<CrossoverPoint> crossover_fields(const Crossover& c = {}) {
  using P = CrossoverPoint;
  const double contiguous = c.own.contiguous_bytes_per_s;
  return {{"k", {kCount, "KV pairs fetched for each layer and KV head"}, "k", &P::k},
          {"computing_s", {kSeconds, kLower, "GPU time of a decoding step that fetches k pairs"}, &P::computing_s},
          {"fetch_bytes_per_gpu", {kBytes, kLower, "KV that a step fetches to a GPU"}, &P::bytes_per_gpu},
          {"least_rows_bytes_per_s",
           {kBytesPerS, kLower, "least rate of rows that hides the fetch; null: no rate does"},
           "rows",
           &P::rows_bytes_per_s,
           [](const P& p) { return p.rows_bytes_per_s ? gigabytes(*p.rows_bytes_per_s) : "no rate"; }},
          {kOnPages, "contiguous", [=](const P& p) { return p.link_factor.value_or(kNone) * contiguous; }, gigabytes},
          {"least_link_factor",
           {kFactor, kLower, "least multiple of the scenario's link that hides the fetch; null: none does"},
           "of this link",
           &P::link_factor},
          {"hidden",
           {kTruth, "whether the scenario's link hides the fetch"},
           "on " + c.own.name,
           &P::hidden,
           [](const P& p) { return p.hidden ? "hidden" : "not hidden"; }}};
}

Table crossover_table(const Crossover& c) {
  Table t = table_of(
      fmt::format("Crossover: the link that hides the fetch of {} requests, GB/s per GPU", whole(c.requests.batch)),
      crossover_fields(c), c.points);
  t.align.front() = Align::left;
  thin_out(t);
  return t;
}

/// `k`: the scenario's, of which pages say more.
Fields<HostLink> link_fields(std::int64_t k = 0) {
  using L = HostLink;
  const auto hides = [k](const L& l) { return l.largest_hidden_k && *l.largest_hidden_k >= k; };
  return {{"link",
           {kText, "name of a host link of the catalogue"},
           "link",
           &L::name,
           {[](const L& l) { return l.name + (l.own ? " *" : ""); }, Align::left}},
          {"own", {kTruth, "whether the link is the scenario's"}, &L::own},
          {"method", {kText, "way of copying rows over the link"}, "copies", &L::method, Align::left},
          {"contiguous_bytes_per_s",
           {kBytesPerS, kHigher, "rate at which the link copies contiguous bytes"},
           "contiguous",
           &L::contiguous_bytes_per_s,
           gigabytes},
          {"rows_bytes_per_s",
           {kBytesPerS, kHigher, "rate at which rows cross the link"},
           "rows",
           &L::rows_bytes_per_s,
           gigabytes},
          {"largest_hidden_k",
           {kCount, kHigher, "most KV pairs whose fetch the link hides; null: not even one"},
           "largest k",
           &L::largest_hidden_k,
           [](const L& l) { return l.largest_hidden_k ? whole(*l.largest_hidden_k) : "none"; }},
          {kOnPages, "k = " + whole(k), hides, [=](const L& l) { return hides(l) ? "hidden" : "not hidden"; }}};
}

Fields<Crossover> crossover_parts() {
  using C = Crossover;
  using F = Field<C>;
  return {{"batch",
           {kRequests, "requests in the step that the fetch is to hide behind"},
           [](const C& c) { return c.requests.batch; }},
          {"top_k", {kCount, "KV pairs that the scenario fetches for each layer and KV head"}, &C::k},
          {"row_bytes", {kBytes, "size of a row of KV that is fetched"}, &C::row_bytes},
          {"largest_hidden_k",
           {kCount, kHigher, "most KV pairs whose fetch the scenario's link hides; null: not even one"},
           [](const C& c) { return c.own.largest_hidden_k; }},
          F::list("points", "what the link must do for k pairs", &C::points, crossover_fields()),
          F::list("links", "host links of the catalogue", &C::links, link_fields())};
}

std::string batch_text(const std::optional<std::int64_t>& batch) {
  return batch ? whole(*batch) : fmt::format("over {}", whole(planner::kLargestBatch));
}

const Fields<TwoTokenMachine> kMachineFields{
    {"gpu", {kText, "GPU of the catalogue"}, "GPU", &TwoTokenMachine::gpu, Align::left},
    {"first_batch_of_5_percent",
     {kRequests, kHigher, "least batch at which a second token costs 5 %; null: none does"},
     "first",
     [](const TwoTokenMachine& m) { return m.not_free.first; },
     [](const TwoTokenMachine& m) { return batch_text(m.not_free.first); }},
    {"always_from_batch",
     {kRequests, kHigher, "batch from which on a second token always costs 5 %; null: from none"},
     "always from",
     [](const TwoTokenMachine& m) { return m.not_free.always; },
     [](const TwoTokenMachine& m) { return batch_text(m.not_free.always); }},
    {"batch_that_fits",
     {kRequests, kHigher, "requests that fit into the memory of a replica"},
     "batch that fits",
     &TwoTokenMachine::fits},
    {"cost_at_batch_that_fits",
     {kShare, kLower, "what a second token adds to a step of the batch that fits"},
     "cost there",
     &TwoTokenMachine::cost_at_fits}};

std::string decision(const PrefetchPlan& plan) {
  const PolicyEstimate& own = plan.own;
  std::string text = fmt::format("{}: {} requests at once, {} a step, {} tokens/s", own.policy, whole(own.memory.batch),
                                 seconds(own.step.step_s), figure(own.step.tokens_per_s()));
  for (const PolicyEstimate& p : plan.policies) {
    if (p.policy != "full_kv" || !p.problem.empty()) continue;
    text += fmt::format(", {} of full KV", factor(own.step.tokens_per_s() / p.step.tokens_per_s()));
  }
  if (own.step.fetch_bytes_per_request <= 0) return text + ".";
  if (own.step.hidden()) return text + "; the fetch is hidden.";
  return text +
         fmt::format("; {} of the step is waiting for KV.", percent(1 - own.step.computing_s() / own.step.step_s));
}

std::string batch_sentence(const PrefetchPlan& plan) {
  const planner::BatchByMemory& m = plan.own.memory;
  return fmt::format(
      "One replica, contexts of {} tokens on average; the batch is limited by {}, and is {} where every request has "
      "its "
      "final context.",
      whole(plan.context), words_of(m.bound), whole(m.at_the_end));
}

std::vector<std::string> problems(const PrefetchPlan& plan) {
  std::vector<std::string> all;
  for (const PolicyEstimate& p : plan.policies) {
    if (!p.problem.empty()) all.push_back(fmt::format("{}: {}", p.policy, p.problem));
  }
  return all;
}

Fields<PrefetchOutcome> prefetch_fields() {
  using O = PrefetchOutcome;
  using F = Field<O>;
  constexpr const char* kCannotRun = "speculative_prefetch cannot run here: see its problem under policies";
  const auto of = [](auto member) {
    return [member](const O& o) -> const auto& {
      return o.plan.*member;
    };
  };
  const Fields<O> details{
      {"per", {kText, "what figures of the plan are of"}, [](const O&) { return "replica"; }},
      {"context_tokens", {kTokens, "average context of a decoding request"}, of(&PrefetchPlan::context)},
      {"prompt_tokens",
       {kTokens, "average prompt of a request"},
       [](const O& o) { return o.plan.own.step.requests.prompt; }},
      {"generated_tokens",
       {kTokens, "tokens that a decoding request has generated on average"},
       [](const O& o) { return o.plan.own.step.requests.generated; }},
      {"hidden_share",
       {kShare, "what a hidden fetch adds to a step at most"},
       [](const O&) { return planner::kHiddenShare; }},
      how_sure_field<PrefetchOutcome>(),
      F::values("assumptions[]", {kText, "an assumption of the scenario"},
                [](const O& o) { return o.scenario.assumptions; }),
      F::values("fallbacks[]", {kText, "a figure that had to be replaced"},
                [](const O& o) { return o.plan.own.step.fallbacks; })};
  return {{"scenario", {kText, "name of the scenario"}, [](const O& o) { return o.scenario.name; }},
          {"policy", {kText, "the scenario's decode policy"}, [](const O& o) { return o.plan.own.policy; }},
          {"batch",
           {kRequests, kHigher, "requests that a replica decodes at once under the scenario's policy"},
           [](const O& o) { return o.plan.own.memory.batch; }},
          {"step_s",
           {kSeconds, kLower, "length of a decoding step under the scenario's policy"},
           [](const O& o) { return o.plan.own.step.step_s; },
           "not finite"},
          {"output_tokens_per_s",
           {kTokensPerS, kHigher, "output tokens/s of a replica under the scenario's policy"},
           [](const O& o) { return o.plan.own.step.tokens_per_s(); },
           "not finite"},
          figures_or_problems<O>("policies", "the policies to choose from", of(&PrefetchPlan::policies), policy_names(),
                                 policy_figures()),
          F::part("fetch", "what a request's fetch of a layer moves to a GPU", of(&PrefetchPlan::fetch), kFetchFields,
                  kCannotRun),
          F::part("crossover", "the link that hides the fetch", of(&PrefetchPlan::crossover), crossover_parts(),
                  kCannotRun),
          F::list(
              "two_tokens", "GPUs, and from which batch on a second token costs more than 5 %",
              [](const O& o) { return o.plan.crossover ? std::optional(o.plan.machines) : std::nullopt; },
              kMachineFields, kCannotRun),
          F::part("details", "what is behind the plan", std::identity{}, details)};
}

}  // namespace

Json prefetch_document(const PrefetchOutcome& o) {
  return document(prefetch_fields(), o);
}

KeyList prefetch_keys() {
  return document_keys(keys_of(prefetch_fields()));
}

std::string crossover_csv(const Crossover& c) {
  return csv(crossover_fields(c), c.points);
}

Page prefetch_page(const PrefetchOutcome& o) {
  const PrefetchPlan& plan = o.plan;
  Page page;
  page.title = fmt::format("Plan: {}", o.scenario.name);
  page.subtitle = {decision(plan), batch_sentence(plan)};
  page.tables.push_back(step_table(plan));
  if (plan.fetch) page.tables.push_back(fetch_table(plan));
  if (plan.crossover) {
    const Crossover& c = *plan.crossover;
    page.tables.push_back(crossover_table(c));
    page.tables.push_back(
        table_of("Host links: rates in GB/s per GPU, and the largest k that stays hidden", link_fields(c.k), c.links));
  }
  if (!plan.machines.empty()) {
    page.tables.push_back(
        table_of(fmt::format("Two tokens: at which batches a second token costs {}", percent(planner::kFreeShare)),
                 kMachineFields, plan.machines));
  }
  page.lists.push_back(
      {"notes",
       {"* the scenario's own",
        "steps of decoding alone, all requests of average context: prefill and first loads of prompts come on top",
        fmt::format("hidden: the step is at most {} longer than the GPU's work", percent(planner::kHiddenShare)),
        "crossover: setup and latency stay, all rates and times per row of the link change together",
        "two tokens: every other GPU with the catalogue's profile of it; the cost can fall again between first and "
        "always "
        "(waves of tiles, experts)",
        "host links copy rows the scenario's way where they have figures for it, else in their best way"}});
  page.lists.push_back({"without figures", problems(plan)});
  page.lists.push_back({"how sure", how_sure(o.scenario)});
  page.lists.push_back({"assumptions", o.scenario.assumptions});
  List fallbacks{"fall-backs", plan.own.step.fallbacks};
  if (!plan.own.step.within_domain) {
    fallbacks.items.push_back(
        fmt::format("a size of this step is beyond what profile {} was measured at: its forms were "
                    "carried on",
                    o.scenario.serving.cluster.uniform().profile.name));
  }
  page.lists.push_back(std::move(fallbacks));
  return page;
}

}  // namespace kvsim::results
