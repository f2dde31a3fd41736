#include "tools/results/prefetch.h"

#include <fmt/format.h>

#include "models/schema/si.h"
#include "tools/results/fields.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::Crossover;
using planner::CrossoverPoint;
using planner::FetchOutlook;
using planner::HostLink;
using planner::PolicyOutlook;
using planner::PrefetchPlan;
using planner::TwoTokenMachine;

std::string gigabytes(double bytes) {
  return figure(bytes / kGB);
}

Fields<PolicyOutlook> policy_fields(const std::string& own) {
  using P = PolicyOutlook;
  return {{"policy",
           "policy",
           &P::policy,
           {[own](const P& p) { return p.policy + (p.policy == own ? " *" : ""); }, Align::left}},
          {"batch", "batch", [](const P& p) { return p.memory.batch; }},
          {"batch_at_final_context", [](const P& p) { return p.memory.at_the_end; }},
          {"batch_bound_by", [](const P& p) { return words_of(p.memory.bound); }},
          {"step_s", "step", [](const P& p) { return p.step.step_s; }, seconds},
          {"computing_s", "computing", [](const P& p) { return p.step.computing_s(); }, seconds},
          {"fetch_s", "link", [](const P& p) { return p.step.fetch_s(); },
           [](const P& p) { return p.step.layers.fetch_bytes > 0 ? seconds(p.step.fetch_s()) : "-"; }},
          {"fetch_hidden", [](const P& p) { return p.step.hidden(); }},
          {"output_tokens_per_s", "tokens/s", [](const P& p) { return p.step.tokens_per_s(); }},
          {"paced_by", "pace", [](const P& p) { return words_of(p.step.pace); }, Align::left},
          {"fetch_bytes_per_request", [](const P& p) { return p.step.fetch_bytes_per_request; }},
          {"resident_fraction", "KV resident", &P::resident_fraction, percent},
          {"kv_capacity_bytes", [](const P& p) { return p.memory.capacity_bytes; }},
          {"kv_bytes_per_request", [](const P& p) { return p.memory.request_bytes; }},
          {"within_profile", [](const P& p) { return p.step.within_domain; }}};
}

Json policies_json(const PrefetchPlan& plan) {
  const Fields<PolicyOutlook> fields = policy_fields(plan.own.policy);
  Json list = Json::array();
  for (const PolicyOutlook& p : plan.policies) {
    list.push_back(p.problem.empty() ? object(fields, p) : Json{{"policy", p.policy}, {"problem", p.problem}});
  }
  return list;
}

Table step_table(const PrefetchPlan& plan) {
  const Fields<PolicyOutlook> fields = policy_fields(plan.own.policy);
  Table t = table_of("Step: as many requests as fit, and what sets the pace", fields, plan.policies);
  for (std::size_t i = 0; i < t.rows.size(); ++i) {
    if (!plan.policies[i].problem.empty()) t.rows[i] = dashes(t.rows[i].front().text, t.header.size());
  }
  return t;
}

const Fields<FetchOutlook> kFetchFields{
    {"rows_per_request_layer_and_gpu", "rows", &FetchOutlook::rows, figure, "per layer and GPU"},
    {"row_bytes", "row", &FetchOutlook::row_bytes, bytes},
    {"method", "way of copying", &FetchOutlook::method},
    {"rows_bytes_per_s", "rate of rows", &FetchOutlook::rows_bytes_per_s,
     [](const FetchOutlook& f) { return gigabytes(f.rows_bytes_per_s) + " GB/s"; }},
    {"contiguous_bytes_per_s", &FetchOutlook::contiguous_bytes_per_s}};

Table fetch_table(const PrefetchPlan& plan) {
  const FetchOutlook& f = *plan.fetch;
  Table t = figures_of("Fetch of a request", kFetchFields, f);
  t.rows.back().back() =
      fmt::format("per GPU; {} of {} GB/s contiguous", percent(f.rows_bytes_per_s / f.contiguous_bytes_per_s),
                  gigabytes(f.contiguous_bytes_per_s));
  for (const PolicyOutlook& p : plan.policies) {
    if (!p.problem.empty() || p.step.layers.fetch_bytes == 0) continue;
    t.rows.push_back({p.policy, bytes(p.step.fetch_bytes_per_request),
                      fmt::format("per step, all layers; the batch's take {} of a step",
                                  percent(p.step.fetch_s() / p.step.step_s))});
  }
  return t;
}

Fields<CrossoverPoint> crossover_fields(const Crossover& c) {
  using P = CrossoverPoint;
  const double contiguous = c.own.contiguous_bytes_per_s;
  return {{"k", "k", &P::k},
          {"computing_s", &P::computing_s},
          {"fetch_bytes_per_gpu", &P::bytes_per_gpu},
          {"least_rows_bytes_per_s", "rows", &P::rows_bytes_per_s,
           [](const P& p) { return p.rows_bytes_per_s ? gigabytes(*p.rows_bytes_per_s) : "no rate"; }},
          {"", "contiguous", [=](const P& p) { return p.link_factor.value_or(kNone) * contiguous; }, gigabytes},
          {"least_link_factor", "of this link", &P::link_factor, factor},
          {"hidden", "on " + c.own.name, &P::hidden, [](const P& p) { return p.hidden ? "hidden" : "not hidden"; }}};
}

