// Output of a run: what is kept of repeated measurements, tables on their way into CSV files, and the folder where
// files appear whole or not at all.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <fmt/format.h>

namespace kvsim::calibrate {

/// Spread of repeated measurements.
struct Spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
  std::size_t repeats = 0;
};

/// Quantiles with linear interpolation (Hyndman-Fan 7). Throws std::invalid_argument where there is no sample.
Spread spread_of(std::vector<double> samples);

/// How many repeats fit: `seconds_each` was seen once; at least `least`, at most `most`, about `target_s` in all.
std::size_t repeats_for(double seconds_each, double target_s, std::size_t least, std::size_t most);

/// Text as it stands; whole numbers; others with seven significant digits; a Spread as four cells (median, p10, p90,
/// repeats).
class CsvRow {
 public:
  template <class... Cells>
  explicit CsvRow(const Cells&... cells) {
    (add(cells), ...);
  }
  template <class Cell>
  void add(const Cell& cell) {
    if constexpr (std::is_same_v<Cell, Spread>) {
      for (const double value : {cell.median, cell.p10, cell.p90}) add(value);
      add(cell.repeats);
    } else if constexpr (std::is_floating_point_v<Cell>) {
      cells_.push_back(fmt::format("{:.7g}", cell));
    } else {
      cells_.push_back(fmt::format("{}", cell));
    }
  }
  [[nodiscard]] const std::vector<std::string>& cells() const { return cells_; }

 private:
  std::vector<std::string> cells_;
};

class CsvFile {
 public:
  explicit CsvFile(std::vector<std::string> columns) : columns_(std::move(columns)) {}
  /// Throws std::logic_error where the row has another number of cells than there are columns.
  void add(const CsvRow& row);
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  /// Header and rows; `sorted` puts the rows in the order of their cells, numbers by value.
  [[nodiscard]] std::string text(bool sorted) const;

 private:
  std::vector<std::string> columns_;
  std::vector<std::vector<std::string>> rows_;
};

class OutputFolder {
 public:
  /// Makes the folder. Throws schema::InputError where it is there and not empty, unless `force`, or cannot be made.
  OutputFolder(const std::string& path, bool force);
  /// Writes under a temporary name, then renames. Throws std::runtime_error.
  void write(const std::string& name, std::string_view text) const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kvsim::calibrate
