#include "tools/results/calibration_page.h"

#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/results/numbers.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

using models::Calibration;
using models::ErrorSummary;
using models::OperatorReport;

constexpr std::size_t kRefusedShown = 20;

void add(Table& table, const std::string& name, const std::string& format, const std::string& what,
         const ErrorSummary& e) {
  if (e.count == 0) return;
  table.rows.push_back({name, format, what, whole(e.count), percent(e.median), percent(e.p90), percent(e.max),
                        fmt::format("{:+.1f} %", 100 * e.bias)});
}

Table error_table(std::string title, const char* what) {
  Table t{std::move(title), {"operator", "format", what, "rows", "median", "p90", "max", "bias"}, {}, {}};
  t.align.assign(t.header.size(), Align::right);
  t.align[0] = t.align[1] = t.align[2] = Align::left;
  return t;
}

Json as_json(const ErrorSummary& e) {
  if (e.count == 0) return nullptr;
  return {{"rows", e.count}, {"median", e.median}, {"p90", e.p90}, {"max", e.max}, {"bias", e.bias}};
}

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
  Table all = error_table("Accuracy", "rows predicted");
  Table regions = error_table("By region", "region");
  Table values{"Parameters", {"operator", "format", "parameter", "value", ""}, {}, {}};
  values.align = {Align::left, Align::left, Align::left, Align::right, Align::left};
  for (const OperatorReport& op : c.operators) {
    add(all, op.name, op.format, "in sample", op.in_sample);
    add(all, op.name, op.format, "held-out shapes", op.shapes);
    add(all, op.name, op.format, "held-out models", op.models);
    for (const auto& t : op.machines) add(all, op.name, op.format, "fit of " + t.from, t.errors);
    for (const auto& region : op.regions) {
      add(regions, op.name, op.format, region.name, region.in_sample);
      add(regions, op.name, op.format, region.name + ", held-out shapes", region.shapes);
    }
    for (const models::FittedValue& v : op.values) {
      values.rows.push_back({op.name, op.format, v.name, figure(v.value), v.at_bound ? "at its bound" : ""});
    }
  }
  Table tables{"Tables, against their own rows", {"table", "points", "rows", "median", "p90", "max"}, {}, {}};
  tables.align.assign(tables.header.size(), Align::right);
  tables.align[0] = Align::left;
  for (const models::TableReport& t : c.tables) {
    tables.rows.push_back({t.name, whole(t.points), whole(t.errors.count), percent(t.errors.median),
                           percent(t.errors.p90), percent(t.errors.max)});
  }
  page.tables = {all, regions, values};
  if (!tables.rows.empty()) page.tables.push_back(tables);
  List refused{"Refused rows", {}};
  for (const models::RefusedRow& row : c.refused) {
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
  Json tables = Json::array();
  for (const models::TableReport& t : c.tables) {
    tables.push_back({{"table", t.name}, {"points", t.points}, {"errors", as_json(t.errors)}});
  }
  Json refused = Json::array();
  for (const models::RefusedRow& row : c.refused) {
    refused.push_back({{"where", row.origin.str()}, {"reason", row.reason}});
  }
  return {{"schema_version", kSchemaVersion},
          {"kvsim_version", kvsim_version()},
          {"profile", c.profile.name},
          {"gpu", c.profile.measured_on},
          {"rows", c.rows},
          {"operators", operators},
          {"tables", tables},
          {"refused", refused},
          {"not_used", c.ignored},
          {"warnings", c.warnings}};
}

}  // namespace kvsim::results
