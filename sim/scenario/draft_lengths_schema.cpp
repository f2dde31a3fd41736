#include "sim/scenario/schemas.h"

#include <fmt/format.h>

#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::scenario {

using schema::integer;
using schema::number;
using schema::ObjectSchema;
using schema::Presence;
using schema::Reporter;
using schema::tokens;
using serving::DraftLengthConfig;
using serving::DraftTableRow;

namespace {

constexpr std::int64_t kLongest = 4096;

ObjectSchema<DraftTableRow> row_schema() {
  ObjectSchema<DraftTableRow> s("row", "A draft length for batches and contexts up to these sizes.");
  s.required("batch", &DraftTableRow::batch, integer().at_least(1),
             "requests that decode on the replica, or draft on the remote node");
  s.required("context", &DraftTableRow::context, tokens().at_least(1), "of the request, prompt and output so far");
  s.required("draft_length", &DraftTableRow::draft_length, integer().non_negative().at_most(kLongest),
             "tokens drafted per round; 0, for none, where an auxiliary drafter proposes them");
  return s;
}

void check_table(const DraftLengthConfig& c, const Reporter& report) {
  if (c.policy == "table" && c.table.empty()) {
    report.fail("", "missing key \"table\", which policy table needs, with at least one row");
  }
  for (std::size_t i = 1; i < c.table.size(); ++i) {
    const DraftTableRow& before = c.table[i - 1];
    const DraftTableRow& row = c.table[i];
    const std::string key = fmt::format("table.{}", i);
    if (row.batch == before.batch && row.context == before.context) {
      report.fail(key, fmt::format("batch {} and context {} are in the table twice", row.batch, row.context));
    }
    if (row.batch < before.batch || (row.batch == before.batch && row.context < before.context)) {
      report.fail(key, "rows must ascend in batch and, for the same batch, in context");
    }
  }
}

}  // namespace

ObjectSchema<DraftLengthConfig> draft_lengths_schema() {
  ObjectSchema<DraftLengthConfig> s("draft_lengths", "How many tokens each round drafts before its verification.");
  s.optional("policy", &DraftLengthConfig::policy, schema::one_of(words_of(serving::draft_length_policies())),
             "who chooses");
  s.optional("minimum", &DraftLengthConfig::minimum, integer().non_negative().at_most(kLongest),
             "shortest draft that adaptive and goodput choose (0: none, where an auxiliary drafter "
             "proposes it); the regret of every policy is against lengths from here to maximum");
  s.optional("maximum", &DraftLengthConfig::maximum, integer().at_least(1).at_most(kLongest),
             "longest draft, likewise");
  s.optional("forgetting", &DraftLengthConfig::forgetting, number().non_negative().at_most(1),
             "weight of the past, per round, in the estimate of the agreement (adaptive, goodput)");
  s.optional("prior_tokens", &DraftLengthConfig::prior_tokens, number().positive(),
             "drafted tokens at the mean agreement that the estimate takes as seen (adaptive, goodput)");
  s.list("table", &DraftLengthConfig::table, row_schema(), Presence::optional,
         "draft lengths by batch and context (table): of the rows with the smallest batch that is not below the "
         "replica's, else the largest, the one with the smallest context that is not below the request's, else the "
         "largest; ascending in batch, then context");
  s.unread({"forgetting", "prior_tokens"}, [](const DraftLengthConfig& c) {
    const bool estimates = c.policy == "adaptive" || c.policy == "goodput";
    return estimates ? "" : fmt::format("draft length policy {} estimates nothing: use adaptive or goodput", c.policy);
  });
  s.unread({"table"}, [](const DraftLengthConfig& c) {
    return c.policy == "table" ? "" : fmt::format("draft length policy {} has no table: use table", c.policy);
  });
  s.check([](const DraftLengthConfig& c, const Reporter& report) {
    if (c.minimum > c.maximum) report.fail("minimum", "must not exceed maximum");
    check_table(c, report);
  });
  return s;
}

}  // namespace kvsim::scenario
