// Parts of a result's row, declared once: from its fields come its object in the JSON document, its line of
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
/// A field of a CSV line: nothing for null, 1 or 0 for what holds or not, numbers in full, words as page::csv_field.
std::string csv_text(const Json& value);

/// Words about a row: the same ones for every row, or a function of it.
template <class Row>
struct Words {
  std::function<std::string(const Row&)> of;  ///< none: no words

  Words() = default;
  Words(const char* text) : Words(std::string_view(text)) {}
  Words(std::string_view text) {
    if (!text.empty()) of = [text](const Row&) { return std::string(text); };
  }
  template <std::invocable<const Row&> Write>
  Words(Write write) : of(std::move(write)) {}
};

/// How pages print a field: a number by a function, words on the left, or a cell with words of its own.
template <class Row>
struct Show {
  NumberText number = nullptr;  ///< none: as its unit is printed
  Words<Row> cell;              ///< none: the value's text
  Align align = Align::right;

  Show(NumberText print = nullptr) : number(print) {}
  Show(Align side) : align(side) {}
  template <std::invocable<const Row&> Cell>
  Show(Cell words, Align side = Align::right) : cell(std::move(words)), align(side) {}
};

template <class Row>
struct Field;
template <class Row>
using Fields = std::vector<Field<Row>>;

/// Meaning of the keys of a row, and of those below them.
template <class Row>
KeyList keys_of(const Fields<Row>& fields);
/// These keys below `path`.
KeyList below(const std::string& path, KeyList keys);

/// The key of objects by name beside other keys.
inline constexpr std::string_view kNames = "*";

/// In front of a field of pages alone.
struct OnPages {};
inline constexpr OnPages kOnPages;

template <class Row>
struct Field {
  std::string key;        ///< in JSON and CSV; empty: on pages alone
  bool optional = false;  ///< written with a "?" behind the key: left out where there is no value, in place of null
  Meaning meaning{kObject, ""};
  KeyList inner;             ///< what is below the key
  bool own_reasons = false;  ///< what is null below the key has reasons of its own
  /// Null: there is none. `at`: where in the document, for reasons of what is null below the key.
  using Writer = std::function<Json(const Section& at, const Row&)>;
  Writer write;
  std::optional<std::string> header;  ///< of its column, label of its key figure; none: not on pages
  Show<Row> show;
  std::string unit;    ///< behind a key figure
  Words<Row> remark;   ///< behind that
  Words<Row> because;  ///< why it may be null

  /// In JSON and CSV alone. `get`: a member, or a function of the row; an optional without a value, and what is not
  /// finite, are null.
  template <std::invocable<const Row&> Get>
  Field(std::string name, Meaning says, Get get, Words<Row> reason = {})
      : Field(Writer(reader(std::move(get))), std::move(name), std::move(says), std::move(reason)) {}
  /// On pages too.
  template <std::invocable<const Row&> Get>
  Field(std::string name, Meaning says, std::string heading, Get get, Show<Row> how = {}, std::string behind = {},
        Words<Row> further = {}, Words<Row> reason = {})
      : Field(Writer(reader(std::move(get))), std::move(name), std::move(says), std::move(reason)) {
    on_pages(std::move(heading), std::move(how), std::move(behind), std::move(further));
  }
  /// On pages alone.
  template <std::invocable<const Row&> Get>
  Field(OnPages, std::string heading, Get get, Show<Row> how = {}, std::string behind = {}, Words<Row> further = {})
      : write(reader(std::move(get))) {
    on_pages(std::move(heading), std::move(how), std::move(behind), std::move(further));
  }

  /// An object with keys of its own. `get`: the part, or an optional or a pointer to it.
  template <std::invocable<const Row&> Get, class Part>
  static Field part(std::string name, std::string says, Get get, Fields<Part> fields, Words<Row> reason = {}) {
    Field field(
        std::move(name), {kObject, std::move(says)}, [](const Row&) { return nullptr; }, std::move(reason));
    field.holds(below(field.key, keys_of(fields)));
    field.write = [get = std::move(get), fields = std::move(fields)](const Section& at, const Row& row) -> Json {
      auto&& found = std::invoke(get, row);
      if constexpr (requires { *found; }) {
        return found ? filled(at, fields, *found).take() : Json(nullptr);
      } else {
        return filled(at, fields, found).take();
      }
    };
    return field;
  }

  /// A list of objects. `get`: a range of them, or an optional range.
  template <std::invocable<const Row&> Get, class Item>
  static Field list(std::string name, std::string says, Get get, Fields<Item> fields, Words<Row> reason = {}) {
    Field field(
        std::move(name), {kObject, std::move(says)}, [](const Row&) { return nullptr; }, std::move(reason));
    field.holds(below(field.key + "[]", keys_of(fields)));
    field.write = [get = std::move(get), fields = std::move(fields)](const Section& at, const Row& row) -> Json {
      const auto items = [&](const auto& range) {
        Json list = Json::array();
        for (const Item& item : range) {
          list.push_back(filled(at.child(std::to_string(list.size())), fields, item).take());
        }
        return list;
      };
      auto&& found = std::invoke(get, row);
      if constexpr (requires { found.has_value(); }) {
        return found ? items(*found) : Json(nullptr);
      } else {
        return items(found);
      }
    };
    return field;
  }

