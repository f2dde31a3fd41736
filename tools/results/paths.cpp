#include "tools/results/paths.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tools/results/fields.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using planner::kAllPaths;
using planner::kAllResources;
using planner::Path;
using planner::PathPlan;
using planner::PathProblem;
using planner::PerPool;
using planner::Purchase;
using planner::Residence;

/// The reading that a plan did not take.
Residence other_reading(Residence residence) {
  return residence == Residence::published ? Residence::steps : Residence::published;
}

/// With its sign; 0 where it is next to nothing beside `of`, which is how well fixed points are known.
std::string signed_figure(double value, double of) {
  if (std::abs(value) <= planner::kPathResidual * of) return "0";
  return (value < 0 ? "-" : "+") + figure(std::abs(value));
}

/// `now`: tokens/s without the purchase.
Fields<Purchase> purchase_fields(double now) {
  using P = Purchase;
  return {{"name", &P::name},
          {"description", "more of", &P::description, Align::left},
          {"throughput_tokens_per_s", "tokens/s", &P::tokens_per_s,
           [](const P& p) { return figure(p.tokens_per_s) + (p.converged ? "" : " (not converged)"); }},
          {"gain_tokens_per_s", "gain", [now](const P& p) { return p.tokens_per_s - now; },
           [now](const P& p) { return signed_figure(p.tokens_per_s - now, now); }},
          {"", "gain in %", [now](const P& p) { return 100 * (p.tokens_per_s - now) / now; },
           [now](const P& p) { return signed_figure(100 * (p.tokens_per_s - now) / now, 100); }},
          {"converged", &P::converged}};
}

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

std::string gpus(std::int64_t count, const char* pool) {
  return fmt::format("{} {} GPU{}", whole(count), pool, count == 1 ? "" : "s");
}

std::string_view says(Path path) {
  static constexpr std::array<std::string_view, planner::kPaths> meanings{
      "local pool only",
      "remote pool only, full KV",
      "remote drafts, local verifies and keeps the full KV",
      "remote drafts, local reads the full KV for each round",
      "as P1_cached, until the full KV has reached the remote pool",
      "as P1_stateless, until the full KV has reached the remote pool"};
  return meanings.at(static_cast<std::size_t>(path));
}

Table throughput(const PathsResult& result) {
  const PathPlan& plan = result.plan;
  Table t = key_figures("Throughput");
  t.rows.push_back({"output", figure(plan.tokens_per_s), "tokens/s"});
  t.rows.push_back({"requests", figure(plan.requests_per_s), "/s"});
  const auto pool = [&](const char* label, std::int64_t size, double slots) {
    if (size > 0) {
      t.rows.push_back(
          {label, figure(slots), "",
           fmt::format("of {} slots per {}", whole(static_cast<std::int64_t>(slots_per_gpu(result.problem).local)),
                       result.problem.steps ? "node" : "GPU")});
    }
  };
  pool("occupied, local", result.problem.pools.local, plan.occupancy.local);
  pool("occupied, remote", result.problem.pools.remote, plan.occupancy.remote);
  return t;
}

Table paths(const PathsResult& result) {
  Table t{"Paths", {"path", "requests/s", "share", ""}, {Align::left, Align::right, Align::right, Align::left}, {}};
  for (const Path path : kAllPaths) {
    const double n = result.plan.n[static_cast<std::size_t>(path)];
    const bool allowed = result.problem.allows(path);
    t.rows.push_back({std::string(path_name(path)), allowed ? figure(n) : "-",
                      allowed ? percent(n / result.plan.requests_per_s) : "-",
                      allowed ? std::string(says(path)) : "not allowed"});
  }
  return t;
}

Table resources(const PathsResult& result) {
  Table t{"Resources", {"row", "limit", "used", "shadow price"}, {Align::left}, {}};
  t.align.resize(t.header.size(), Align::right);
  for (const auto resource : kAllResources) {
    const auto r = static_cast<std::size_t>(resource);
    const double limit = result.plan.lp.limits[r];
    if (!(limit > 0)) continue;
    t.rows.push_back({std::string(resource_name(resource)), figure(limit), percent(result.plan.use[r] / limit),
                      figure(result.plan.price[r])});
  }
  return t;
}

Table readings(const PathsResult& result) {
  Table t{"Both readings of the slot time", {"residence", "tokens/s", "local", "remote", ""}, {}, {}};
  t.align = {Align::left, Align::right, Align::right, Align::right, Align::left};
  const auto row = [&t](Residence residence, const PathPlan& plan) {
    t.rows.push_back({std::string(residence_name(residence)), figure(plan.tokens_per_s), figure(plan.occupancy.local),
                      figure(plan.occupancy.remote),
                      residence == Residence::published ? "a slot per token for T_tok, as printed"
                                                        : "a slot per token for the step, B T_tok"});
  };
  row(result.problem.residence, result.plan);
  row(other_reading(result.problem.residence), *result.other);
  return t;
}

List notes(const PathsResult& result) {
  List list{
      "Notes",
      {"shadow price: tokens/s per unit of the row's limit, at fixed times per token; \"What one buys\" solves "
       "everything anew",
       result.problem.steps ? "gpu: a node that decodes for anybody is always in a step, so that 100 % is no sign of "
                              "a shortage"
                            : "local, remote: occupied slots per GPU, which are the batch that T_tok assumes"}};
  for (const Purchase& p : result.purchases) {
    if (p.tokens_per_s >= result.plan.tokens_per_s * (1 - planner::kPathResidual)) continue;
    list.items.emplace_back(
        "more can bring less where slots that wait for a link count as batch: a faster link empties them, and the "
        "weights are read for fewer (docs/findings.md)");
    break;
  }
  if (result.plan.on_a_step) {
    list.items.emplace_back(
        "the number of verifications, N2, sits on a step of its ceiling: some requests need one more");
  }
  return list;
}

}  // namespace

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
  details.set("times_s", times(result)).set("purchases", array(purchase_fields(plan.tokens_per_s), result.purchases));
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

Page paths_page(const PathsResult& result) {
  const auto& [symbols, pools, request, acceptance, allowed, residence, steps] = result.problem;
  Page page;
  page.title = fmt::format("Paths of {}", result.file);
  page.subtitle = {
      fmt::format("{} and {}, {} of HBM each: {} for weights, the rest {} slots of {}", gpus(pools.local, "local"),
                  gpus(pools.remote, "remote"), bytes(symbols.HBM), bytes(symbols.M),
                  whole(static_cast<std::int64_t>(slots_per_gpu(symbols))), bytes(symbols.KV)),
      fmt::format("HBM {}/s, links {}/s to local and {}/s to remote", bytes(symbols.BW_hbm), bytes(symbols.BW_h),
                  bytes(symbols.BW_l)),
      fmt::format("K = {} tokens, c = {:.4g}, x = {}, of which {} are accepted; residence: {}", whole(request.K),
                  request.c, request.x, percent(planner::accepted_share(result.problem)), residence_name(residence))};
  page.tables = {throughput(result), paths(result), resources(result),
                 table_of("What one buys", purchase_fields(result.plan.tokens_per_s), result.purchases)};
  if (result.other) page.tables.push_back(readings(result));
  page.lists = {notes(result)};
  return page;
}

}  // namespace kvsim::results
