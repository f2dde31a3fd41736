#include "tools/results/paths.h"

#include <algorithm>

#include <fmt/format.h>

#include "planner/paths/path_plan.h"
#include "planner/paths/scenario_problem.h"
#include "planner/plan/scenario_costs.h"
#include "tools/results/fields.h"

namespace kvsim::results {
namespace {

Json line(const planner::StepLine& step) {
  return {{"base_s", step.base_s}, {"token_s", step.token_s}};
}

Json derived(const planner::PathProblem& problem) {
  const planner::StepCosts& c = *problem.steps;
  return {{"output_tokens", problem.request.K},
          {"draft_length", problem.request.x},
          {"transfer_ratio", problem.request.c},
          {"local_step", line(c.local)},
          {"remote_step", line(c.remote)},
          {"draft_work_tokens", c.draft_work},
          {"verification_work_tokens", c.verify_work},
          {"slots_per_node", c.slots.local},
          {"drafting_slots", c.drafting_slots},
          {"decompress_s", c.decompress_s},
          {"round_trip_s", c.round_trip_s},
          {"rounds_per_request", c.rounds},
          {"drafts_per_request", c.drafts}};
}

Json weights(const PoolsPlan& plan) {
  Json n = Json::object();
  const planner::PathRates rates = planner::path_weights(plan.paths.plan.n);
  for (const auto path : planner::kAllPaths) {
    const double rate = rates[models::index_of(path)];
    if (rate > 0) n[std::string(models::path_name(path))] = rate;
  }
  return n;
}

double simulated_rate(const std::optional<Outcome>& outcome) {
  return outcome ? output_tokens_per_s(outcome->result) : kNone;
}

/// Simulated over predicted, less 1; none where nothing was simulated.
double prediction_gap(const PoolsPlan& plan) {
  if (!plan.weighted || !(plan.predicted_tokens_per_s > 0)) return kNone;
  return output_tokens_per_s(plan.weighted->result) / plan.predicted_tokens_per_s - 1;
}

const Fields<PoolsPlan> kSimulatedFields{
    {"predicted_tokens_per_s", "predicted", &PoolsPlan::predicted_tokens_per_s, figure, "tokens/s"},
    {"weighted_tokens_per_s", "with these weights", [](const PoolsPlan& p) { return simulated_rate(p.weighted); },
     figure, "tokens/s",
     [](const PoolsPlan& p) { return fmt::format("{:+.1f} % of what was predicted", 100 * prediction_gap(p)); }},
    {"full_kv_tokens_per_s", "full KV alone", [](const PoolsPlan& p) { return simulated_rate(p.full_kv); }, figure,
     "tokens/s", "the best weights without drafting"},
    {"online_tokens_per_s", "dispatch online", [](const PoolsPlan& p) { return simulated_rate(p.online); }, figure,
     "tokens/s"},
    {"gap", prediction_gap}};

std::string nodes(std::int64_t count, const char* pool) {
  return fmt::format("{} {} node{}", whole(count), pool, count == 1 ? "" : "s");
}

Table steps(const planner::PathProblem& problem) {
  const planner::StepCosts& c = *problem.steps;
  Table t = key_figures("Derived from the scenario");
  t.rows.push_back(
      {"step", seconds(c.local.base_s), "", fmt::format("and {} per decoding request", seconds(c.local.token_s))});
  t.rows.push_back({"full KV", seconds(c.local_full.seconds()), "",
                    fmt::format("to a local node, {} to a remote one", seconds(c.remote_full.seconds()))});
  if (c.remote_compressed.bytes > 0) {
    t.rows.push_back({"compressed KV", seconds(c.remote_compressed.seconds()), "",
                      fmt::format("to a remote node, and {} to decompress", seconds(c.decompress_s))});
    t.rows.push_back({"a draft, a verification", figure(c.draft_work), "",
                      fmt::format("and {} times what a decoded token adds to a step", figure(c.verify_work))});
    t.rows.push_back(
        {"rounds", figure(c.rounds), "", fmt::format("per request, of {} drafts in all", figure(c.drafts))});
  }
  return t;
}

Table simulation(const PoolsPlan& plan) {
  Fields<PoolsPlan> fields = kSimulatedFields;
  if (!plan.full_kv) std::erase_if(fields, [](const auto& field) { return field.key == "full_kv_tokens_per_s"; });
  return figures_of("Simulated", fields, plan);
}

}  // namespace

PoolsPlan plan_pools(const scenario::Scenario& scenario) {
  PoolsPlan plan;
  plan.scenario = scenario;
  plan.paths.file = scenario.name;
  plan.paths.problem = planner::path_problem(scenario);
  plan.paths.plan = planner::plan_paths(plan.paths.problem);
  plan.paths.purchases = planner::purchases(scenario);
  plan.predicted_tokens_per_s = plan.paths.plan.tokens_per_s;
  const planner::Traffic traffic = planner::traffic_of(scenario);
  if (traffic.rate_per_s) {
    plan.predicted_tokens_per_s = std::min(plan.predicted_tokens_per_s, *traffic.rate_per_s * traffic.mean_output);
  }
  return plan;
}

std::string dispatch_yaml(const PoolsPlan& plan) {
  const Json n = weights(plan);
  std::string list;
  for (const auto& [path, rate] : n.items()) {
    list += fmt::format("{}{}: {:.6g}", list.empty() ? "" : ", ", path, rate.get<double>());
  }
  return fmt::format("dispatch:\n  policy: weighted\n  weights: {{{}}}\n", list);
}

Json pools_plan_document(const PoolsPlan& plan) {
  Json document = paths_document(plan.paths);
  Json& details = document["details"];
  details["derived"] = derived(plan.paths.problem);
  details["dispatch"] = {{"policy", "weighted"}, {"weights", weights(plan)}};
  details["simulated"] = plan.weighted && plan.online ? object(kSimulatedFields, plan) : Json(nullptr);
  return document;
}

Page pools_plan_page(const PoolsPlan& plan) {
  const planner::PathProblem& problem = plan.paths.problem;
  const serving::ClusterConfig& c = plan.scenario.serving.cluster;
  Page page = paths_page(plan.paths);
  page.subtitle = {
      fmt::format("{} on {} and {} of {} x {}: {} slots of {} each", plan.scenario.serving.model.name,
                  nodes(problem.pools.local, "local"), nodes(problem.pools.remote, "remote"), c.tensor_parallel,
                  c.gpu.name, whole(static_cast<std::int64_t>(problem.steps->slots.local)), bytes(problem.symbols.KV)),
      fmt::format("links {}/s to a local and {}/s to a remote node", bytes(problem.symbols.BW_h),
                  bytes(problem.symbols.BW_l)),
      fmt::format("K = {} tokens, c = {:.4g}, x = {}, of which {} are accepted", whole(problem.request.K),
                  problem.request.c, problem.request.x, percent(planner::accepted_share(problem)))};
  page.tables.insert(page.tables.begin() + 1, steps(problem));
  if (plan.weighted && plan.online) page.tables.push_back(simulation(plan));
  const serving::PoolsConfig& pools = *plan.scenario.serving.cluster.pools;
  if (!pools.local.outages.empty() || !pools.remote.outages.empty()) {
    page.lists.front().items.emplace_back("the scenario's link outages are not in the plan");
  }
  return page;
}

}  // namespace kvsim::results
