// Comma-separated values with a header line: the plain kind, without quotes. Internal to readers of
// recorded data (traces, measured kernel times).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/workload/line_reader.h"

namespace kvsim::models {

/// Finds the wanted columns by their names in the header; other columns are skipped.
class CsvTable {
 public:
  /// Reads the header. Throws schema::InputError where the file is empty or a column is missing or there twice.
  CsvTable(LineReader& lines, std::span<const std::string_view> wanted);

  /// The next row; false at the end. Throws where a row has more or fewer columns than the header.
  bool next();

  struct Field {
    std::string_view name;
    std::string_view text;  ///< without blanks at either end
    std::size_t byte = 0;   ///< in the line
  };
  /// The n-th wanted column of the current row.
  [[nodiscard]] Field field(std::size_t n) const;
  /// A field as a whole number; fails at it where it is none.
  [[nodiscard]] std::int64_t whole_number(const Field& field) const;
  /// A field as a number, "nan" and "inf" included; fails at it where it is none.
  [[nodiscard]] double number(const Field& field) const;

 private:
  void split();

  LineReader& lines_;
  std::span<const std::string_view> wanted_;
  std::vector<std::size_t> position_;  ///< column of each wanted name
  std::size_t columns_ = 0;
  std::vector<std::size_t> starts_;  ///< first byte of each field of the current line, and one past the end + 1
};

}  // namespace kvsim::models
