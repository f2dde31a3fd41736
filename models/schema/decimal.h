// Decimal number literals, kept as digits until the unit is known, so that "3.35 TB/s" is rounded once and byte counts
// are exact. Internal to the schema layer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvsim::schema {

/// value = (-1)^negative * digits * 10^exponent; digits has no leading or trailing zeros, "0" for zero.
struct Decimal {
  bool negative = false;
  std::string digits = "0";
  int exponent = 0;

  [[nodiscard]] bool is_zero() const { return digits == "0"; }
};

/// A unit as a factor: multiple * 10^exp10 * 2^exp2 / divisor.
struct UnitFactor {
  int exp10 = 0;
  int exp2 = 0;
  int multiple = 1;
  int divisor = 1;
};

struct NumberAndRest {
  Decimal number;
  std::string_view rest;      ///< what follows the literal, without blanks at either end
  bool leading_zero = false;  ///< written like 010, which some readers take as octal
};

/// Splits a literal [+-]digits[.digits][e[+-]digits] off the front of `text` (blanks around it are skipped). No value
/// where the text does not begin with one: hexadecimal, infinities and NaN are no literals.
std::optional<NumberAndRest> split_number(std::string_view text);

/// The nearest double; no value where it would be infinite.
std::optional<double> to_double(const Decimal& number, const UnitFactor& unit);

struct WholeNumber {
  std::int64_t value = 0;  ///< rounded to nearest, halves away from zero
  bool exact = true;
};

/// The integer it is, or rounds to; no value where that does not fit 64 bits (or takes more than 19 digits to say).
std::optional<WholeNumber> to_integer(const Decimal& number, const UnitFactor& unit);

}  // namespace kvsim::schema
