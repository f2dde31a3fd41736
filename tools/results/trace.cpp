#include "tools/results/trace.h"

#include <fmt/format.h>

#include "tools/results/documents.h"

namespace kvsim::results {
namespace {

using models::LengthStatistics;

const Fields<LengthStatistics>& token_length_fields() {
  static const Fields<LengthStatistics> fields{
      {"mean", {kTokens, "mean of the requests' tokens"}, "mean", &LengthStatistics::mean, figure},
      {"p50", {kTokens, "median of the requests' tokens"}, "p50", &LengthStatistics::p50, figure},
      {"p99", {kTokens, "99th percentile of the requests' tokens"}, "p99", &LengthStatistics::p99, figure},
      {"min", {kTokens, "fewest tokens of a request"}, "min", &LengthStatistics::min},
      {"max", {kTokens, "most tokens of a request"}, "max", &LengthStatistics::max}};
  return fields;
}

constexpr const char* kAtOnce = "no time passes between the first request and the last";
constexpr const char* kNoTwoGaps = "there are no two gaps between requests, or no time passes in them";

bool gaps_vary(const TraceOutcome& o) {
  return o.requests > 2 && o.span_s > 0;
}

const Fields<TraceOutcome>& arrival_fields() {
  static const Fields<TraceOutcome> fields{
      {"format", {kText, "format of the trace's file"}, [](const TraceOutcome& o) { return o.format.name; }},
      {"requests", {kRequests, "requests of the trace"}, "requests", &TraceOutcome::requests},
      {"left_out",
       {kRequests,
        "requests without a response, and with --skip-invalid lines that are no requests, which are not counted"},
       &TraceOutcome::left_out},
      {"span_s", {kSeconds, "time from the first arrival to the last"}, "span", &TraceOutcome::span_s},
      {"rate_per_s",
       {kRequestsPerS, "mean rate of arrivals"},
       "rate",
       [](const TraceOutcome& o) { return o.span_s > 0 ? o.rate_per_s : kNone; },
       figure,
       "",
       [](const TraceOutcome& o) -> std::string { return o.span_s > 0 ? "/s" : kAtOnce; },
       kAtOnce},
      {"gap_cv",
       {kPlain, "standard deviation / mean of the gaps between arrivals; 1 for Poisson arrivals"},
       "variation of gaps",
       [](const TraceOutcome& o) { return gaps_vary(o) ? o.gap_cv : kNone; },
       figure,
       "",
       [](const TraceOutcome& o) -> std::string {
         return gaps_vary(o) ? "standard deviation / mean; 1 for Poisson arrivals" : kNoTwoGaps;
       },
       kNoTwoGaps}};
  return fields;
}

const Fields<TraceOutcome>& prefix_reuse_fields() {
  static const Fields<TraceOutcome> fields{
      {"block_tokens",
       {kTokens, "tokens in a prefix block; 0 where the format has none"},
       [](const TraceOutcome& o) { return o.format.block_tokens; }},
      {"blocks",
       {kCount, "prefix blocks of all requests"},
       "blocks",
       &TraceOutcome::blocks,
       {},
       "",
       [](const TraceOutcome& o) {
         return fmt::format("of {} tokens, {} distinct", o.format.block_tokens, whole(o.distinct_blocks));
       }},
      {"distinct_blocks", {kCount, "different prefix blocks"}, &TraceOutcome::distinct_blocks},
      {"block_reuse",
       {kShare, "share of prefix blocks that an earlier request had"},
       "reused blocks",
       &TraceOutcome::block_reuse},
      {"token_reuse",
       {kShare, "share of prompt tokens in prefix blocks that an earlier request had"},
       "reused prompt tokens",
       &TraceOutcome::token_reuse}};
  return fields;
}

/// Figures of a trace that tells sessions apart.
struct SessionFigures {
  std::uint64_t sessions = 0;
  double turns_per_session = 0;
  std::optional<double> mean_think_s;
};

std::optional<SessionFigures> sessions_of(const TraceOutcome& o) {
  if (o.sessions == 0) return std::nullopt;
  SessionFigures s{o.sessions, static_cast<double>(o.session_turns) / static_cast<double>(o.sessions), std::nullopt};
  if (o.think_times > 0) s.mean_think_s = o.mean_think_s;
  return s;
}

const Fields<SessionFigures>& session_fields() {
  static const Fields<SessionFigures> fields{
      {"count", {kCount, "different sessions"}, "sessions", &SessionFigures::sessions},
      {"turns",
       {kRequests, "requests of a session, on average"},
       "turns each",
       &SessionFigures::turns_per_session,
       figure},
      {"mean_think_s?",
       {kSeconds, "mean time from the end of a turn to the next, where ends are recorded"},
       "think time",
       &SessionFigures::mean_think_s}};
  return fields;
}

const Fields<TraceOutcome>& trace_fields() {
  static const Fields<TraceOutcome> all = [] {
    Fields<TraceOutcome> fields = arrival_fields();
    append(fields, {Field<TraceOutcome>::part("prompt_tokens", "lengths of prompts", &TraceOutcome::prompt,
                                              token_length_fields()),
                    Field<TraceOutcome>::part("output_tokens", "lengths of outputs", &TraceOutcome::output,
                                              token_length_fields())});
    append(fields, prefix_reuse_fields());
    append(fields, {Field<TraceOutcome>::part("sessions?", "sessions, of a trace that tells them apart", sessions_of,
                                              session_fields())});
    return fields;
  }();
  return all;
}

}  // namespace

Json trace_document(const TraceOutcome& outcome) {
  Json unread = Json::object();
  Section document = filled(document_head(unread), trace_fields(), outcome);
  if (outcome.curves) document = filled(std::move(document), trace_curves_fields(), *outcome.curves);
  return document.take();
}

KeyList trace_keys() {
  KeyList keys = keys_of(trace_fields()), more = keys_of(trace_curves_fields());
  keys.insert(keys.end(), more.begin(), more.end());
  return head_keys(keys);
}

Page trace_page(const TraceOutcome& outcome) {
  Page page;
  page.title = outcome.trace;
  if (!outcome.first_invalid.empty()) {
    page.subtitle.push_back(models::lines_left_out(outcome.left_out, outcome.first_invalid));
  } else if (outcome.left_out > 0) {
    page.subtitle.push_back(fmt::format("{} request{} without a response failed, and {} left out",
                                        whole(outcome.left_out), outcome.left_out == 1 ? "" : "s",
                                        outcome.left_out == 1 ? "is" : "are"));
  }
  Table lengths = empty_table("Tokens", token_length_fields());
  lengths.header.insert(lengths.header.begin(), "");
  lengths.align.insert(lengths.align.begin(), Align::left);
  for (const auto& [label, of] : {std::pair("prompt", &outcome.prompt), std::pair("output", &outcome.output)}) {
    std::vector<Cell>& row = lengths.rows.emplace_back(cells(token_length_fields(), *of));
    row.insert(row.begin(), label);
  }
  page.tables = {figures_of("Arrivals", arrival_fields(), outcome), std::move(lengths)};
  if (outcome.blocks > 0) {
    page.tables.push_back(figures_of("Prefix reuse in a cache that never evicts", prefix_reuse_fields(), outcome));
  }
  if (const auto sessions = sessions_of(outcome)) {
    page.tables.push_back(figures_of("Sessions", session_fields(), *sessions));
  }
  if (!outcome.curves) return page;
  page.tables.push_back(hit_rate_table(outcome.curves->hit_rates));
  if (!outcome.curves->policies.empty()) page.tables.push_back(policy_curves_table(*outcome.curves));
  if (outcome.curves->latency) page.tables.push_back(latency_curve_table(*outcome.curves));
  return page;
}

}  // namespace kvsim::results
