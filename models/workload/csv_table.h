// Comma-separated values with a header line: the plain kind, without quotes unless asked for. Internal to readers of
// recorded data (traces, measured kernel times).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/line_reader.h"

namespace kvsim::models {

/// Finds the wanted columns by their names in the header; other columns are skipped.
class CsvTable {
 public:
  enum class Quotes {
    plain,   ///< text like any other
    around,  ///< a field that begins with one goes on to the next that is not doubled, commas included
  };

  /// Reads the header. Throws schema::InputError where the file is empty or a wanted column is missing, or one of
  /// either kind there twice.
  CsvTable(LineReader& lines, std::span<const std::string_view> wanted, std::span<const std::string_view> optional = {},
           Quotes quotes = Quotes::plain);

  /// The next row; false at the end. Throws where a row has more or fewer columns than the header.
  bool next();

  struct Field {
    std::string_view name;
    std::string_view text;  ///< without blanks, or quotes, at either end
    std::size_t byte = 0;   ///< in the line
  };
  /// The n-th wanted column of the current row; behind the wanted ones come the optional ones, without text where the
  /// file does not have them.
  [[nodiscard]] Field field(std::size_t n) const;
  /// Whether the file has it.
  [[nodiscard]] bool has(std::size_t n) const { return position_[n] != kMissing; }
  /// A field as a whole number; fails at it where it is none.
  [[nodiscard]] std::int64_t whole_number(const Field& field) const;
  /// A field as a number, "nan" and "inf" included; fails at it where it is none.
  [[nodiscard]] double number(const Field& field) const;

 private:
  static constexpr std::size_t kMissing = static_cast<std::size_t>(-1);
  void split();
  /// A column of the current line, without blanks, or quotes, at either end.
  [[nodiscard]] std::string_view text_of(std::size_t column) const;
  /// The columns of the header, for messages: by their separator, where it is another than a comma.
  [[nodiscard]] std::string found_columns() const;
  /// The column of this name; kMissing: there is none.
  [[nodiscard]] std::size_t find(std::string_view name) const;

  LineReader& lines_;
  Quotes quotes_;
  std::span<const std::string_view> wanted_, optional_;
  std::vector<std::size_t> position_;  ///< column of each name
  std::size_t columns_ = 0;
  std::vector<std::size_t> starts_;  ///< first byte of each field of the current line, and one past the end + 1
};

}  // namespace kvsim::models
