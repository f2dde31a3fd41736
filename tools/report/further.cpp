// Documents without sections of their own (plans for pools, for stored KV, for chunks; validation): their tables as
// they are.
#include <algorithm>

#include <fmt/format.h>

#include "tools/report/report.h"
#include "tools/report/tables.h"

namespace kvsim::report {
namespace {

constexpr std::size_t kMostRows = 500, kMostColumns = 14, kDeepest = 4;

/// The scalars of an object, those of objects in it as "outer.inner".
void flatten(const Json& object, const std::string& before, std::size_t depth,
             std::vector<std::pair<std::string, const Json*>>& out) {
  for (const auto& [key, value] : object.items()) {
    const std::string name = before.empty() ? key : before + "." + key;
    if (value.is_object() && depth > 0) {
      flatten(value, name, depth - 1, out);
    } else if (!value.is_structured()) {
      out.emplace_back(name, &value);
    }
  }
}

/// A number with the unit that its name tells, where it has one.
Cell cell_of(const std::string& name, const Json& value) {
  if (value.is_number_integer() && !name.ends_with("bytes")) return {scalar_text(value), value.get<double>()};
  if (!value.is_number()) return scalar_text(value);
  return {printed(name, value.get<double>()), value.get<double>()};
}

/// A row an element, a column a key that any of them has.
Table table_of(const Json& list, std::string caption) {
  Table t{std::move(caption), {}, {}};
  std::vector<std::vector<std::pair<std::string, const Json*>>> rows;
  std::vector<std::string> columns;
  for (const Json& element : list) {
    if (rows.size() == kMostRows) break;
    flatten(element, "", 1, rows.emplace_back());
    for (const auto& [name, value] : rows.back()) {
      if (columns.size() < kMostColumns && std::find(columns.begin(), columns.end(), name) == columns.end()) {
        columns.push_back(name);
      }
    }
  }
  for (const std::string& name : columns) t.add({name, false});
  for (const auto& row : rows) {
    std::vector<Cell> cells(columns.size(), "-");
    for (const auto& [name, value] : row) {
      const auto at = std::find(columns.begin(), columns.end(), name);
      if (at == columns.end()) continue;
      const auto i = static_cast<std::size_t>(at - columns.begin());
      cells[i] = cell_of(name, *value);
      if (value->is_number()) t.align[i] = Align::right;
    }
    t.rows.push_back(std::move(cells));
  }
  if (list.size() > kMostRows) t.title += fmt::format(" (the first {} of {})", kMostRows, list.size());
  return t;
}

void add(Section& s, const Json& object, const std::string& title, std::size_t depth) {
  Table scalars = table(title, {{"figure"}, {"value", true}});
  for (const auto& [key, value] : object.items()) {
    if (!value.is_structured()) scalars.rows.push_back({key, cell_of(key, value)});
  }
  if (!scalars.rows.empty()) s.blocks.emplace_back(std::move(scalars));
  for (const auto& [key, value] : object.items()) {
    const std::string name = title.empty() ? key : title + ": " + key;
    if (value.is_array() && !value.empty() && value.front().is_object()) {
      if (Table t = table_of(value, name); !t.align.empty()) s.blocks.emplace_back(std::move(t));
    } else if (value.is_array()) {
      std::vector<std::string> items;
      for (const Json& element : value) {
        if (!element.is_structured() && items.size() < kMostRows) items.push_back(scalar_text(element));
      }
      if (!items.empty()) s.blocks.emplace_back(List{name, std::move(items)});
    } else if (value.is_object() && depth > 0) {
      add(s, value, name, depth - 1);
    }
  }
}

}  // namespace

Section further(const Inputs& inputs) {
  Section s{"further", "Further results", {}};
  for (const Json& document : inputs.others) {
    const std::string name = scenario_of(document);
    add(s, document, name.empty() ? "Result" : name, kDeepest);
  }
  return s;
}

}  // namespace kvsim::report
