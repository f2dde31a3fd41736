// Prices of machines and memory, each with its date and source. The table travels inside the binary
// (prices.yaml); users give files of their own in the same format, which change it name by name.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "models/schema/config_node.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// Hours of the month that prices per month are divided by: a year of 8,760 h in twelve parts.
inline constexpr double kHoursPerMonth = 730;

struct Price {
  schema::Sourced<double> usd;  ///< USD per GPU and hour, or per decimal GB and month
  std::string date;             ///< when it held: year, or year and month
};

struct PriceTable {
  std::map<std::string, Price, std::less<>> gpus;  ///< USD/h of one GPU, by its name in the catalogue
  Price dram;                                      ///< host memory, USD per GB and month
  Price ssd;                                       ///< local or block storage, USD per GB and month

  /// Null where the table has no price for this GPU. A machine that a scenario changed in place ("h100-sxm (changed)")
  /// is not one of the table's.
  [[nodiscard]] const Price* gpu(std::string_view name) const;

  /// The prices that the binary carries.
  static PriceTable built_in();

  /// Replaces the prices that a document names. Throws schema::InputError at what is not as the format has it, and,
  /// where `known_gpus` are given, at the price of a GPU that is none of them and not of this table (with the nearest
  /// name); the table is then as before.
  void change(const schema::ConfigNode& document, std::span<const std::string> known_gpus = {});

  /// Replaces the prices that a file names.
  void change_by_file(const std::string& path, std::span<const std::string> known_gpus = {});
};

}  // namespace kvsim::models
