#include "tools/results/numbers.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

namespace kvsim::results {
namespace {

struct Scale {
  std::string_view name;
  double size = 1;
  double from = 1;  ///< of these, when it is used instead of a smaller one
};

/// Three digits in the unit that suits the value; units ascend.
std::string scaled(double value, std::span<const Scale> units, std::string_view zero) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return fmt::format("0 {}", zero);
  const double size = std::abs(value);
  const Scale* unit = &units.front();
  for (const Scale& u : units) {
    if (size >= u.from * u.size * 0.9995) unit = &u;  // 999.6 ms is printed as 1.00 s
  }
  const double number = value / unit->size;
  const double magnitude = std::abs(number);
  const int decimals = magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return fmt::format("{} {}", with_commas(fmt::format("{:.{}f}", number, decimals)), unit->name);
}

/// `units` ascend; `usual` where there is nothing to choose by.
ColumnUnit common_unit(std::span<const double> values, std::span<const ColumnUnit> units, const ColumnUnit& usual) {
  constexpr double kRounding = 0.9995;  // 0.9996 is printed as 1.00
  constexpr double kMost = 99999.5;
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (const double value : values) {
    if (!std::isfinite(value) || value == 0) continue;
    least = std::min(least, std::abs(value));
    most = std::max(most, std::abs(value));
  }
  if (most == 0) return usual;
  ColumnUnit chosen = units.front();
  for (const ColumnUnit& u : units) {
    if (least >= kRounding * u.size || most >= kMost * chosen.size) chosen = u;
  }
  return chosen;
}

}  // namespace

ColumnUnit common_seconds(std::span<const double> values) {
  static constexpr std::array<ColumnUnit, 4> units{{{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}}};
  return common_unit(values, units, units[3]);
}

ColumnUnit common_bytes(std::span<const double> values) {
  static constexpr std::array<ColumnUnit, 6> units{
      {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}}};
  return common_unit(values, units, units[3]);
}

std::string in_unit(double value, const ColumnUnit& unit) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  const double number = value / unit.size, magnitude = std::abs(number);
  const int decimals = magnitude < 0.9995 ? 3 : magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0;
  return with_commas(fmt::format("{:.{}f}", number, decimals));
}

std::string with_commas(std::string digits) {
  const std::size_t first = digits.starts_with('-') ? 1 : 0;
  for (std::size_t at = std::min(digits.find('.'), digits.size()); at > first + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string figure(double value) {
  if (!std::isfinite(value)) return "-";
  if (value == 0) return "0";
  if (std::abs(value) >= 999.95) return with_commas(fmt::format("{:.0f}", value));
  std::string text = fmt::format("{:#.4g}", value);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string percent(double share) {
  return std::isfinite(share) ? fmt::format("{:.1f} %", share * 100) : "-";
}

std::string signed_percent(double share) {
  if (!std::isfinite(share)) return "-";
  const std::string text = fmt::format("{:+.1f} %", share * 100);
  return text == "-0.0 %" || text == "+0.0 %" ? "0.0 %" : text;
}

std::string seconds(double value) {
  static constexpr std::array<Scale, 6> units{
      {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60, 10}, {"h", 3600, 2}}};
  return scaled(value, units, "s");
}

std::string bytes(double value) {
  static constexpr std::array<Scale, 6> units{
      {{"B", 1}, {"kB", 1e3}, {"MB", 1e6}, {"GB", 1e9}, {"TB", 1e12}, {"PB", 1e15}}};
  return scaled(value, units, "B");
}

std::string bytes_of_gb(double gigabytes) {
  return bytes(gigabytes * 1e9);
}

std::string factor(double value) {
  return std::isfinite(value) ? fmt::format("{:.2f}x", value) : "-";
}

std::string plus_minus(double half_width, std::string (*print)(double)) {
  return std::isfinite(half_width) ? "± " + print(half_width) : std::string();
}

std::string fidelity_text(bool lossless, double score, double nats) {
  if (lossless) return "lossless";
  if (std::isfinite(score)) return fmt::format("{:.3f}", score);
  return std::isfinite(nats) ? "KL " + figure(nats) : "lossy";
}

std::string dollars(double usd) {
  return "$" + with_commas(fmt::format("{:.2f}", usd));
}

std::string dollars(const std::optional<double>& usd) {
  return usd ? dollars(*usd) : "-";
}

namespace {

std::string print_whole(double value) {
  return std::isfinite(value) ? with_commas(fmt::format("{:.0f}", value)) : "-";
}

std::string print_bytes_per_s(double value) {
  return std::isfinite(value) ? bytes(value) + "/s" : "-";
}

}  // namespace

const Unit kCount{"1", print_whole};
const Unit kTokens{"tokens", print_whole};
const Unit kRequests{"requests", print_whole};
const Unit kRequestsOrWord{"requests, or a word", print_whole};
const Unit kSeconds{"s", seconds};
const Unit kBytes{"bytes", bytes};
const Unit kGigabytes{"GB", bytes_of_gb};
const Unit kShare{"share", percent};
const Unit kSharePerGb{"share/GB", percent};
const Unit kPlain{"1", figure};
const Unit kFactor{"1", factor};
const Unit kTokensPerS{"tokens/s", figure};
const Unit kRequestsPerS{"requests/s", figure};
const Unit kBytesPerS{"bytes/s", print_bytes_per_s};
const Unit kPerS{"1/s", figure};
const Unit kNats{"nats", figure};
const Unit kDollars{"USD", figure};
const Unit kDollarsPerHour{"USD/hour", figure};
const Unit kJoulesPerToken{"J/token", figure};

std::string_view word_of(Better better) {
  if (better == Better::neither) return "neither";
  return better == Better::more ? "higher" : "lower";
}

}  // namespace kvsim::results
