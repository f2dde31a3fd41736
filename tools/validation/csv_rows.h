// Small tables of measured data: CSV with a header, fields in double quotes where they hold commas.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace kvsim::validation {

struct CsvRow {
  int line = 0;                               ///< in the file, from 1
  std::map<std::string, std::string> fields;  ///< by the header's name
  /// Throws schema::InputError where there is none of this name.
  [[nodiscard]] const std::string& at(const std::string& column) const;
  /// The same as a number; also where the field is none.
  [[nodiscard]] double number(const std::string& column) const;
  std::string file;
};

/// Throws schema::InputError where the file cannot be read, has no header, or a line has other columns than it.
std::vector<CsvRow> read_csv(const std::string& path);

}  // namespace kvsim::validation
