#include "tools/results/plan.h"

#include <fmt/format.h>

#include "tools/results/fields.h"
#include "tools/results/result_document.h"
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

const Fields<DraftTableEntry> kPolicyFields{
    {"batch", [](const DraftTableEntry& e) { return e.row.batch; }},
    {"context", [](const DraftTableEntry& e) { return fmt::format("{} tokens", e.row.context); }},
    {"draft_length", [](const DraftTableEntry& e) { return e.row.draft_length; }}};

const Fields<DraftTableEntry> kPredictionFields{
    {"batch", [](const DraftTableEntry& e) { return e.row.batch; }},
    {"context_tokens", [](const DraftTableEntry& e) { return e.row.context; }},
    {"draft_length", [](const DraftTableEntry& e) { return e.row.draft_length; }},
    {"tokens_per_s", [](const DraftTableEntry& e) { return e.rate.tokens_per_s; }},
    {"accepted_per_round", &DraftTableEntry::accepted},
    {"iteration_s", [](const DraftTableEntry& e) { return e.rate.iteration_s; }},
    {"round_s", [](const DraftTableEntry& e) { return e.rate.round_s; }},
    {"link_s", [](const DraftTableEntry& e) { return e.rate.link_s; }},
    {"link_bound", &DraftTableEntry::link_bound},
    {"gain_over_draft_length", &DraftTableEntry::fixed_gain}};

constexpr std::string_view kMethod =
    "For every batch and context the x with the most tokens/s predicted: B (1 + A(x)) / max((x + 1) T(B), reloads / "
    "link). Requests of a batch are taken as alike, their agreement as the scenario's mean law, verifications as "
    "spread "
    "evenly; prompts that are prefilled or loaded meanwhile are left out.";

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
  const DraftTable& table = outcome.table;
  return {{"schema_version", kSchemaVersion},
          {"kvsim_version", kvsim_version()},
          {"scenario", outcome.scenario.name},
          {"draft_length", table.fixed},
          {"minimum", table.minimum},
          {"maximum", table.maximum},
          {"generated_tokens", table.generated},
          {"draft_lengths", {{"policy", "table"}, {"table", array(kPolicyFields, table.entries)}}},
          {"predicted", array(kPredictionFields, table.entries)},
          {"method", kMethod}};
}

}  // namespace kvsim::results
