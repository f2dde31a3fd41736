// What a row of a result consists of, declared once: from its fields come its object in the JSON document, its line of
// a CSV file, its line of a table and, standing upright, the key figures of a page.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "tools/results/numbers.h"
#include "tools/results/section.h"
#include "tools/results/table.h"

namespace kvsim::results {

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

using NumberText = std::string (*)(double);

/// "-" for null, words as they are, whole numbers in threes, others by `number`.
std::string cell_text(const Json& value, NumberText number);
/// A field of a CSV line: nothing for null, 1 or 0 for what holds or not, numbers in full.
std::string csv_text(const Json& value);

/// Words about a row: the same ones for every row, or a function of it.
template <class Row>
struct Words {
  std::function<std::string(const Row&)> of;  ///< none: no words

  Words() = default;
  Words(const char* text) : of([text](const Row&) { return std::string(text); }) {}
  template <std::invocable<const Row&> Write>
  Words(Write write) : of(std::move(write)) {}
};

/// How pages print a field: a number by a function, words on the left, or a cell with words of its own.
template <class Row>
struct Show {
  NumberText number = figure;
  Words<Row> cell;  ///< none: the value's text
  Align align = Align::right;

  Show(NumberText print = figure) : number(print) {}
  Show(Align side) : align(side) {}
  template <std::invocable<const Row&> Cell>
  Show(Cell words, Align side = Align::right) : cell(std::move(words)), align(side) {}
};

template <class Row>
struct Field {
  std::string key;  ///< in JSON and CSV; empty: on pages alone
  bool optional;    ///< written with a "?" behind the key: left out where there is no value, in place of null
  std::function<Json(const Row&)> value;  ///< null: there is none
  std::optional<std::string> header;      ///< of its column, label of its key figure; none: not on pages
  Show<Row> show;
  std::string unit;          ///< behind a key figure
  Words<Row> remark;         ///< behind that
  std::string_view because;  ///< why it may be null

  /// In JSON and CSV alone. `get`: a member, or a function of the row; an optional without a value, and what is not
  /// finite, are null.
  template <std::invocable<const Row&> Get>
  Field(std::string name, Get get, std::string_view reason = {})
      : key(std::move(name)), optional(key.ends_with('?')), value(reader(std::move(get))), because(reason) {
    if (optional) key.pop_back();
  }
  /// On pages too.
  template <std::invocable<const Row&> Get>
  Field(std::string name, std::string heading, Get get, Show<Row> how = {}, std::string behind = {},
        Words<Row> further = {}, std::string_view reason = {})
      : Field(std::move(name), std::move(get), reason) {
    header = std::move(heading);
    show = std::move(how);
    unit = std::move(behind);
    remark = std::move(further);
  }

  [[nodiscard]] std::string text(const Row& row) const {
    return show.cell.of ? show.cell.of(row) : cell_text(value(row), show.number);
  }

 private:
  template <class Get>
  static std::function<Json(const Row&)> reader(Get get) {
    return [get = std::move(get)](const Row& row) -> Json {
      auto&& found = std::invoke(get, row);
      using Found = std::remove_cvref_t<decltype(found)>;
      if constexpr (requires { found.has_value(); }) {
        return or_null(found);
      } else if constexpr (std::floating_point<Found>) {
        return std::isfinite(found) ? Json(found) : Json(nullptr);
      } else {
        return Json(std::forward<decltype(found)>(found));
      }
    };
  }
};

template <class Row>
using Fields = std::vector<Field<Row>>;

template <class Row>
void append(Fields<Row>& fields, const Fields<std::type_identity_t<Row>>& more) {
  fields.insert(fields.end(), more.begin(), more.end());
}

/// Those with other headings.
template <class Row>
Fields<Row> without(Fields<Row> fields, std::initializer_list<std::string_view> headings) {
  std::erase_if(fields, [&](const Field<Row>& field) {
    return field.header && std::find(headings.begin(), headings.end(), *field.header) != headings.end();
  });
  return fields;
}

template <class Row>
Json object(const Fields<Row>& fields, const Row& row) {
  Json object = Json::object();
  for (const Field<Row>& field : fields) {
    if (field.key.empty()) continue;
    Json value = field.value(row);
    if (!field.optional || !value.is_null()) object[field.key] = std::move(value);
  }
  return object;
}

template <class Row, class Rows>
Json array(const Fields<Row>& fields, const Rows& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(object(fields, row));
  return list;
}

/// A key of a section: null, and what is null within an object, for that reason.
void add_value(Section& section, const std::string& key, Json value, std::string_view reason);

/// The row's keys in a section, which keeps the reasons of what is null: each field's own, or one for all.
template <class Row>
Section filled(Section section, const Fields<Row>& fields, const Row& row, std::string_view reason = {}) {
  for (const Field<Row>& field : fields) {
    if (field.key.empty()) continue;
    Json value = field.value(row);
    if (!field.optional || !value.is_null())
      add_value(section, field.key, std::move(value), reason.empty() ? field.because : reason);
  }
  return section;
}

template <class Row, class Rows>
std::string csv(const Fields<Row>& fields, const Rows& rows) {
  std::string text;
  const auto line = [&](const auto& cell) {
    bool first = true;
    for (const Field<Row>& field : fields) {
      if (field.key.empty()) continue;
      text += (first ? "" : ",") + cell(field);
      first = false;
    }
    text += "\n";
  };
  line([](const Field<Row>& field) { return field.key; });
  for (const Row& row : rows) line([&](const Field<Row>& field) { return csv_text(field.value(row)); });
  return text;
}

template <class Row>
std::vector<Cell> cells(const Fields<Row>& fields, const Row& row) {
  std::vector<Cell> texts;
  for (const Field<Row>& field : fields) {
    if (field.header) texts.push_back(field.text(row));
  }
  return texts;
}

/// Without rows: its header and how its columns stand.
template <class Row>
Table empty_table(std::string title, const Fields<Row>& fields) {
  Table table{std::move(title), {}, {}, {}};
  for (const Field<Row>& field : fields) {
    if (!field.header) continue;
    table.header.push_back(*field.header);
    table.align.push_back(field.show.align);
  }
  return table;
}

template <class Row, class Rows>
Table table_of(std::string title, const Fields<Row>& fields, const Rows& rows) {
  Table table = empty_table(std::move(title), fields);
  for (const Row& row : rows) table.rows.push_back(cells(fields, row));
  return table;
}

/// Every second row, and the last.
void thin_out(Table& table);

/// A row that has a name and no figures.
std::vector<Cell> dashes(std::string name, std::size_t columns);

/// One row, upright: label, number, unit, remark.
template <class Row>
Table figures_of(std::string title, const Fields<Row>& fields, const Row& row) {
  Table table = key_figures(std::move(title));
  for (const Field<Row>& field : fields) {
    if (!field.header) continue;
    table.rows.push_back({*field.header, field.text(row), field.unit});
    if (field.remark.of) table.rows.back().push_back(field.remark.of(row));
  }
  return table;
}

}  // namespace kvsim::results