  /// An object of objects, by name. `get`: a range of pairs of a name and an object. "*" for `name`: beside the other
  /// keys of the row.
  template <std::invocable<const Row&> Get, class Item>
  static Field by_name(std::string name, std::string says, Get get, Fields<Item> fields) {
    Field field(std::move(name), {kObject, std::move(says)}, [](const Row&) { return nullptr; });
    field.holds(below(field.key == kNames ? field.key : field.key + ".*", keys_of(fields)));
    field.write = [get = std::move(get), fields = std::move(fields)](const Section& at, const Row& row) -> Json {
      Section names = at;
      for (const auto& [step, item] : std::invoke(get, row)) {
        const std::string one(step);
        names.set(one, filled(at.child(one), fields, item));
      }
      return names.take();
    };
    return field;
  }

  /// Values alike, in a list ("key[]"), a list of lists ("key[][]") or by name ("key.*"). `get`: their JSON.
  template <std::invocable<const Row&> Get>
  static Field values(std::string path, Meaning each, Get get, Words<Row> reason = {}) {
    const std::string step = path.substr(0, std::min(path.find('['), path.find('.')));
    Field field(step, {kObject, each.sentence}, std::move(get), std::move(reason));
    field.inner = {Key{(step.ends_with('?') ? field.key + path.substr(step.size()) : path), std::move(each)}};
    return field;
  }

  [[nodiscard]] Json value(const Row& row) const {
    Json unread = Json::object();
    return write(Section("", unread), row);
  }

  [[nodiscard]] std::string text(const Row& row) const {
    if (show.cell.of) return show.cell.of(row);
    const NumberText print = show.number != nullptr ? show.number : meaning.unit.print;
    return cell_text(value(row), print != nullptr ? print : figure);
  }

 private:
  // One for all getters, so that each costs the compiler little.
  [[gnu::noinline]] Field(Writer writer, std::string name, Meaning says, Words<Row> reason)
      : key(std::move(name)),
        optional(key.ends_with('?')),
        meaning(std::move(says)),
        write(std::move(writer)),
        because(std::move(reason)) {
    if (optional) key.pop_back();
  }

  [[gnu::noinline]] void holds(KeyList keys) {
    inner = std::move(keys);
    own_reasons = true;
  }

  [[gnu::noinline]] void on_pages(std::string heading, Show<Row> how, std::string behind, Words<Row> further) {
    header = std::move(heading);
    show = std::move(how);
    unit = std::move(behind);
    remark = std::move(further);
  }

  template <class Get>
  static std::function<Json(const Section&, const Row&)> reader(Get get) {
    return [get = std::move(get)](const Section&, const Row& row) -> Json {
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
KeyList keys_of(const Fields<Row>& fields) {
  KeyList keys;
  for (const Field<Row>& field : fields) {
    if (field.key.empty()) continue;
    if (field.key != kNames) keys.push_back({field.key, field.meaning, field.optional});
    keys.insert(keys.end(), field.inner.begin(), field.inner.end());
  }
  return keys;
}

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

/// A key of a section: null, and what is null within an object, for that reason.
void add_value(Section& section, const std::string& key, Json value, std::string_view reason);

/// The row's keys in a section, which keeps the reasons of what is null: each field's own, or one for all.
template <class Row>
Section filled(Section section, const Fields<Row>& fields, const Row& row, std::string_view reason = {}) {
  for (const Field<Row>& field : fields) {
    if (field.key.empty()) continue;
    if (field.key == kNames) {
      const Json names = field.write(section.here(), row);
      for (const auto& [name, object] : names.items()) section.set(name, object);
      continue;
    }
    Json value = field.write(section.child(field.key), row);
    if (field.optional && value.is_null()) continue;
    if (field.own_reasons && reason.empty() && !value.is_null()) {
      section.set(field.key, std::move(value));
    } else {
      const std::string own = reason.empty() && field.because.of ? field.because.of(row) : "";
      add_value(section, field.key, std::move(value), reason.empty() ? std::string_view(own) : reason);
    }
  }
  return section;
}

template <class Row>
Json object(const Fields<Row>& fields, const Row& row) {
  Json unread = Json::object();
  return filled(Section("", unread), fields, row).take();
}

template <class Row, class Rows>
Json array(const Fields<Row>& fields, const Rows& rows) {
  Json list = Json::array();
  for (const Row& row : rows) list.push_back(object(fields, row));
  return list;
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

/// A list of rows that have either figures or a problem that stands in for them; `names` are there in any case. `get`:
/// a range of them.
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
