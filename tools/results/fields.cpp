#include "tools/results/fields.h"

#include <fmt/format.h>

namespace kvsim::results {

std::string cell_text(const Json& value, NumberText number) {
  if (value.is_null()) return "-";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_unsigned()) return whole(value.get<std::uint64_t>());
  if (value.is_number_integer()) return whole(value.get<std::int64_t>());
  return number(value.get<double>());
}

std::string csv_text(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_boolean()) return value.get<bool>() ? "1" : "0";
  if (value.is_string()) return page::csv_field(value.get<std::string>());
  if (value.is_number_float()) return fmt::format("{}", value.get<double>());
  return value.dump();
}

KeyList below(const std::string& path, KeyList keys) {
  for (Key& key : keys) key.path = path + "." + key.path;
  return keys;
}

void add_value(Section& section, const std::string& key, Json value, std::string_view reason) {
  if (value.is_null() && !reason.empty()) {
    section.missing(key, reason);
  } else if (value.is_object() && !reason.empty()) {
    Section child = section.child(key);
    for (const auto& [name, inner] : value.items()) add_value(child, name, inner, reason);
    section.set(key, std::move(child));
  } else {
    section.set(key, std::move(value));
  }
}

void thin_out(Table& table) {
  std::vector<std::vector<Cell>> kept;
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    if (i % 2 == 0 || i + 1 == table.rows.size()) kept.push_back(std::move(table.rows[i]));
  }
  table.rows = std::move(kept);
}

std::vector<Cell> dashes(std::string name, std::size_t columns) {
  std::vector<Cell> cells(columns, "-");
  cells.front() = std::move(name);
  return cells;
}

}  // namespace kvsim::results
