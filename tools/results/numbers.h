// Numbers as people read them: few digits, thousands apart, with units.
#pragma once

#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace kvsim::results {

/// A figure that a row does not have.
inline constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// part / of; kNone where there is nothing to have a share of.
double share(auto part, auto of) {
  return of > 0 ? static_cast<double>(part) / static_cast<double>(of) : kNone;
}

/// "1,234,567.8": the digits before the point in threes.
std::string with_commas(std::string digits);
std::string whole(std::integral auto value) {
  return with_commas(std::to_string(value));
}

/// Four significant digits, thousands apart: "1,235", "12.35", "0.1235"; "-" where it is not finite.
std::string figure(double value);
/// "12.3 %"; "-" where it is not finite.
std::string percent(double share);
/// "17.2 ms", "3.35 GB"; "-" where it is not finite.
std::string seconds(double value);
std::string bytes(double value);
/// The same of a number of decimal GB.
std::string bytes_of_gb(double gigabytes);
/// What the figures of a column are counted in, so that they compare at a glance.
struct ColumnUnit {
  std::string_view name;
  double size = 1;
};
/// The largest unit of which every figure is at least one, unless the others would then take six digits. Zeros, and
/// what is not finite, are not looked at.
ColumnUnit common_seconds(std::span<const double> values);
ColumnUnit common_bytes(std::span<const double> values);
/// Three digits, thousands apart, in that unit: "2,020", "30.4", "0.030"; "-" where it is not finite.
std::string in_unit(double value, const ColumnUnit& unit = {});

/// "$12.30"; "-" for none.
std::string dollars(double usd);
std::string dollars(const std::optional<double>& usd);

/// "1.52x"; "-" where it is not finite.
std::string factor(double value);
/// "± " and the number; empty where there is no interval.
std::string plus_minus(double half_width, std::string (*print)(double) = figure);

}  // namespace kvsim::results
