#include "tools/results/paths_document.h"

#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::kAllPaths;
using planner::kAllResources;
using planner::PathProblem;
using planner::PerPool;
using planner::Residence;

Json per_pool(const PerPool& figures) {
  return {{"local", figures.local}, {"remote", figures.remote}};
}

Json rates(const PathsResult& result) {
  Json n = Json::object();
  for (const auto path : kAllPaths) n[std::string(path_name(path))] = result.plan.n[static_cast<std::size_t>(path)];
  return n;
}

/// One number per row of the LP, null where the pool has no GPU.
Section by_resource(Section s, const PathsResult& result, const planner::ResourceFigures& figures) {
  for (const auto resource : kAllResources) {
    const auto r = static_cast<std::size_t>(resource);
    const bool sometimes = resource == planner::Resource::storage || resource == planner::Resource::local_held;
    if (sometimes && !(result.plan.lp.limits[r] > 0)) continue;  // no such limit
    if (result.plan.lp.limits[r] > 0) {
      s.set(resource_name(resource), figures[r]);
    } else {
      s.missing(resource_name(resource), "the pool has no GPU");
    }
  }
  return s;
}

planner::ResourceFigures used_shares(const PathsResult& result) {
  planner::ResourceFigures shares{};
  for (std::size_t r = 0; r < planner::kResources; ++r) shares[r] = result.plan.use[r] / result.plan.lp.limits[r];
  return shares;
}

Json times(const PathsResult& result) {
  const planner::PathTimes t = path_times(result.problem, result.plan.batch);
  return {{"T_tok", per_pool(t.T_tok)},
          {"T_slot", per_pool(t.T_slot)},
          {"T_h", t.T_h},
          {"T_l", t.T_l},
          {"T_lc", t.T_lc},
          {"T_rem", t.T_rem},
          {"g", t.g},
          {"N1", t.N1},
          {"Nd", t.Nd},
          {"N2", t.N2},
          {"K2", t.K2}};
}

Json purchases(const PathsResult& result) {
  Json list = Json::array();
  for (const planner::Purchase& p : result.purchases) {
    list.push_back({{"name", p.name},
                    {"description", p.description},
                    {"throughput_tokens_per_s", p.tokens_per_s},
                    {"gain_tokens_per_s", p.tokens_per_s - result.plan.tokens_per_s},
                    {"converged", p.converged}});
  }
  return list;
}

}  // namespace

Residence other_reading(Residence residence) {
  return residence == Residence::published ? Residence::steps : Residence::published;
}

PathsResult plan_paths(std::string file, const PathProblem& problem) {
  PathProblem other = problem;
  other.residence = other_reading(problem.residence);
  return {std::move(file), problem, planner::plan_paths(problem), planner::plan_paths(other),
          planner::purchases(problem)};
}

Json paths_document(const PathsResult& result) {
  const planner::PathPlan& plan = result.plan;
  Json reasons = Json::object();
  Section doc("", reasons);
  doc.set("schema_version", kSchemaVersion).set("kvsim_version", kvsim_version());
  doc.set("throughput_tokens_per_s", plan.tokens_per_s).set("requests_per_s", plan.requests_per_s);
  doc.set("paths", rates(result)).set("occupancy", per_pool(plan.occupancy));
  doc.set("shadow_prices", by_resource(doc.child("shadow_prices"), result, plan.price));
  doc.set("converged", plan.converged).set("residual", plan.residual);
  Section details = doc.child("details");
  details.set("residence", residence_name(result.problem.residence));
  details.set("batch", per_pool(plan.batch)).set("slots_per_gpu", slots_per_gpu(result.problem).local);
  details.set("used", by_resource(details.child("used"), result, used_shares(result)));
  details.set("times_s", times(result)).set("purchases", purchases(result));
  if (result.other) {
    details.set("other_reading", {{"residence", residence_name(other_reading(result.problem.residence))},
                                  {"throughput_tokens_per_s", result.other->tokens_per_s},
                                  {"occupancy", per_pool(result.other->occupancy)},
                                  {"converged", result.other->converged},
                                  {"residual", result.other->residual}});
  }
  details.set("on_a_step", plan.on_a_step).set("fixed_points", plan.fixed_points).set("lps_solved", plan.lps_solved);
  Json complete = details.take();
  complete["reasons"] = reasons;  // last: by now it holds them all
  doc.set("details", std::move(complete));
  return doc.take();
}

}  // namespace kvsim::results
