// Quality curves measured elsewhere, from a CSV file with the columns context, method, keep_ratio, quality:
//
//   context,method,keep_ratio,quality
//   0,kvzip,0.25,0.97
//   0,kvzip,0.1,0.81
//   *,kvzip,0.1,0.7
//
// A context is a number from 0 (shared prefixes: by popularity), or `*` for all contexts that have no row of that
// method. A curve is linear between its keep ratios and 1 where everything is kept, unless the file says otherwise. It
// may not rise as less is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/placement/option_pool.h"
#include "models/placement/quality_table.h"
#include "models/workload/line_reader.h"

namespace kvsim::models {

class QualityFile {
 public:
  /// Throws schema::InputError with file and line for rows that say nothing sensible: no number or share, a keep ratio
  /// twice, a curve that rises.
  static QualityFile read(const std::string& path);
  /// The same from memory; `name` stands for the file's in messages.
  static QualityFile from_text(const std::string& name, std::string_view text);

  /// The score of a method that keeps this share of a context's tokens; none where neither the context nor `*` has a
  /// row of the method, or none that keeps as little.
  [[nodiscard]] std::optional<double> quality(std::int64_t context, std::string_view method, double keep) const;

  /// One curve for each of so many contexts: options that drop tokens as the file says of their method, times the
  /// quantiser's own score. Throws schema::InputError that names the first context and method without a curve, or
  /// whose curve ends above the pool's keep ratios.
  [[nodiscard]] QualityTable curves(std::size_t contexts, const OptionPool& pool) const;

 private:
  struct Point {
    double keep = 1;
    double quality = 1;
    int line = 0;
  };
  using Curve = std::vector<Point>;  ///< ascending in keep
  using Curves = std::map<std::pair<std::int64_t, std::string>, Curve, std::less<>>;

  explicit QualityFile(std::string name) : name_(std::move(name)) {}
  void read_rows(LineReader& lines);
  void check() const;
  [[nodiscard]] const Curve* curve_of(std::int64_t context, std::string_view method) const;
  [[noreturn]] void fail(int line, const std::string& message) const;

  std::string name_;
  Curves curves_;
};

}  // namespace kvsim::models
