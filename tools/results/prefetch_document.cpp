#include "tools/results/prefetch_document.h"

#include <fmt/format.h>

#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::Crossover;
using planner::CrossoverPoint;
using planner::PolicyOutlook;
using planner::PrefetchPlan;

template <class T>
Json maybe(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json policy_json(const PolicyOutlook& p) {
  Json policy = {{"policy", p.policy}};
  if (!p.problem.empty()) {
    policy["problem"] = p.problem;
    return policy;
  }
  const planner::StepOutlook& s = p.step;
  policy["batch"] = p.memory.batch;
  policy["batch_at_final_context"] = p.memory.at_the_end;
  policy["batch_bound_by"] = words_of(p.memory.bound);
  policy["step_s"] = s.step_s;
  policy["computing_s"] = s.computing_s();
  policy["fetch_s"] = s.fetch_s();
  policy["fetch_hidden"] = s.hidden();
  policy["output_tokens_per_s"] = s.tokens_per_s();
  policy["paced_by"] = words_of(s.pace);
  policy["fetch_bytes_per_request"] = s.fetch_bytes_per_request;
  policy["resident_fraction"] = p.resident_fraction;
  policy["kv_capacity_bytes"] = p.memory.capacity_bytes;
  policy["kv_bytes_per_request"] = p.memory.request_bytes;
  policy["within_profile"] = s.within_domain;
  return policy;
}

Json link_json(const planner::HostLink& l) {
  return {{"link", l.name},
          {"own", l.own},
          {"method", l.method},
          {"contiguous_bytes_per_s", l.contiguous_bytes_per_s},
          {"rows_bytes_per_s", l.rows_bytes_per_s},
          {"largest_hidden_k", maybe(l.largest_hidden_k)}};
}

Json crossover_json(const Crossover& c) {
  Json points = Json::array();
  for (const CrossoverPoint& p : c.points) {
    points.push_back({{"k", p.k},
                      {"computing_s", p.computing_s},
                      {"fetch_bytes_per_gpu", p.bytes_per_gpu},
                      {"least_rows_bytes_per_s", maybe(p.rows_bytes_per_s)},
                      {"least_link_factor", maybe(p.link_factor)},
                      {"hidden", p.hidden}});
  }
  Json links = Json::array();
  for (const planner::HostLink& link : c.links) links.push_back(link_json(link));
  return {{"batch", c.requests.batch}, {"top_k", c.k},
          {"row_bytes", c.row_bytes},  {"largest_hidden_k", maybe(c.own.largest_hidden_k)},
          {"points", points},          {"links", links}};
}

Json fetch_json(const planner::FetchOutlook& f) {
  return {{"rows_per_request_layer_and_gpu", f.rows},
          {"row_bytes", f.row_bytes},
          {"method", f.method},
          {"rows_bytes_per_s", f.rows_bytes_per_s},
          {"contiguous_bytes_per_s", f.contiguous_bytes_per_s}};
}

Json machines_json(const std::vector<planner::TwoTokenMachine>& machines) {
  Json list = Json::array();
  for (const planner::TwoTokenMachine& m : machines) {
    list.push_back({{"gpu", m.gpu},
                    {"first_batch_of_5_percent", maybe(m.not_free.first)},
                    {"always_from_batch", maybe(m.not_free.always)},
                    {"batch_that_fits", m.fits},
                    {"cost_at_batch_that_fits", m.cost_at_fits}});
  }
  return list;
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
  Json policies = Json::array();
  for (const PolicyOutlook& p : plan.policies) policies.push_back(policy_json(p));
  doc.set("policies", std::move(policies));
  constexpr const char* kCannotRun = "speculative_prefetch cannot run here: see its problem under policies";
  plan.fetch ? doc.set("fetch", fetch_json(*plan.fetch)) : doc.missing("fetch", kCannotRun);
  plan.crossover ? doc.set("crossover", crossover_json(*plan.crossover)) : doc.missing("crossover", kCannotRun);
  plan.crossover ? doc.set("two_tokens", machines_json(plan.machines)) : doc.missing("two_tokens", kCannotRun);
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
  std::string csv = "k,computing_s,fetch_bytes_per_gpu,least_rows_bytes_per_s,least_link_factor,hidden\n";
  const auto field = [](const std::optional<double>& value) { return value ? fmt::format("{}", *value) : ""; };
  for (const CrossoverPoint& p : c.points) {
    csv += fmt::format("{},{},{},{},{},{}\n", p.k, p.computing_s, p.bytes_per_gpu, field(p.rows_bytes_per_s),
                       field(p.link_factor), p.hidden ? 1 : 0);
  }
  return csv;
}

}  // namespace kvsim::results
