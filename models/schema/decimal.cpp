#include "models/schema/decimal.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace kvsim::schema {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr int exponent_bound = 100'000;  ///< far beyond any double, far from overflow when added up

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view take_digits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), is_digit);
  const auto count = static_cast<std::size_t>(end - text.begin());
  const std::string_view digits = text.substr(0, count);
  text.remove_prefix(count);
  return digits;
}

/// The exponent part at the front of `text`, if complete: "e" alone belongs to what follows.
int take_exponent(std::string_view& text) {
  if (text.empty() || (text.front() != 'e' && text.front() != 'E')) return 0;
  std::string_view rest = text.substr(1);
  const bool negative = !rest.empty() && rest.front() == '-';
  if (!rest.empty() && (rest.front() == '-' || rest.front() == '+')) rest.remove_prefix(1);
  const std::string_view digits = take_digits(rest);
  if (digits.empty()) return 0;
  text = rest;
  int value = 0;
  for (const char c : digits) value = std::min(exponent_bound, value * 10 + (c - '0'));
  return negative ? -value : value;
}

Decimal normalised(bool negative, std::string digits, int exponent) {
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size()));
  while (!digits.empty() && digits.back() == '0') {
    digits.pop_back();
    ++exponent;
  }
  if (digits.empty()) return {};
  return {negative, std::move(digits), exponent};
}

bool multiply(Wide& value, Wide factor) {
  if (factor != 0 && value > ~Wide{0} / factor) return false;
  value *= factor;
  return true;
}

bool multiply_power(Wide& value, unsigned base, int power) {
  for (int i = 0; i < power; ++i) {
    if (!multiply(value, base)) return false;
  }
  return true;
}

}  // namespace

std::optional<NumberAndRest> split_number(std::string_view text) {
  text = trim(text);
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (text.front() == '-' || text.front() == '+')) text.remove_prefix(1);
  const std::string_view whole = take_digits(text);
  std::string_view fraction;
  if (text.size() > 1 && text[0] == '.' && is_digit(text[1])) {
    text.remove_prefix(1);
    fraction = take_digits(text);
  }
  if (whole.empty() && fraction.empty()) return std::nullopt;
  const int exponent = take_exponent(text) - static_cast<int>(std::min<std::size_t>(fraction.size(), exponent_bound));
  return NumberAndRest{normalised(negative, std::string(whole).append(fraction), exponent), trim(text),
                       whole.size() > 1 && whole.front() == '0'};
}

std::optional<double> to_double(const Decimal& number, const UnitFactor& unit) {
  if (number.is_zero()) return 0.0;
  const std::string literal = number.digits + "e" + std::to_string(number.exponent + unit.exp10);
  double value = 0;
  const auto result = std::from_chars(literal.data(), literal.data() + literal.size(), value);
  if (result.ec == std::errc::result_out_of_range) {
    // from_chars says the same of overflow and underflow; the position of the leading digit tells them apart.
    const bool tiny =
        number.exponent + unit.exp10 + static_cast<int>(std::min<std::size_t>(number.digits.size(), exponent_bound)) <
        0;
    if (!tiny) return std::nullopt;
    value = 0;
  }
  value = std::ldexp(value * unit.multiple / unit.divisor, unit.exp2);
  if (!std::isfinite(value)) return std::nullopt;
  return number.negative ? -value : value;
}

std::optional<WholeNumber> to_integer(const Decimal& number, const UnitFactor& unit) {
  if (number.is_zero()) return WholeNumber{};
  if (number.digits.size() > 19) return std::nullopt;
  Wide value = 0;
  for (const char c : number.digits) value = value * 10 + static_cast<unsigned>(c - '0');
  Wide divisor = static_cast<unsigned>(unit.divisor);
  const int exponent = number.exponent + unit.exp10;
  if (!multiply(value, static_cast<unsigned>(unit.multiple))) return std::nullopt;
  if (!multiply_power(value, 2, std::max(unit.exp2, 0)) || !multiply_power(value, 10, std::max(exponent, 0))) {
    return std::nullopt;
  }
  if (!multiply_power(divisor, 2, std::max(-unit.exp2, 0)) || !multiply_power(divisor, 10, std::max(-exponent, 0))) {
    return WholeNumber{0, false};  // the divisor alone is beyond every value: nothing but a fraction remains
  }
  const Wide remainder = value % divisor;
  const Wide rounded = value / divisor + (remainder >= divisor - remainder ? 1U : 0U);
  if (rounded > static_cast<Wide>(std::numeric_limits<std::int64_t>::max())) return std::nullopt;
  const auto magnitude = static_cast<std::int64_t>(rounded);
  return WholeNumber{number.negative ? -magnitude : magnitude, remainder == 0};
}

}  // namespace kvsim::schema
