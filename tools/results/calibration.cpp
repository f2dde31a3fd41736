#include "tools/results/calibration.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/documents.h"
#include "tools/results/numbers.h"

namespace kvsim::results {

const Fields<models::ErrorSummary>& fit_error_fields() {
  static const Fields<models::ErrorSummary> fields{
      {"rows", {kCount, "rows that were predicted"}, "rows", &models::ErrorSummary::count},
      {"median", {kShare, kLower, "median of |predicted / measured - 1|"}, "median", &models::ErrorSummary::median},
      {"p90", {kShare, kLower, "90th percentile of |predicted / measured - 1|"}, "p90", &models::ErrorSummary::p90},
      {"max", {kShare, kLower, "largest |predicted / measured - 1|"}, "max", &models::ErrorSummary::max},
      {"bias", {kShare, "median of predicted / measured - 1"}, "bias", &models::ErrorSummary::bias, signed_percent}};
  return fields;
}

namespace {

using models::Calibration;
using models::ErrorSummary;
using models::OperatorReport;
using models::RefusedRow;
using models::TableReport;

constexpr std::size_t kRefusedShown = 20;

/// Null where nothing was predicted.
template <class Row>
auto errors_at(ErrorSummary Row::*errors) {
  return [errors](const Row& row) { return (row.*errors).count == 0 ? nullptr : &(row.*errors); };
}

template <class Row>
Field<Row> errors_field(std::string key, std::string sentence, ErrorSummary Row::*errors) {
  return Field<Row>::part(std::move(key), std::move(sentence), errors_at(errors), fit_error_fields());
}

/// Errors with names in front of them.
Table error_table(std::string title, std::vector<std::string> names) {
  Table t = empty_table(std::move(title), fit_error_fields());
  t.align.insert(t.align.begin(), names.size(), Align::left);
  t.header.insert(t.header.begin(), names.begin(), names.end());
  return t;
}

void add(Table& table, const std::vector<std::string>& names, const ErrorSummary& e) {
  if (e.count == 0) return;
  std::vector<Cell>& row = table.rows.emplace_back(names.begin(), names.end());
  const std::vector<Cell> figures = cells(fit_error_fields(), e);
  row.insert(row.end(), figures.begin(), figures.end());
}

const Fields<TableReport>& fitted_table_fields() {
  static const Fields<TableReport> fields{
      {"table", {kText, "name of the table"}, "table", &TableReport::name, Align::left},
      {"points", {kCount, "points of the table"}, "points", &TableReport::points},
      errors_field("errors", "errors of the table against the rows it was made from", &TableReport::errors),
      {kOnPages, "rows", [](const TableReport& t) { return t.errors.count; }},
      {kOnPages, "median", [](const TableReport& t) { return t.errors.median; }, percent},
      {kOnPages, "p90", [](const TableReport& t) { return t.errors.p90; }, percent},
      {kOnPages, "max", [](const TableReport& t) { return t.errors.max; }, percent}};
  return fields;
}

const Fields<OperatorReport>& operator_fields() {
  using Region = OperatorReport::Region;
  const auto machines = [](const OperatorReport& op) {
    std::vector<std::pair<std::string, ErrorSummary>> errors;
    for (const auto& transfer : op.machines) errors.emplace_back(transfer.from, transfer.errors);
    return errors;
  };
  const auto regions = [](const OperatorReport& op) {
    std::vector<std::pair<std::string, Region>> named;
    for (const Region& region : op.regions) named.emplace_back(region.name, region);
    return named;
  };
  const auto values = [](const OperatorReport& op) {
    Json named = Json::object();
    for (const models::FittedValue& v : op.values) named[v.name] = v.value;
    return named;
  };
  const auto at_bound = [](const OperatorReport& op) {
    Json names = Json::array();
    for (const models::FittedValue& v : op.values) {
      if (v.at_bound) names.push_back(v.name);
    }
    return names;
  };
  static const Fields<Region> region_fields{
      errors_field("in_sample", "errors against the rows of the region that were fitted", &Region::in_sample),
      errors_field("held_out_shapes", "errors of fits to the rows of other shapes", &Region::shapes)};
  static const Fields<OperatorReport> fields{
      {"operator", {kText, "name of the operator"}, &OperatorReport::name},
      {"format", {kText, "its number format"}, &OperatorReport::format},
      errors_field("in_sample", "errors against the rows that were fitted", &OperatorReport::in_sample),
      errors_field("held_out_shapes", "errors of fits to the rows of other shapes", &OperatorReport::shapes),
      errors_field("held_out_models", "errors of fits to the rows of other models' shapes", &OperatorReport::models),
      Field<OperatorReport>::by_name("other_machines",
                                     "errors of the same form fitted to another GPU's rows, by that GPU", machines,
                                     fit_error_fields()),
      Field<OperatorReport>::by_name("regions", "errors by region of sizes", regions, region_fields),
      Field<OperatorReport>::values("parameters.*", {kPlain, "a fitted parameter, in the unit of its name"}, values),
      Field<OperatorReport>::values("at_bound[]", {kText, "a parameter that the search left at its bound"}, at_bound)};
  return fields;
}

const Fields<Calibration>& calibration_fields() {
  static const Fields<RefusedRow> refused_fields{
      {"where", {kText, "file, line and column of the row"}, [](const RefusedRow& row) { return row.origin.str(); }},
      {"reason", {kText, "why it was refused"}, &RefusedRow::reason}};
  static const Fields<Calibration> fields{
      {"profile", {kText, "name of the profile"}, [](const Calibration& c) { return c.profile.name; }},
      {"gpu", {kText, "the GPU it was fitted to"}, [](const Calibration& c) { return c.profile.measured_on; }},
      {"rows", {kCount, "measured rows that were used"}, &Calibration::rows},
      Field<Calibration>::list("operators", "what was fitted, by operator and number format", &Calibration::operators,
                               operator_fields()),
      Field<Calibration>::list("tables", "tables of single shapes", &Calibration::tables, fitted_table_fields()),
      Field<Calibration>::list("refused", "rows of this GPU that were refused", &Calibration::refused, refused_fields),
      Field<Calibration>::values("not_used[]", {kText, "a file that is no table the fit knows"}, &Calibration::ignored),
      Field<Calibration>::values("warnings[]", {kText, "what to mind when using the profile"}, &Calibration::warnings)};
  return fields;
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
  if (!c.tables.empty())
    page.tables.push_back(table_of("Tables, against their own rows", fitted_table_fields(), c.tables));
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
  Json unread = Json::object();
  return filled(document_head(unread), calibration_fields(), c).take();
}

KeyList calibration_keys() {
  return head_keys(keys_of(calibration_fields()));
}

}  // namespace kvsim::results
