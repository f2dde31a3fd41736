#include "tools/results/plan.h"

#include <fmt/format.h>

#include "tools/results/documents.h"
#include "tools/results/run_page.h"

namespace kvsim::results {
namespace {

using planner::DraftTable;
using planner::DraftTableEntry;

const DraftTableEntry* find(const DraftTable& table, std::int64_t batch, std::int64_t context) {
  for (const DraftTableEntry& e : table.entries) {
    if (e.row.batch == batch && e.row.context == context) return &e;
  }
  return nullptr;
}

/// Batches down, contexts across.
template <class Text>
Table grid(std::string title, const DraftTable& table, Text&& text) {
  Table t;
  t.title = std::move(title);
  t.header = {"requests"};
  for (const std::int64_t context : table.contexts) t.header.push_back(whole(context));
  t.align.assign(t.header.size(), Align::right);
  for (const std::int64_t batch : table.batches) {
    std::vector<Cell> row{whole(batch)};
    for (const std::int64_t context : table.contexts) {
      const DraftTableEntry* entry = find(table, batch, context);
      row.push_back(entry ? text(*entry) : "-");
    }
    t.rows.push_back(std::move(row));
  }
  return t;
}

constexpr std::string_view kMethod =
    "For every batch and context the x with the most tokens/s predicted: B (1 + A(x)) / max((x + 1) T(B), reloads / "
    "link). Requests of a batch are taken as alike, their agreement as the scenario's mean law, verifications as "
    "spread "
    "evenly; prompts that are prefilled or loaded meanwhile are left out.";

Fields<DraftTableEntry> row_fields() {
  using E = DraftTableEntry;
  return {{"batch", {kRequests, "requests that decode"}, [](const E& e) { return e.row.batch; }},
          {"context",
           {kText, "context of the requests, with its unit"},
           [](const E& e) { return fmt::format("{} tokens", e.row.context); }},
          {"draft_length", {kTokens, "best draft length for the batch and context"}, [](const E& e) {
             return e.row.draft_length;
           }}};
}

Fields<DraftTableEntry> prediction_fields() {
  using E = DraftTableEntry;
  return {
      {"batch", {kRequests, "requests that decode"}, [](const E& e) { return e.row.batch; }},
      {"context_tokens", {kTokens, "context of each request"}, [](const E& e) { return e.row.context; }},
      {"draft_length",
       {kTokens, "best draft length for the batch and context"},
       [](const E& e) { return e.row.draft_length; }},
      {"tokens_per_s",
       {kTokensPerS, kHigher, "output tokens/s predicted at the best draft length"},
       [](const E& e) { return e.rate.tokens_per_s; }},
      {"accepted_per_round", {kPlain, kHigher, "drafted tokens that a verification accepts on average"}, &E::accepted},
      {"iteration_s", {kSeconds, kLower, "GPU time of an iteration"}, [](const E& e) { return e.rate.iteration_s; }},
      {"round_s",
       {kSeconds, kLower, "time from one verification of a request to its next"},
       [](const E& e) { return e.rate.round_s; }},
      {"link_s",
       {kSeconds, kLower, "link time of a round's reloads or fetches"},
       [](const E& e) { return e.rate.link_s; }},
      {"link_bound", {kTruth, "whether the link sets the length of a round"}, &E::link_bound},
      {"gain_over_draft_length",
       {kShare, kHigher, "tokens/s beyond those at the scenario's own draft length"},
       &E::fixed_gain}};
}

Fields<DraftTableOutcome> draft_table_fields() {
  using O = DraftTableOutcome;
  using F = Field<O>;
  const auto of = [](auto member) { return [member](const O& o) { return o.table.*member; }; };
  const Fields<DraftTable> policy{
      {"policy", {kText, "policy of draft lengths that reads the table"}, [](const DraftTable&) { return "table"; }},
      Field<DraftTable>::list("table", "rows of the table", &DraftTable::entries, row_fields())};
  return {{"scenario", {kText, "name of the scenario"}, [](const O& o) { return o.scenario.name; }},
          {"draft_length", {kTokens, "the scenario's own draft length"}, of(&DraftTable::fixed)},
          {"minimum", {kTokens, "least draft length that was tried"}, of(&DraftTable::minimum)},
          {"maximum", {kTokens, "most draft length that was tried"}, of(&DraftTable::maximum)},
          {"generated_tokens",
           {kTokens, "tokens of each context that were generated, at most half of it"},
           of(&DraftTable::generated)},
          F::part("draft_lengths", "block draft_lengths of the scenario's decode", &O::table, policy),
          F::list("predicted", "what the table was chosen by", of(&DraftTable::entries), prediction_fields()),
          {"method", {kText, "how the draft lengths were found"}, [](const O&) { return kMethod; }}};
}

}  // namespace

Page draft_table_page(const DraftTableOutcome& outcome) {
  const DraftTable& table = outcome.table;
  Page page;
  page.title = outcome.scenario.name + ": draft lengths";
  page.subtitle = {setup_line(outcome.scenario), std::string(kMethod)};
  page.tables.push_back(grid(fmt::format("Best draft length, {} to {}, by requests that decode (down) and context in "
                                         "tokens (across); * the link is the limit",
                                         table.minimum, table.maximum),
                             table, [](const DraftTableEntry& e) {
                               return fmt::format("{}{}", e.row.draft_length, e.link_bound() ? "*" : "");
                             }));
  page.tables.push_back(
      grid("Tokens/s there, predicted", table, [](const DraftTableEntry& e) { return figure(e.rate.tokens_per_s); }));
  page.tables.push_back(grid(fmt::format("More than with draft length {}, predicted", table.fixed), table,
                             [](const DraftTableEntry& e) { return percent(e.fixed_gain); }));
  page.lists.push_back({"Notes", {"-: memory does not hold so many requests of this context"}});
  return page;
}

Json draft_table_document(const DraftTableOutcome& outcome) {
  Json reasons = Json::object();
  return filled(document_head(reasons), draft_table_fields(), outcome).take();
}

KeyList draft_table_keys() {
  return head_keys(keys_of(draft_table_fields()));
}

}  // namespace kvsim::results
