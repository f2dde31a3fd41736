#include "tools/results/figure_rows.h"

#include <algorithm>
#include <array>
#include <unordered_map>

#include <fmt/format.h>

#include "tools/page/page.h"
#include "tools/results/result_document.h"

namespace kvsim::results {
namespace {

constexpr std::array<std::string_view, 6> kNotFigures{"schema_version", "kvsim_version", "scenario",
                                                      "seed",           "engine.wall_s", "engine.events_per_s"};

void walk(const Json& node, const std::string& path, const std::function<void(const std::string&, const Json&)>& use) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) walk(value, path.empty() ? key : path + "." + key, use);
  } else if (node.is_number() || node.is_null()) {
    if (std::find(kNotFigures.begin(), kNotFigures.end(), path) == kNotFigures.end()) use(path, node);
  }
}

/// The places of names in the order in which they came up.
class Columns {
 public:
  std::size_t operator[](const std::string& name) {
    const auto [known, added] = places_.emplace(name, names_.size());
    if (added) names_.push_back(name);
    return known->second;
  }
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }

 private:
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::size_t> places_;
};

/// A line a row; rows that were made before the last columns came up are shorter.
std::string table(const std::vector<std::string>& heading, std::vector<std::vector<std::string>> rows) {
  std::string out;
  const auto line = [&out](const std::vector<std::string>& cells) {
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (i > 0) out += ',';
      out += cells[i];
    }
    out += '\n';
  };
  line(heading);
  for (std::vector<std::string>& row : rows) {
    row.resize(heading.size());
    line(row);
  }
  return out;
}

std::vector<std::string> fields(const std::vector<std::string>& texts) {
  std::vector<std::string> result;
  for (const std::string& text : texts) result.push_back(page::csv_field(text));
  return result;
}

void words_and_numbers(const Json& node, const std::string& path,
                       const std::function<void(const std::string&, std::string)>& use) {
  if (node.is_object()) {
    for (const auto& [key, value] : node.items()) {
      words_and_numbers(value, path.empty() ? key : path + "." + key, use);
    }
  } else if (node.is_string()) {
    use(path, page::csv_field(node.get<std::string>()));
  } else if (node.is_number() || node.is_boolean()) {
    use(path, node.dump());
  }
}

}  // namespace

void for_each_figure(const Json& figures, const std::function<void(const std::string&, const Json&)>& use) {
  for (const auto& [key, value] : figures.items()) {
    if (key != "confidence") walk(value, key, use);
  }
  for (const auto& [metric, interval] : figures.at("confidence").items()) {
    use(fmt::format("{}.{}", metric, kHalfWidth), interval.at(std::string(kHalfWidth)));
  }
}

std::string FigureRows::csv() const {
  Columns columns;
  std::vector<std::vector<std::string>> rows;
  for (const auto& [cells, figures] : rows_) {
    std::vector<std::string>& row = rows.emplace_back(fields(cells));
    if (figures.is_null()) continue;
    for_each_figure(figures, [&](const std::string& name, const Json& value) {
      const std::size_t at = heading.size() + columns[name];
      if (at >= row.size()) row.resize(at + 1);
      if (!value.is_null()) row[at] = value.dump();
    });
  }
  std::vector<std::string> all = heading;
  all.insert(all.end(), columns.names().begin(), columns.names().end());
  return table(fields(all), std::move(rows));
}

std::string outcomes_csv(const std::vector<Outcome>& outcomes) {
  const bool policies =
      std::any_of(outcomes.begin(), outcomes.end(), [](const Outcome& o) { return !o.policy.empty(); });
  FigureRows rows;
  rows.heading = {"scenario"};
  if (policies) rows.heading.emplace_back("policy");
  for (const Outcome& outcome : outcomes) {
    std::vector<std::string> cells{outcome.scenario.name};
    if (policies) cells.push_back(outcome.policy);
    rows.add(std::move(cells), figures_document(outcome));
  }
  return rows.csv();
}

std::string objects_csv(const Json& objects) {
  Columns columns;
  std::vector<std::vector<std::string>> rows;
  for (const Json& object : objects) {
    std::vector<std::string>& row = rows.emplace_back();
    words_and_numbers(object, "", [&](const std::string& name, std::string text) {
      const std::size_t at = columns[name];
      if (at >= row.size()) row.resize(at + 1);
      row[at] = std::move(text);
    });
  }
  return table(fields(columns.names()), std::move(rows));
}

}  // namespace kvsim::results
