// How traces write times: dates, and decimal numbers in any unit, to whole nanoseconds.
#include <chrono>
#include <cmath>
#include <optional>
#include <string_view>

#include "models/schema/text_number.h"
#include "models/workload/trace_reader.h"

namespace kvsim::models {
namespace {

/// Takes exactly `digits` decimal digits off the front of the text.
std::optional<int> take_digits(std::string_view& text, std::size_t digits) {
  if (text.size() < digits) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(0, digits)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  text.remove_prefix(digits);
  return value;
}

bool take(std::string_view& text, std::string_view any_of) {
  if (text.empty() || any_of.find(text.front()) == std::string_view::npos) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::optional<std::int64_t> parse_date(std::string_view text) {
  const auto year = take_digits(text, 4);
  if (!year || !take(text, "-")) return std::nullopt;
  const auto month = take_digits(text, 2);
  if (!month || !take(text, "-")) return std::nullopt;
  const auto day = take_digits(text, 2);
  if (!day || !take(text, " T")) return std::nullopt;
  const auto hour = take_digits(text, 2);
  if (!hour || !take(text, ":")) return std::nullopt;
  const auto minute = take_digits(text, 2);
  if (!minute || !take(text, ":")) return std::nullopt;
  const auto second = take_digits(text, 2);
  if (!second || *hour > 23 || *minute > 59 || *second > 59) return std::nullopt;

  std::int64_t fraction_ns = 0;
  if (take(text, ".")) {
    std::size_t digits = 0;
    for (std::int64_t unit = 100'000'000; !text.empty() && text.front() >= '0' && text.front() <= '9'; unit /= 10) {
      if (++digits > 9) return std::nullopt;
      fraction_ns += unit * (text.front() - '0');
      text.remove_prefix(1);
    }
    if (digits == 0) return std::nullopt;
  }
  std::int64_t offset_min = 0;
  if (!text.empty() && text != "Z") {
    const std::int64_t sign = text.front() == '-' ? 1 : -1;  // ahead of the clock that counts
    if (!take(text, "+-")) return std::nullopt;
    const auto hours = take_digits(text, 2);
    const bool colon = take(text, ":");
    const auto minutes = take_digits(text, 2);
    if (!hours || (colon && !minutes) || !text.empty() || *hours > 23 || minutes.value_or(0) > 59) return std::nullopt;
    offset_min = sign * (*hours * 60 + minutes.value_or(0));
  }

  const std::chrono::year_month_day date{std::chrono::year(*year), std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!date.ok() || *year < 1970 || *year > 2200) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return ((days * 24 + *hour) * 60 + *minute + offset_min) * 60'000'000'000 + *second * 1'000'000'000LL + fraction_ns;
}

std::optional<std::int64_t> parse_decimal_ns(std::string_view text, int digits_to_ns) {
  constexpr std::int64_t most = 4'500'000'000'000'000'000;  // differences of two fit 64 bits
  const std::string_view whole = text;
  const bool negative = take(text, "-");
  std::int64_t value = 0;
  int decimals = 0;
  bool point = false, any = false, round_up = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (text.front() == '.' && !point) {
      point = true;
      continue;
    }
    if (text.front() < '0' || text.front() > '9') break;
    any = true;
    const int digit = text.front() - '0';
    if (point && decimals >= digits_to_ns) {
      if (decimals++ == digits_to_ns) round_up = digit >= 5;
      continue;
    }
    if (value > (most - digit) / 10) return std::nullopt;
    value = value * 10 + digit;
    decimals += point ? 1 : 0;
  }
  if (!any) return std::nullopt;
  if (!text.empty()) {  // an exponent: as near as a double is
    auto number = schema::number_from<double>(whole);
    if (!number) return std::nullopt;
    for (int i = 0; i < digits_to_ns; ++i) *number *= 10;
    if (!(std::abs(*number) < static_cast<double>(most))) return std::nullopt;
    return static_cast<std::int64_t>(std::llround(*number));
  }
  for (; decimals < digits_to_ns; ++decimals) {
    if (value > most / 10) return std::nullopt;
    value *= 10;
  }
  value += round_up ? 1 : 0;
  return negative ? -value : value;
}

}  // namespace kvsim::models
