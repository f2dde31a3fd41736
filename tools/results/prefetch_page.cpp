#include "tools/results/prefetch_page.h"

#include <fmt/format.h>

#include "models/schema/si.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using planner::Crossover;
using planner::CrossoverPoint;
using planner::HostLink;
using planner::PolicyOutlook;
using planner::PrefetchPlan;

std::string gigabytes_per_s(double bytes_per_s) {
  return figure(bytes_per_s / kGB);
}

Table table(std::string title, std::vector<std::string> header) {
  Table t;
  t.title = std::move(title);
  t.header = std::move(header);
  t.align.assign(t.header.size(), Align::right);
  t.align.front() = Align::left;
  return t;
}

Table step_table(const PrefetchPlan& plan) {
  Table t = table("Step: as many requests as fit, and what sets the pace",
                  {"policy", "batch", "step", "computing", "link", "tokens/s", "pace", "KV resident"});
  t.align[6] = Align::left;
  for (const PolicyOutlook& p : plan.policies) {
    const std::string name = p.policy == plan.own.policy ? p.policy + " *" : p.policy;
    if (!p.problem.empty()) {
      t.rows.push_back({name, "-", "-", "-", "-", "-", "-", "-"});
      continue;
    }
    t.rows.push_back({name, whole(p.memory.batch), seconds(p.step.step_s), seconds(p.step.computing_s()),
                      p.step.layers.fetch_bytes > 0 ? seconds(p.step.fetch_s()) : "-", figure(p.step.tokens_per_s()),
                      std::string(words_of(p.step.pace)), percent(p.resident_fraction)});
  }
  return t;
}

Table fetch_table(const PrefetchPlan& plan) {
  const planner::FetchOutlook& f = *plan.fetch;
  Table t = key_figures("Fetch of a request");
  t.rows.push_back({"rows", figure(f.rows), "per layer and GPU"});
  t.rows.push_back({"row", bytes(f.row_bytes), ""});
  t.rows.push_back({"way of copying", f.method, ""});
  t.rows.push_back(
      {"rate of rows", gigabytes_per_s(f.rows_bytes_per_s) + " GB/s",
       fmt::format("per GPU; {} of {} GB/s contiguous", percent(f.rows_bytes_per_s / f.contiguous_bytes_per_s),
                   gigabytes_per_s(f.contiguous_bytes_per_s))});
  for (const PolicyOutlook& p : plan.policies) {
    if (!p.problem.empty() || p.step.layers.fetch_bytes == 0) continue;
    t.rows.push_back({p.policy, bytes(p.step.fetch_bytes_per_request),
                      fmt::format("per step, all layers; the batch's take {} of a step",
                                  percent(p.step.fetch_s() / p.step.step_s))});
  }
  return t;
}

Table crossover_table(const Crossover& c) {
  Table t = table(
      fmt::format("Crossover: the link that hides the fetch of {} requests, GB/s per GPU", whole(c.requests.batch)),
      {"k", "rows", "contiguous", "of this link", fmt::format("on {}", c.own.name)});
  for (std::size_t i = 0; i < c.points.size(); i += i + 2 == c.points.size() ? 1 : 2) {
    const CrossoverPoint& p = c.points[i];
    const bool some = p.rows_bytes_per_s.has_value();
    t.rows.push_back({whole(p.k), some ? gigabytes_per_s(*p.rows_bytes_per_s) : "no rate",
                      some ? gigabytes_per_s(*p.link_factor * c.own.contiguous_bytes_per_s) : "-",
                      some ? factor(*p.link_factor) : "-", p.hidden ? "hidden" : "not hidden"});
  }
  return t;
}

Table link_table(const Crossover& c) {
  Table t = table("Host links: rates in GB/s per GPU, and the largest k that stays hidden",
                  {"link", "copies", "contiguous", "rows", "largest k", fmt::format("k = {}", whole(c.k))});
  t.align[1] = Align::left;
  for (const HostLink& l : c.links) {
    const bool hidden = l.largest_hidden_k && *l.largest_hidden_k >= c.k;
    t.rows.push_back({l.own ? l.name + " *" : l.name, l.method, gigabytes_per_s(l.contiguous_bytes_per_s),
                      gigabytes_per_s(l.rows_bytes_per_s), l.largest_hidden_k ? whole(*l.largest_hidden_k) : "none",
                      hidden ? "hidden" : "not hidden"});
  }
  return t;
}

std::string batch_text(const std::optional<std::int64_t>& batch) {
  return batch ? whole(*batch) : fmt::format("over {}", whole(planner::kLargestBatch));
}

Table machine_table(const PrefetchPlan& plan) {
  Table t = table(fmt::format("Two tokens: at which batches a second token costs {}", percent(planner::kFreeShare)),
                  {"GPU", "first", "always from", "batch that fits", "cost there"});
  for (const planner::TwoTokenMachine& m : plan.machines) {
    t.rows.push_back(
        {m.gpu, batch_text(m.not_free.first), batch_text(m.not_free.always), whole(m.fits), percent(m.cost_at_fits)});
  }
  return t;
}

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

Page prefetch_page(const PrefetchOutcome& o) {
  const PrefetchPlan& plan = o.plan;
  Page page;
  page.title = fmt::format("Plan: {}", o.scenario.name);
  page.subtitle = {decision(plan), batch_sentence(plan)};
  page.tables.push_back(step_table(plan));
  if (plan.fetch) page.tables.push_back(fetch_table(plan));
  if (plan.crossover) {
    page.tables.push_back(crossover_table(*plan.crossover));
    page.tables.push_back(link_table(*plan.crossover));
  }
  if (!plan.machines.empty()) page.tables.push_back(machine_table(plan));
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
