#include "tools/results/paths.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "planner/paths/path_plan.h"
#include "planner/paths/scenario_problem.h"
#include "planner/plan/scenario_costs.h"
#include "tools/results/fields.h"

namespace kvsim::results {
namespace {

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
    {"predicted_tokens_per_s",
     {kTokensPerS, kHigher, "output tokens/s that the plan says, or that arrive where that is less"},
     "predicted",
     &PoolsPlan::predicted_tokens_per_s,
     {},
     "tokens/s"},
    {"weighted_tokens_per_s",
     {kTokensPerS, kHigher, "output tokens/s simulated under the plan's weights"},
     "with these weights",
     [](const PoolsPlan& p) { return simulated_rate(p.weighted); },
     {},
     "tokens/s",
     [](const PoolsPlan& p) { return fmt::format("{:+.1f} % of what was predicted", 100 * prediction_gap(p)); }},
    {"full_kv_tokens_per_s",
     {kTokensPerS, kHigher, "output tokens/s simulated under the best weights without drafting"},
     "full KV alone",
     [](const PoolsPlan& p) { return simulated_rate(p.full_kv); },
     {},
     "tokens/s",
     "the best weights without drafting"},
    {"online_tokens_per_s",
     {kTokensPerS, kHigher, "output tokens/s simulated under dispatch policy online"},
     "dispatch online",
     [](const PoolsPlan& p) { return simulated_rate(p.online); },
     {},
     "tokens/s"},
    {"gap", {kShare, "what the simulation under the plan's weights differs by from the prediction"}, prediction_gap}};

Fields<planner::StepLine> line_fields(const std::string& pool) {
  using L = planner::StepLine;
  return {{"base_s", {kSeconds, fmt::format("time of a {} node's step without requests", pool)}, &L::base_s},
          {"token_s", {kSeconds, fmt::format("what a decoding request adds to a {} node's step", pool)}, &L::token_s}};
}

Fields<planner::PathProblem> derived_fields() {
  using P = planner::PathProblem;
  using C = planner::StepCosts;
  using F = Field<P>;
  const auto of = [](auto member) { return [member](const P& p) { return (*p.steps).*member; }; };
  return {
      {"output_tokens", {kTokens, "output tokens of a request"}, [](const P& p) { return p.request.K; }},
      {"draft_length", {kTokens, "tokens drafted for a verification"}, [](const P& p) { return p.request.x; }},
      {"transfer_ratio",
       {kShare, "bytes of the compressed KV over those of the full KV"},
       [](const P& p) { return p.request.c; }},
      F::part("local_step", "a step of a local node", of(&C::local), line_fields("local")),
      F::part("remote_step", "a step of a remote node", of(&C::remote), line_fields("remote")),
      {"draft_work_tokens", {kPlain, "decoded tokens whose work equals that of one drafted token"}, of(&C::draft_work)},
      {"verification_work_tokens",
       {kPlain, "decoded tokens whose work equals that of one verification"},
       of(&C::verify_work)},
      {"slots_per_node",
       {kCount, "KV slots of a node; of a local one where pools differ"},
       [](const P& p) { return p.steps->slots.local; }},
      {"drafting_slots", {kPlain, "KV slots of a remote node that a drafting request takes"}, of(&C::drafting_slots)},
      {"decompress_s", {kSeconds, "time in which a remote node decompresses a request's KV"}, of(&C::decompress_s)},
      {"round_trip_s", {kSeconds, "time of the messages of a round between the pools"}, of(&C::round_trip_s)},
      {"rounds_per_request", {kPlain, "verifications of a request that is drafted from end to end"}, of(&C::rounds)},
      {"drafts_per_request", {kPlain, "tokens drafted for a request that is drafted from end to end"}, of(&C::drafts)}};
}

/// Fields in the details of the document beside that of the paths.
Fields<PoolsPlan> pools_fields() {
  using P = PoolsPlan;
  using F = Field<P>;
  const Fields<P> dispatch{
      {"policy", {kText, "dispatch policy that the weights are for"}, [](const P&) { return "weighted"; }},
      F::values("weights.*", {kRequestsPerS, "weight of a path: the plan's requests/s on it"}, weights)};
  return {F::part(
              "derived", "costs that the plan takes from the scenario", [](const P& p) { return p.paths.problem; },
              derived_fields()),
          F::part("dispatch", "block dispatch of the scenario with the plan's weights", std::identity{}, dispatch),
          F::part(
              "simulated", "how the plan fares in the simulator; null without --simulate",
              [](const P& p) { return p.weighted && p.online ? &p : nullptr; }, kSimulatedFields)};
}

std::string nodes(std::int64_t count, const char* pool) {
  return fmt::format("{} {} node{}", whole(count), pool, count == 1 ? "" : "s");
}

Table steps(const planner::PathProblem& problem) {
  const planner::StepCosts& c = *problem.steps;
  Table t = key_figures("Derived from the scenario");
  const auto add_step = [&t](const char* name, const planner::StepLine& line) {
    t.rows.push_back(
        {name, seconds(line.base_s), "", fmt::format("and {} per decoding request", seconds(line.token_s))});
  };
  const bool alike = c.local.base_s == c.remote.base_s && c.local.token_s == c.remote.token_s;
  add_step(alike ? "step" : "step, local", c.local);
  if (!alike) add_step("step, remote", c.remote);
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
  document["details"].update(object(pools_fields(), plan));
  return document;
}

KeyList pools_plan_keys() {
  KeyList keys = paths_keys();
  std::erase_if(keys, [](const Key& key) { return key.path.starts_with("details.other_reading"); });
  const KeyList more = below("details", keys_of(pools_fields()));
  keys.insert(keys.end(), more.begin(), more.end());
  return keys;
}

namespace {

/// "1 local node and 3 remote nodes of 1 x h100-sxm: 20 slots of 1 GB each"
std::string nodes_and_slots(const PoolsPlan& plan) {
  const planner::PathProblem& problem = plan.paths.problem;
  const serving::ClusterConfig& c = plan.scenario.serving.cluster;
  const std::vector<const serving::GroupConfig*> kinds = serving::kinds(c);
  const auto of = [&](const serving::GroupConfig& group, double slots) {
    return fmt::format("of {} x {}: {} slots of {} each", group.parallel.tensor, group.gpu.name,
                       whole(static_cast<std::int64_t>(slots)), bytes(problem.symbols.KV));
  };
  const std::string local = nodes(problem.pools.local, "local"), remote = nodes(problem.pools.remote, "remote");
  const planner::PerPool& slots = problem.steps->slots;
  if (kinds.size() == 1) {
    return fmt::format("{} and {} {}", local, remote,
                       of(*kinds.front(), problem.pools.local > 0 ? slots.local : slots.remote));
  }
  return fmt::format("{} {}, and {} {}", local, of(c.with(&serving::Roles::verify), slots.local), remote,
                     of(c.with(&serving::Roles::draft), slots.remote));
}

}  // namespace

Page pools_plan_page(const PoolsPlan& plan) {
  const planner::PathProblem& problem = plan.paths.problem;
  Page page = paths_page(plan.paths);
  page.subtitle = {fmt::format("{} on {}", plan.scenario.serving.model.name, nodes_and_slots(plan)),
                   fmt::format("links {}/s to a local and {}/s to a remote node", bytes(problem.symbols.BW_h),
                               bytes(problem.symbols.BW_l)),
                   fmt::format("K = {} tokens, c = {:.4g}, x = {}, of which {} are accepted", whole(problem.request.K),
                               problem.request.c, problem.request.x, percent(planner::accepted_share(problem)))};
  page.tables.insert(page.tables.begin() + 1, steps(problem));
  if (plan.weighted && plan.online) page.tables.push_back(simulation(plan));
  const serving::Topology topology = plan.scenario.serving.cluster.topology();
  if (std::any_of(topology.instances.begin(), topology.instances.end(),
                  [](const serving::InstancePool& pool) { return !pool.group.outages.empty(); })) {
    page.lists.front().items.emplace_back("the scenario's link outages are not in the plan");
  }
  return page;
}

}  // namespace kvsim::results
