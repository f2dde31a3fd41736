#include "tools/results/paths_page.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using planner::kAllPaths;
using planner::kAllResources;
using planner::Path;
using planner::PathPlan;
using planner::Residence;

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

/// With its sign; 0 where it is next to nothing beside `of`, which is how well fixed points are known.
std::string signed_figure(double value, double of) {
  if (std::abs(value) <= planner::kPathResidual * of) return "0";
  return (value < 0 ? "-" : "+") + figure(std::abs(value));
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

Table purchase_table(const PathsResult& result) {
  Table t{"What one buys", {"more of", "tokens/s", "gain", "gain in %"}, {Align::left}, {}};
  t.align.resize(t.header.size(), Align::right);
  for (const planner::Purchase& p : result.purchases) {
    const double gain = p.tokens_per_s - result.plan.tokens_per_s;
    t.rows.push_back({p.description, figure(p.tokens_per_s) + (p.converged ? "" : " (not converged)"),
                      signed_figure(gain, result.plan.tokens_per_s),
                      signed_figure(100 * gain / result.plan.tokens_per_s, 100)});
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
  for (const planner::Purchase& p : result.purchases) {
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
  page.tables = {throughput(result), paths(result), resources(result), purchase_table(result)};
  if (result.other) page.tables.push_back(readings(result));
  page.lists = {notes(result)};
  return page;
}

}  // namespace kvsim::results
