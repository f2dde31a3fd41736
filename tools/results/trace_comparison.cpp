// Two traces beside each other.
#include <optional>

#include <fmt/format.h>

#include "tools/results/documents.h"
#include "tools/results/traffic.h"

namespace kvsim::results {
namespace {

/// A figure of both traces.
struct Row {
  std::string name;
  double a = 0, b = 0;
  std::optional<planner::traffic::Apart> apart;
};

std::vector<Row> rows_of(const TraceComparison& c) {
  const auto row = [&](std::string name, auto get, std::optional<planner::traffic::Apart> apart = {}) {
    return Row{std::move(name), static_cast<double>(get(c.a)), static_cast<double>(get(c.b)), apart};
  };
  using Stats = models::TraceStatistics;
  return {row("requests", [](const Stats& s) { return s.requests; }),
          row("span_s", [](const Stats& s) { return s.span_s; }),
          row("rate_per_s", [](const Stats& s) { return s.rate_per_s; }),
          row(
              "gap_cv", [](const Stats& s) { return s.gap_cv; }, c.gaps),
          row(
              "prompt_tokens_mean", [](const Stats& s) { return s.prompt.mean; }, c.prompts),
          row("prompt_tokens_p50", [](const Stats& s) { return s.prompt.p50; }),
          row("prompt_tokens_p99", [](const Stats& s) { return s.prompt.p99; }),
          row(
              "output_tokens_mean", [](const Stats& s) { return s.output.mean; }, c.outputs),
          row("output_tokens_p50", [](const Stats& s) { return s.output.p50; }),
          row("output_tokens_p99", [](const Stats& s) { return s.output.p99; }),
          {"length_correlation", c.length_correlation_a, c.length_correlation_b, {}},
          row("token_reuse", [](const Stats& s) { return s.token_reuse; }),
          row("sessions", [](const Stats& s) { return s.sessions; })};
}

const Fields<Row>& row_fields() {
  static const Fields<Row> fields{
      {"name",
       {kText, "what is compared; token_reuse as of kvsim workload info, length_correlation as of fit"},
       "",
       &Row::name,
       Align::left},
      {"a", {kPlain, "of the first trace"}, "A", &Row::a, figure},
      {"b", {kPlain, "of the second"}, "B", &Row::b, figure},
      {"distance",
       {kPlain, "largest distance between shares of all values, of gaps and lengths"},
       "distance",
       [](const Row& r) { return r.apart ? std::optional(r.apart->distance) : std::nullopt; },
       figure,
       "",
       {},
       "of gaps and lengths alone"},
      {"distance_by_chance",
       {kPlain, "samples of these sizes of one law are farther apart with a chance of 5 %"},
       "by chance",
       [](const Row& r) { return r.apart ? std::optional(r.apart->by_chance) : std::nullopt; },
       figure,
       "",
       {},
       "of gaps and lengths alone"}};
  return fields;
}

const Fields<TraceComparison>& comparison_of_traces_fields() {
  static const Fields<TraceComparison> fields{
      {"a", {kText, "file of the first trace"}, &TraceComparison::trace_a},
      {"b", {kText, "file of the second"}, &TraceComparison::trace_b},
      Field<TraceComparison>::list("figures", "figures of both", rows_of, row_fields())};
  return fields;
}

}  // namespace

Json trace_comparison_document(const TraceComparison& outcome) {
  Json unread = Json::object();
  return filled(document_head(unread), comparison_of_traces_fields(), outcome).take();
}

KeyList trace_comparison_keys() {
  return head_keys(keys_of(comparison_of_traces_fields()));
}

Page trace_comparison_page(const TraceComparison& outcome) {
  Page page;
  page.title = fmt::format("A {}, B {}", outcome.trace_a, outcome.trace_b);
  page.tables = {table_of("", row_fields(), rows_of(outcome))};
  return page;
}

}  // namespace kvsim::results
