#include "tools/results/paths.h"

#include <array>
#include <cmath>
#include <functional>

#include <fmt/format.h>

#include "tools/results/documents.h"

namespace kvsim::results {
namespace {

using planner::kAllPaths;
using planner::kAllResources;
using planner::Path;
using planner::PathPlan;
using planner::PathProblem;
using planner::PathTimes;
using planner::PerPool;
using planner::Purchase;
using planner::Residence;
using planner::Resource;

constexpr const char* kConverged = "whether the batches that were assumed are those that the rates lead to";
constexpr const char* kResidual =
    "largest relative difference of the batches assumed from those that the rates lead to";

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
struct Bought : Purchase {
  double now = 0;
  [[nodiscard]] double gain() const { return tokens_per_s - now; }
};

std::vector<Bought> with_gains(const PathsResult& result) {
  std::vector<Bought> all;
  for (const Purchase& p : result.purchases) all.push_back({p, result.plan.tokens_per_s});
  return all;
}

const Fields<Bought> kPurchaseFields{
    {"name", {kText, "short name of what is bought"}, &Bought::name},
    {"description", {kText, "what is bought, in words"}, "more of", &Bought::description, Align::left},
    {"throughput_tokens_per_s",
     {kTokensPerS, kHigher, "output tokens/s of the best plan with the purchase"},
     "tokens/s",
     &Bought::tokens_per_s,
     [](const Bought& p) { return figure(p.tokens_per_s) + (p.converged ? "" : " (not converged)"); }},
    {"gain_tokens_per_s",
     {kTokensPerS, kHigher, "output tokens/s that the purchase adds"},
     "gain",
     &Bought::gain,
     [](const Bought& p) { return signed_figure(p.gain(), p.now); }},
    {kOnPages, "gain in %", &Bought::gain, [](const Bought& p) { return signed_figure(100 * p.gain() / p.now, 100); }},
    {"converged", {kTruth, "whether the plan with the purchase has converged"}, &Bought::converged}};

Fields<PerPool> per_pool(const Unit& unit, const std::string& what) {
  return {{"local", {unit, what + ": local pool"}, &PerPool::local},
          {"remote", {unit, what + ": remote pool"}, &PerPool::remote}};
}

const Fields<PerPool> kOccupancyFields = per_pool(kPlain, "occupied KV slots of a GPU, or of a scenario's node");

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

Fields<PathsResult> path_rate_fields() {
  Fields<PathsResult> fields;
  for (const Path path : kAllPaths) {
    fields.push_back({std::string(path_name(path)),
                      {kRequestsPerS, "requests/s on the path: " + std::string(says(path))},
                      [path](const PathsResult& result) { return result.plan.n[static_cast<std::size_t>(path)]; }});
  }
  return fields;
}

std::string_view limited(Resource resource) {
  static constexpr std::array<std::string_view, planner::kResources> rows{
      "links of the local pool",  "GPUs of the local pool",     "KV slots of the local pool",
      "links of the remote pool", "GPUs of the remote pool",    "KV slots of the remote pool",
      "bytes/s of the storage",   "local KV slots held at once"};
  return rows.at(static_cast<std::size_t>(resource));
}

/// One number per row of the LP; two rows are only sometimes there.
Fields<PathsResult> per_resource(const Meaning& each, double (*of)(const PathPlan& plan, std::size_t row)) {
  Fields<PathsResult> fields;
  for (const Resource resource : kAllResources) {
    const auto r = static_cast<std::size_t>(resource);
    const bool sometimes = resource == Resource::storage || resource == Resource::local_held;
    Meaning meaning = each;
    meaning.sentence += fmt::format(": {}", limited(resource));
    fields.push_back(
        {std::string(resource_name(resource)) + (sometimes ? "?" : ""), std::move(meaning),
         [r, of](const PathsResult& result) { return result.plan.lp.limits[r] > 0 ? of(result.plan, r) : kNone; },
         "the pool has no GPU"});
  }
  return fields;
}

Fields<PathTimes> time_fields() {
  using T = PathTimes;
  using F = Field<T>;
  return {F::part("T_tok", "GPU time of one token", &T::T_tok, per_pool(kSeconds, "GPU time of one token")),
          F::part("T_slot", "time in a slot for one token", &T::T_slot,
                  per_pool(kSeconds, "time that a request holds its slot for one token")),
          {"T_h", {kSeconds, "time in which a full KV reaches a local GPU, or node"}, &T::T_h},
          {"T_l", {kSeconds, "time in which a full KV reaches a remote GPU, or node"}, &T::T_l},
          {"T_lc", {kSeconds, "time in which a compressed KV reaches a remote GPU, or node"}, &T::T_lc},
          {"T_rem", {kSeconds, "time in which the rest of the full KV follows the compressed one"}, &T::T_rem},
          {"g", {kShare, "drafted tokens that a verification accepts"}, &T::g},
          {"N1", {kPlain, "verifications of a request that is drafted from end to end"}, &T::N1},
          {"Nd", {kPlain, "tokens drafted until the full KV has reached the remote pool"}, &T::Nd},
          {"N2", {kPlain, "verifications until the full KV has reached the remote pool"}, &T::N2},
          {"K2", {kPlain, "output tokens decoded after the full KV has reached the remote pool"}, &T::K2}};
}

/// A plan under one reading of the slot time.
struct Reading {
  Residence residence = Residence::published;
  const PathPlan* plan = nullptr;
};

Reading own_reading(const PathsResult& result) {
  return {result.problem.residence, &result.plan};
}

std::optional<Reading> other_reading(const PathsResult& result) {
  if (!result.other) return {};
  return Reading{other_reading(result.problem.residence), &*result.other};
}

Fields<Reading> reading_fields() {
  using R = Reading;
  return {{"residence",
           {kText, "what a token holds its slot for: published is T_tok as printed, steps the whole step"},
           "residence",
           [](const R& r) { return residence_name(r.residence); },
           Align::left},
          {"throughput_tokens_per_s",
           {kTokensPerS, kHigher, "output tokens/s of the best plan under the other reading of the slot time"},
           "tokens/s",
           [](const R& r) { return r.plan->tokens_per_s; }},
          Field<R>::part(
              "occupancy", "occupied slots per GPU", [](const R& r) { return r.plan->occupancy; }, kOccupancyFields),
          {kOnPages, "local", [](const R& r) { return r.plan->occupancy.local; }},
          {kOnPages, "remote", [](const R& r) { return r.plan->occupancy.remote; }},
          {kOnPages, "",
           [](const R& r) {
             return r.residence == Residence::published ? "a slot per token for T_tok, as printed"
                                                        : "a slot per token for the step, B T_tok";
           },
           Align::left},
          {"converged", {kTruth, kConverged}, [](const R& r) { return r.plan->converged; }},
          {"residual", {kPlain, kLower, kResidual}, [](const R& r) { return r.plan->residual; }}};
}

Fields<PathsResult> path_fields() {
  using R = PathsResult;
  using F = Field<R>;
  const auto of = [](auto member) { return [member](const R& r) { return r.plan.*member; }; };
  const Fields<R> details{
      {"residence",
       {kText, "what a token holds its slot for: published is T_tok as printed, steps the whole step"},
       [](const R& r) { return residence_name(r.problem.residence); }},
      F::part("batch", "what T_tok assumes", of(&PathPlan::batch),
              per_pool(kPlain, "requests that a GPU, or a scenario's node, decodes at once, as T_tok assumes")),
      {"slots_per_gpu",
       {kCount, "KV slots of a GPU, or of a scenario's node; of the local pool where pools differ"},
       [](const R& r) { return slots_per_gpu(r.problem).local; }},
      F::part("used", "use of the limits", std::identity{},
              per_resource({kShare, "share of a limit that is in use"},
                           [](const PathPlan& plan, std::size_t r) { return plan.use[r] / plan.lp.limits[r]; })),
      F::part(
          "times_s", "times and rounds of the path table",
          [](const R& r) { return path_times(r.problem, r.plan.batch); }, time_fields()),
      F::list("purchases", "what more of one resource would bring", with_gains, kPurchaseFields),
      F::part(
          "other_reading?", "the plan under the other reading of the slot time",
          [](const R& r) { return other_reading(r); }, reading_fields()),
      {"on_a_step",
       {kTruth, "whether the number of verifications sits where it jumps, so that some requests need one more"},
       of(&PathPlan::on_a_step)},
      {"fixed_points", {kCount, "batches found that agree with the rates they lead to"}, of(&PathPlan::fixed_points)},
      {"lps_solved", {kCount, "linear programmes that were solved"}, of(&PathPlan::lps_solved)}};
  return {
      {"throughput_tokens_per_s",
       {kTokensPerS, kHigher, "output tokens/s of both pools under the plan"},
       of(&PathPlan::tokens_per_s)},
      {"requests_per_s",
       {kRequestsPerS, kHigher, "requests/s of both pools under the plan"},
       of(&PathPlan::requests_per_s)},
      F::part("paths", "requests/s on each path", std::identity{}, path_rate_fields()),
      F::part("occupancy", "occupied slots per GPU", of(&PathPlan::occupancy), kOccupancyFields),
      F::part("shadow_prices", "what more of a limit would bring", std::identity{},
              per_resource({kTokensPerS, "output tokens/s that one more of a limit brings, at fixed times per token"},
                           [](const PathPlan& plan, std::size_t r) { return plan.price[r]; })),
      {"converged", {kTruth, kConverged}, of(&PathPlan::converged)},
      {"residual", {kPlain, kLower, kResidual}, of(&PathPlan::residual)},
      F::part("details", "what is behind the plan", std::identity{}, details)};
}

std::string gpus(std::int64_t count, const char* pool) {
  return fmt::format("{} {} GPU{}", whole(count), pool, count == 1 ? "" : "s");
}

Table throughput(const PathsResult& result) {
  const PathPlan& plan = result.plan;
  Table t = key_figures("Throughput");
  t.rows.push_back({"output", figure(plan.tokens_per_s), "tokens/s"});
  t.rows.push_back({"requests", figure(plan.requests_per_s), "/s"});
  const planner::PerPool all = slots_per_gpu(result.problem);
  const auto pool = [&](const char* label, std::int64_t size, double slots, double of) {
    if (size > 0) {
      t.rows.push_back({label, figure(slots), "",
                        fmt::format("of {} slots per {}", whole(static_cast<std::int64_t>(of)),
                                    result.problem.steps ? "node" : "GPU")});
    }
  };
  pool("occupied, local", result.problem.pools.local, plan.occupancy.local, all.local);
  pool("occupied, remote", result.problem.pools.remote, plan.occupancy.remote, all.remote);
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
  return document(path_fields(), result);
}

KeyList paths_keys() {
  return document_keys(keys_of(path_fields()));
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
                 table_of("What one buys", kPurchaseFields, with_gains(result))};
  if (const auto other = other_reading(result)) {
    page.tables.push_back(
        table_of("Both readings of the slot time", reading_fields(), std::vector{own_reading(result), *other}));
  }
  page.lists = {notes(result)};
  return page;
}

}  // namespace kvsim::results
