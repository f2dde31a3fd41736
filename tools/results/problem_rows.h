// Rows that have either figures or a problem that stands in for them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tools/results/fields.h"

namespace kvsim::results {

/// A list of such rows: `names` are there in any case. `get`: a range of them.
template <class Row, class Item, class Get>
Field<Row> figures_or_problems(std::string name, std::string says, Get get, const Fields<Item>& names,
                               const Fields<Item>& figures) {
  Fields<Item> known = names, unknown = names;
  append(known, figures);
  unknown.push_back({"problem", {kText, "why there are no figures"}, &Item::problem});
  Field<Row> field = Field<Row>::list(std::move(name), std::move(says), get, known);
  for (std::size_t i = keys_of(names).size(); i < field.inner.size(); ++i) field.inner[i].optional = true;
  KeyList problem = below(field.key + "[]", keys_of(unknown));
  problem.back().optional = true;
  field.inner.push_back(std::move(problem.back()));
  field.write = [get = std::move(get), known = std::move(known), unknown = std::move(unknown)](const Section&,
                                                                                               const Row& row) {
    Json list = Json::array();
    for (const Item& item : std::invoke(get, row)) list.push_back(object(item.problem.empty() ? known : unknown, item));
    return list;
  };
  return field;
}

/// A row with a problem has its name and dashes.
template <class Item, class Rows>
Table table_with_problems(std::string title, const Fields<Item>& fields, const Rows& rows) {
  Table table = table_of(std::move(title), fields, rows);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!rows[i].problem.empty()) table.rows[i] = dashes(table.rows[i].front().text, table.header.size());
  }
  return table;
}

}  // namespace kvsim::results