Table crossover_table(const Crossover& c) {
  Table t = table_of(
      fmt::format("Crossover: the link that hides the fetch of {} requests, GB/s per GPU", whole(c.requests.batch)),
      crossover_fields(c), c.points);
  t.align.front() = Align::left;
  thin_out(t);
  return t;
}

/// `k`: the scenario's.
Fields<HostLink> link_fields(std::int64_t k) {
  using L = HostLink;
  const auto hides = [k](const L& l) { return l.largest_hidden_k && *l.largest_hidden_k >= k; };
  return {{"link", "link", &L::name, {[](const L& l) { return l.name + (l.own ? " *" : ""); }, Align::left}},
          {"own", &L::own},
          {"method", "copies", &L::method, Align::left},
          {"contiguous_bytes_per_s", "contiguous", &L::contiguous_bytes_per_s, gigabytes},
          {"rows_bytes_per_s", "rows", &L::rows_bytes_per_s, gigabytes},
          {"largest_hidden_k", "largest k", &L::largest_hidden_k,
           [](const L& l) { return l.largest_hidden_k ? whole(*l.largest_hidden_k) : "none"; }},
          {"", "k = " + whole(k), hides, [=](const L& l) { return hides(l) ? "hidden" : "not hidden"; }}};
}

Json crossover_json(const Crossover& c) {
  return {{"batch", c.requests.batch},
          {"top_k", c.k},
          {"row_bytes", c.row_bytes},
          {"largest_hidden_k", or_null(c.own.largest_hidden_k)},
          {"points", array(crossover_fields(c), c.points)},
          {"links", array(link_fields(c.k), c.links)}};
}

std::string batch_text(const std::optional<std::int64_t>& batch) {
  return batch ? whole(*batch) : fmt::format("over {}", whole(planner::kLargestBatch));
}

const Fields<TwoTokenMachine> kMachineFields{
    {"gpu", "GPU", &TwoTokenMachine::gpu, Align::left},
    {"first_batch_of_5_percent", "first", [](const TwoTokenMachine& m) { return m.not_free.first; },
     [](const TwoTokenMachine& m) { return batch_text(m.not_free.first); }},
    {"always_from_batch", "always from", [](const TwoTokenMachine& m) { return m.not_free.always; },
     [](const TwoTokenMachine& m) { return batch_text(m.not_free.always); }},
    {"batch_that_fits", "batch that fits", &TwoTokenMachine::fits},
    {"cost_at_batch_that_fits", "cost there", &TwoTokenMachine::cost_at_fits, percent}};

std::string decision(const PrefetchPlan& plan) {
  const PolicyOutlook& own = plan.own;
  std::string text = fmt::format("{}: {} requests at once, {} a step, {} tokens/s", own.policy, whole(own.memory.batch),
                                 seconds(own.step.step_s), figure(own.step.tokens_per_s()));
  for (const PolicyOutlook& p : plan.policies) {
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
  for (const PolicyOutlook& p : plan.policies) {
    if (!p.problem.empty()) all.push_back(fmt::format("{}: {}", p.policy, p.problem));
  }
  return all;
}

}  // namespace

Json prefetch_document(const PrefetchOutcome& o) {
  const PrefetchPlan& plan = o.plan;
  Json reasons = Json::object();
  Section doc("", reasons);
  doc.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  doc.set("scenario", o.scenario.name).set("policy", plan.own.policy);
  doc.count("batch", plan.own.memory.batch);
  doc.number("step_s", plan.own.step.step_s, "not finite");
  doc.number("output_tokens_per_s", plan.own.step.tokens_per_s(), "not finite");
  doc.set("policies", policies_json(plan));
  constexpr const char* kCannotRun = "speculative_prefetch cannot run here: see its problem under policies";
  plan.fetch ? doc.set("fetch", object(kFetchFields, *plan.fetch)) : doc.missing("fetch", kCannotRun);
  plan.crossover ? doc.set("crossover", crossover_json(*plan.crossover)) : doc.missing("crossover", kCannotRun);
  plan.crossover ? doc.set("two_tokens", array(kMachineFields, plan.machines)) : doc.missing("two_tokens", kCannotRun);
  doc.set("details", Json{{"per", "replica"},
                          {"context_tokens", plan.context},
                          {"prompt_tokens", plan.own.step.requests.prompt},
                          {"generated_tokens", plan.own.step.requests.generated},
                          {"hidden_share", planner::kHiddenShare},
                          {"assumptions", o.scenario.assumptions},
                          {"fallbacks", plan.own.step.fallbacks},
                          {"reasons", reasons}});
  return doc.take();
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
  page.lists.push_back({"assumptions", o.scenario.assumptions});
  List fallbacks{"fall-backs", plan.own.step.fallbacks};
  if (!plan.own.step.within_domain) {
    fallbacks.items.push_back(
        fmt::format("a size of this step is beyond what profile {} was measured at: its forms were "
                    "carried on",
                    o.scenario.serving.cluster.profile.name));
  }
  page.lists.push_back(std::move(fallbacks));
  return page;
}

}  // namespace kvsim::results
