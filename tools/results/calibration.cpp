#include "tools/results/calibration.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/fields.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using models::Calibration;
using models::ErrorSummary;
using models::OperatorReport;
using models::RefusedRow;
using models::TableReport;

constexpr std::size_t kRefusedShown = 20;

std::string signed_percent(double share) {
  return fmt::format("{:+.1f} %", 100 * share);
}

const Fields<ErrorSummary> kErrorFields{{"rows", "rows", &ErrorSummary::count},
                                        {"median", "median", &ErrorSummary::median, percent},
                                        {"p90", "p90", &ErrorSummary::p90, percent},
                                        {"max", "max", &ErrorSummary::max, percent},
                                        {"bias", "bias", &ErrorSummary::bias, signed_percent}};

Json as_json(const ErrorSummary& e) {
  return e.count == 0 ? Json(nullptr) : object(kErrorFields, e);
}

/// Errors with names in front of them.
Table error_table(std::string title, std::vector<std::string> names) {
  Table t = empty_table(std::move(title), kErrorFields);
  t.align.insert(t.align.begin(), names.size(), Align::left);
  t.header.insert(t.header.begin(), names.begin(), names.end());
  return t;
}

void add(Table& table, const std::vector<std::string>& names, const ErrorSummary& e) {
  if (e.count == 0) return;
  std::vector<Cell>& row = table.rows.emplace_back(names.begin(), names.end());
  const std::vector<Cell> figures = cells(kErrorFields, e);
  row.insert(row.end(), figures.begin(), figures.end());
}

const Fields<TableReport> kTableFields{{"table", "table", &TableReport::name, Align::left},
                                       {"points", "points", &TableReport::points},
                                       {"errors", [](const TableReport& t) { return as_json(t.errors); }},
                                       {"", "rows", [](const TableReport& t) { return t.errors.count; }},
                                       {"", "median", [](const TableReport& t) { return t.errors.median; }, percent},
                                       {"", "p90", [](const TableReport& t) { return t.errors.p90; }, percent},
                                       {"", "max", [](const TableReport& t) { return t.errors.max; }, percent}};

const Fields<RefusedRow> kRefusedFields{{"where", [](const RefusedRow& row) { return row.origin.str(); }},
                                        {"reason", &RefusedRow::reason}};

Json as_json(const OperatorReport& op) {
  Json values = Json::object();
  Json at_bound = Json::array();
  for (const models::FittedValue& v : op.values) {
    values[v.name] = v.value;
    if (v.at_bound) at_bound.push_back(v.name);
  }
  Json machines = Json::object();
  for (const auto& transfer : op.machines) machines[transfer.from] = as_json(transfer.errors);
  Json regions = Json::object();
  for (const auto& region : op.regions) {
    regions[region.name] = {{"in_sample", as_json(region.in_sample)}, {"held_out_shapes", as_json(region.shapes)}};
  }
  return {{"operator", op.name},
          {"format", op.format},
          {"in_sample", as_json(op.in_sample)},
          {"held_out_shapes", as_json(op.shapes)},
          {"held_out_models", as_json(op.models)},
          {"other_machines", machines},
          {"regions", regions},
          {"parameters", values},
          {"at_bound", at_bound}};
}

}  // namespace

Page calibration_page(const Calibration& c) {
  Page page;
  page.title = fmt::format("Profile {} for {}", c.profile.name, c.profile.measured_on);
  page.subtitle = {
      fmt::format("{} rows used, {} refused. Errors are |predicted / measured - 1|; bias is the median of "
                  "predicted / measured - 1.",
                  whole(c.rows), whole(c.refused.size()))};
  if (!c.ignored.empty()) {
    std::vector<std::string> names;
    for (const std::string& path : c.ignored) names.push_back(std::filesystem::path(path).filename().string());
    page.subtitle.push_back(fmt::format("Not used: {}.", fmt::join(names, ", ")));
  }
  Table all = error_table("Accuracy", {"operator", "format", "rows predicted"});
  Table regions = error_table("By region", {"operator", "format", "region"});
  Table values{"Parameters", {"operator", "format", "parameter", "value", ""}, {}, {}};
  values.align = {Align::left, Align::left, Align::left, Align::right, Align::left};
  for (const OperatorReport& op : c.operators) {
    add(all, {op.name, op.format, "in sample"}, op.in_sample);
    add(all, {op.name, op.format, "held-out shapes"}, op.shapes);
    add(all, {op.name, op.format, "held-out models"}, op.models);
    for (const auto& t : op.machines) add(all, {op.name, op.format, "fit of " + t.from}, t.errors);
    for (const auto& region : op.regions) {
      add(regions, {op.name, op.format, region.name}, region.in_sample);
      add(regions, {op.name, op.format, region.name + ", held-out shapes"}, region.shapes);
    }
    for (const models::FittedValue& v : op.values) {
      values.rows.push_back({op.name, op.format, v.name, figure(v.value), v.at_bound ? "at its bound" : ""});
    }
  }
  page.tables = {all, regions, values};
  if (!c.tables.empty()) page.tables.push_back(table_of("Tables, against their own rows", kTableFields, c.tables));
  List refused{"Refused rows", {}};
  for (const RefusedRow& row : c.refused) {
    if (refused.items.size() == kRefusedShown) {
      refused.items.push_back(fmt::format("and {} more: --json lists them all", c.refused.size() - kRefusedShown));
      break;
    }
    refused.items.push_back(fmt::format("{}: {}", row.origin.str(), row.reason));
  }
  page.lists = {refused, {"Warnings", c.warnings}};
  return page;
}

Json calibration_json(const Calibration& c) {
  Json operators = Json::array();
  for (const OperatorReport& op : c.operators) operators.push_back(as_json(op));
  return {{"schema_version", kSchemaVersion},
          {"kvsim_version", kvsim_version()},
          {"profile", c.profile.name},
          {"gpu", c.profile.measured_on},
          {"rows", c.rows},
          {"operators", operators},
          {"tables", array(kTableFields, c.tables)},
          {"refused", array(kRefusedFields, c.refused)},
          {"not_used", c.ignored},
          {"warnings", c.warnings}};
}

}  // namespace kvsim::results
