// Draft lengths looked up, as planned for this machine (kvsim plan --draft-table) or measured on it.
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/schema/object_schema.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/draft_table.h"

namespace kvsim::serving {
namespace {

class Table final : public DraftLengthPolicy {
 public:
  explicit Table(std::vector<DraftTableRow> rows) : rows_(std::move(rows)) {}

  /// Picks the smallest batch not below the replica's, or else the largest. Of its rows, it picks the smallest context
  /// not below the request's, or else the largest. Rows ascend in batch, then context.
  std::int64_t next(const Request& request, const DraftEstimate& estimate) override {
    const auto batch = std::max<std::int64_t>(static_cast<std::int64_t>(estimate.decoding.size()), 1);
    const auto for_batch =
        std::find_if(rows_.begin(), rows_.end(), [batch](const DraftTableRow& row) { return row.batch >= batch; });
    const std::int64_t of_batch = for_batch == rows_.end() ? rows_.back().batch : for_batch->batch;
    const DraftTableRow* found = nullptr;
    for (const DraftTableRow& row : rows_) {
      if (row.batch != of_batch) continue;
      found = &row;
      if (row.context >= request.context()) break;
    }
    return found->draft_length;
  }

  void verified(const Request&, std::int64_t, std::int64_t) override {}

 private:
  std::vector<DraftTableRow> rows_;
};

schema::ObjectSchema<DraftTableRow> draft_table_row_schema() {
  schema::ObjectSchema<DraftTableRow> s("row", "A draft length for batches and contexts up to these sizes.");
  s.required("batch", &DraftTableRow::batch, schema::integer().at_least(1),
             "requests that decode on the replica, or draft on the remote node");
  s.required("context", &DraftTableRow::context, schema::tokens().at_least(1),
             "of the request, prompt and output so far");
  s.required("draft_length", &DraftTableRow::draft_length, schema::integer().non_negative().at_most(kLongestDraft),
             "tokens drafted per round; 0, for none, where an auxiliary drafter proposes them");
  return s;
}

void check_draft_table(const DraftTableKeys& c, const schema::Reporter& report) {
  const schema::ConfigNode* const policy = report.node().find_path("policy");
  const bool chosen = policy != nullptr && policy->is_scalar() && policy->text() == "table";
  if (chosen && c.rows.empty()) {
    report.fail("", "missing key \"table\", which policy table needs, with at least one row");
  }
  for (std::size_t i = 1; i < c.rows.size(); ++i) {
    const DraftTableRow& before = c.rows[i - 1];
    const DraftTableRow& row = c.rows[i];
    const std::string key = fmt::format("table.{}", i);
    if (row.batch == before.batch && row.context == before.context) {
      report.fail(key, fmt::format("batch {} and context {} are in the table twice", row.batch, row.context));
    }
    if (row.batch < before.batch || (row.batch == before.batch && row.context < before.context)) {
      report.fail(key, "rows must ascend in batch and, for the same batch, in context");
    }
  }
}

std::int64_t longest_of_table(const DecodeConfig& c) {
  std::int64_t longest = 1;
  for (const DraftTableRow& row : c.draft_lengths.own.of<DraftTableKeys>().rows)
    longest = std::max(longest, row.draft_length);
  return longest;
}

}  // namespace

DraftLengthEntry draft_length_table() {
  schema::ObjectSchema<DraftTableKeys> keys("table", "Draft lengths by batch and context.");
  keys.list("table", &DraftTableKeys::rows, draft_table_row_schema(), schema::Presence::optional,
            "draft lengths by batch and context (table): of the rows with the smallest batch that is not below the "
            "replica's, else the largest, the one with the smallest context that is not below the request's, else the "
            "largest; ascending in batch, then context");
  keys.check(check_draft_table);
  return {.name = "table",
          .description = "by the requests that decode on the replica and the request's context",
          .place = 3,
          .keys = keys.fragment("has no table"),
          .longest = longest_of_table,
          .make = [](const DraftLengthParts& parts) -> std::unique_ptr<DraftLengthPolicy> {
            return std::make_unique<Table>(parts.config.decode.draft_lengths.own.of<DraftTableKeys>().rows);
          }};
}

}  // namespace kvsim::serving
