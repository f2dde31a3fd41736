#include "tools/results/replay.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/results/calibration.h"
#include "tools/results/documents.h"
#include "tools/results/numbers.h"

namespace kvsim::results {
namespace {

using planner::ReplayComparison;
using planner::ReplayIteration;
using planner::ReplayKindErrors;
using planner::ReplayTotal;

const Fields<ReplayIteration>& iteration_fields() {
  using I = ReplayIteration;
  static const Fields<I> fields{
      {"schedule", {kText, "lock_step or staggered"}, "schedule", &I::schedule, Align::left},
      {"iteration", {kCount, "its number in the schedule, from 0"}, "iteration", &I::iteration},
      {"drafting", {kRequests, "requests that drafted in it"}, "drafting", &I::drafting},
      {"verifying", {kRequests, "requests that verified in it"}, "verifying", &I::verifying},
      {"reloads", {kRequests, "requests whose reload started with it"}, "reloads", &I::reloads},
      {"measured_s",
       {kSeconds, "from the end of the one before to its end, median over the runs"},
       "measured",
       &I::measured_s},
      {"measured_wait_s", {kSeconds, "of that, before it began: waiting for a reload"}, &I::measured_wait_s},
      {"simulated_s", {kSeconds, "the same simulated"}, "simulated", &I::simulated_s},
      {"simulated_wait_s", {kSeconds, "of that, waiting for a reload"}, &I::simulated_wait_s},
      {"error", {kShare, "simulated / measured - 1"}, "error", [](const I& i) { return i.error(); }, signed_percent}};
  return fields;
}

const Fields<ReplayTotal>& total_fields() {
  using T = ReplayTotal;
  static const Fields<T> fields{
      {"schedule", {kText, "lock_step or staggered"}, "schedule", &T::schedule, Align::left},
      {"measured_s", {kSeconds, "a whole run, median over the runs"}, "measured", &T::measured_s},
      {"simulated_s", {kSeconds, "the same simulated"}, "simulated", &T::simulated_s},
      {"error", {kShare, "simulated / measured - 1"}, "error", [](const T& t) { return t.error(); }, signed_percent}};
  return fields;
}

const Fields<ReplayComparison>& comparison_fields() {
  using C = ReplayComparison;
  using F = Field<C>;
  const auto kinds = [](const C& c) {
    std::vector<std::pair<std::string, models::ErrorSummary>> named;
    for (const ReplayKindErrors& kind : c.kinds) named.emplace_back(kind.kind, kind.errors);
    return named;
  };
  static const Fields<C> fields{
      {"profile", {kText, "name of the profile that was simulated"}, &C::profile},
      {"gpu", {kText, "the GPU that was simulated"}, &C::gpu},
      {"host_link", {kText, "its link to host memory"}, &C::host_link},
      {"model", {kText, "whose layers were run"}, &C::model},
      {"layers", {kCount, "layers of it that were run"}, [](const C& c) { return c.run.layers; }},
      F::part("errors", "errors of the iterations' times", &C::errors, fit_error_fields()),
      F::by_name("kinds", "the same by schedule and what an iteration does", kinds, fit_error_fields()),
      F::list("totals", "whole runs, by schedule", &C::totals, total_fields()),
      F::list("iterations", "every iteration of each schedule", &C::iterations, iteration_fields()),
      F::values("fallbacks[]", {kText, "a figure that had to be replaced, in words"}, &C::fallbacks)};
  return fields;
}

std::vector<ReplayIteration> worst_of(const ReplayComparison& c, std::size_t count) {
  std::vector<ReplayIteration> all = c.iterations;
  std::stable_sort(all.begin(), all.end(), [](const ReplayIteration& a, const ReplayIteration& b) {
    return std::abs(a.error()) > std::abs(b.error());
  });
  all.resize(std::min(all.size(), count));
  return all;
}

}  // namespace

Page replay_page(const ReplayComparison& c, std::size_t worst) {
  Page page;
  page.title = fmt::format("Replay on {}: {}, {} of {} layers", c.gpu, c.model, c.run.layers, c.run.model_layers);
  page.subtitle = {
      fmt::format("Profile {}, link {}. {} requests of {} tokens, {} drafted tokens a round, {}-bit KV.", c.profile,
                  c.host_link, c.run.requests, whole(c.run.context_tokens), c.run.draft_length, c.run.kv_bits),
      "Times are from the end of an iteration to the end of the next; errors |simulated / measured - 1|, "
      "bias is the median of simulated / measured - 1."};
  Table kinds = empty_table("Errors", fit_error_fields());
  kinds.align.insert(kinds.align.begin(), Align::left);
  kinds.header.insert(kinds.header.begin(), "iterations");
  const auto add = [&kinds](const std::string& name, const models::ErrorSummary& errors) {
    std::vector<Cell>& row = kinds.rows.emplace_back(std::vector<Cell>{name});
    const std::vector<Cell> figures = cells(fit_error_fields(), errors);
    row.insert(row.end(), figures.begin(), figures.end());
  };
  add("all", c.errors);
  for (const ReplayKindErrors& kind : c.kinds) add(kind.kind, kind.errors);
  page.tables = {kinds, table_of("Whole runs", total_fields(), c.totals)};
  if (worst > 0) page.tables.push_back(table_of("Largest errors", iteration_fields(), worst_of(c, worst)));
  page.lists = {{"Replaced figures", c.fallbacks}};
  return page;
}

Json replay_json(const ReplayComparison& c) {
  Json unread = Json::object();
  return filled(document_head(unread), comparison_fields(), c).take();
}

KeyList replay_keys() {
  return head_keys(keys_of(comparison_fields()));
}

}  // namespace kvsim::results
