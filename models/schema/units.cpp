#include "models/schema/units.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/decimal.h"
#include "models/schema/spelling.h"

namespace kvsim::schema {
namespace {

// The units themselves.

struct Unit {
  std::string_view text;  ///< as written after the number
  UnitFactor factor;
  bool shown = true;      ///< formatting may choose it
  bool attached = false;  ///< printed without a blank before it (0.5/s, 32k tokens)
};

struct DimensionInfo {
  std::string_view name;
  std::string_view example;
  bool integral = false;
  std::span<const Unit> units;  ///< the first one is the program's own; empty for bare numbers
  UsualSize usual;
  bool own_is_usual = false;  ///< most values are written in the first unit, without a prefix
};

constexpr Unit decimal(std::string_view text, int exp10) {
  return {.text = text, .factor = {.exp10 = exp10}};
}
constexpr Unit binary(std::string_view text, int exp2) {
  return {.text = text, .factor = {.exp2 = exp2}};
}
/// Bits: 10^n / 8 bytes. Read, but never chosen for display: one unit per dimension keeps tables comparable.
constexpr Unit bits(std::string_view text, int exp10) {
  return {.text = text, .factor = {.exp10 = exp10, .exp2 = -3}, .shown = false};
}
constexpr Unit multiple(std::string_view text, int seconds) {
  return {.text = text, .factor = {.multiple = seconds}};
}
constexpr Unit per(std::string_view text, int seconds) {
  return {.text = text, .factor = {.divisor = seconds}, .shown = seconds == 1 && text == "/s", .attached = true};
}
constexpr Unit per_spaced(std::string_view text, int seconds) {
  return {.text = text, .factor = {.divisor = seconds}, .shown = false};
}
constexpr Unit attached(Unit unit) {
  unit.attached = true;
  return unit;
}
constexpr Unit hidden(Unit unit) {
  unit.shown = false;
  return unit;
}

constexpr std::array byte_units{decimal("B", 0),   decimal("kB", 3),  decimal("MB", 6),  decimal("GB", 9),
                                decimal("TB", 12), decimal("PB", 15), binary("KiB", 10), binary("MiB", 20),
                                binary("GiB", 30), binary("TiB", 40), binary("PiB", 50)};

constexpr std::array bandwidth_units{decimal("B/s", 0),   decimal("kB/s", 3),  decimal("MB/s", 6),  decimal("GB/s", 9),
                                     decimal("TB/s", 12), decimal("PB/s", 15), binary("KiB/s", 10), binary("MiB/s", 20),
                                     binary("GiB/s", 30), binary("TiB/s", 40), bits("b/s", 0),      bits("kb/s", 3),
                                     bits("Mb/s", 6),     bits("Gb/s", 9),     bits("Tb/s", 12)};

constexpr std::array time_units{decimal("s", 0),   decimal("ms", -3),   decimal("us", -6),
                                decimal("ns", -9), multiple("min", 60), multiple("h", 3600)};

constexpr std::array token_units{decimal("tokens", 0),
                                 hidden(decimal("token", 0)),
                                 attached(decimal("k tokens", 3)),
                                 attached(decimal("M tokens", 6)),
                                 attached(binary("Ki tokens", 10)),
                                 attached(binary("Mi tokens", 20)),
                                 hidden(attached(decimal("k", 3))),
                                 hidden(attached(decimal("M", 6))),
                                 hidden(attached(binary("Ki", 10))),
                                 hidden(attached(binary("Mi", 20)))};

constexpr std::array compute_units{decimal("FLOP/s", 0),  decimal("kFLOP/s", 3),  decimal("MFLOP/s", 6),
                                   decimal("GFLOP/s", 9), decimal("TFLOP/s", 12), decimal("PFLOP/s", 15)};

constexpr std::array rate_units{per("/s", 1),
                                per("/min", 60),
                                per("/h", 3600),
                                per_spaced("req/s", 1),
                                per_spaced("req/min", 60),
                                per_spaced("req/h", 3600),
                                per_spaced("requests/s", 1),
                                per_spaced("requests/min", 60),
                                per_spaced("requests/h", 3600),
                                per_spaced("sessions/s", 1),
                                per_spaced("sessions/min", 60),
                                per_spaced("sessions/h", 3600)};

constexpr std::array price_units{decimal("USD/h", 0)};
constexpr std::array storage_price_units{decimal("USD/GB-month", 0)};
constexpr std::array power_units{decimal("W", 0), decimal("kW", 3)};

// In the order of enum Dimension.
constexpr std::array<DimensionInfo, 11> dimensions{
    {{"a number", "0.2", false, {}, {1e-12, 1e18}},
     {"a whole number", "25", true, {}, {1, 1e12}},
     {"a size in bytes", "80 GiB", true, byte_units, {1, 1e18}},
     {"a bandwidth", "64 GB/s", false, bandwidth_units, {1, 1e18}},
     {"a time", "25 ms", false, time_units, {0, 24000.0 * 3600}},  // a thousand days; the clock ends after 292 years
     {"a number of tokens", "32k tokens", true, token_units, {1, 1e9}, true},
     {"a compute rate", "312 TFLOP/s", false, compute_units, {1, 1e21}},
     {"a rate", "0.5/s", false, rate_units, {1e-9, 1e9}, true},
     {"a price", "2.5 USD/h", false, price_units, {0, 1e6}, true},
     {"a price of memory", "3 USD/GB-month", false, storage_price_units, {0, 1e6}, true},
     {"a power", "700 W", false, power_units, {0, 1e9}, true}}};

const DimensionInfo& dimension_info(Dimension dimension) {
  return dimensions.at(static_cast<std::size_t>(dimension));
}

/// The dimension that has this unit, for "64 ms is a time"; null where none has.
const DimensionInfo* dimension_of_unit(std::string_view unit) {
  const auto has_unit = [&](const DimensionInfo& info) {
    return std::any_of(info.units.begin(), info.units.end(), [&](const Unit& u) { return u.text == unit; });
  };
  const auto found = std::find_if(dimensions.begin(), dimensions.end(), has_unit);
  return found == dimensions.end() ? nullptr : &*found;
}

// Texts of quantities.

std::string clipped(std::string_view text) {
  constexpr std::size_t longest = 60;
  return text.size() <= longest ? std::string(text) : std::string(text.substr(0, longest)) + "...";
}

std::string like(const DimensionInfo& info) {
  return fmt::format("{} such as \"{}\"", info.name, info.example);
}

std::string with_unit(const DimensionInfo& info) {
  std::vector<std::string_view> units;
  for (const Unit& unit : info.units) units.push_back(unit.text);
  return fmt::format("{} with its unit ({})", info.name, fmt::join(units, ", "));
}

/// Blanks within a unit collapse to one: "32 k  tokens".
std::string collapsed(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out.push_back(c);
  }
  return out;
}

std::string print(const Unit& unit, std::string_view number) {
  return fmt::format("{}{}{}", number, unit.attached ? "" : " ", unit.text);
}

[[noreturn]] void refuse_unit(const DimensionInfo& info, std::string_view text, const std::string& unit) {
  const DimensionInfo* other = dimension_of_unit(unit);
  if (info.units.empty()) throw UnitError(fmt::format("expected {}, found \"{}\"", like(info), clipped(text)));
  if (unit.empty()) {
    throw UnitError(fmt::format(
        "expected {}, found the bare number \"{}\"{}", with_unit(info), clipped(text),
        info.own_is_usual ? fmt::format("; write \"{}\"", print(info.units.front(), clipped(text))) : std::string()));
  }
  if (other != nullptr) {
    throw UnitError(fmt::format("expected {}, but \"{}\" is {}", like(info), clipped(text), other->name));
  }
  std::vector<std::string> candidates;
  for (const Unit& candidate : info.units) candidates.emplace_back(candidate.text);
  throw UnitError(fmt::format("unknown unit \"{}\" in \"{}\", expected {}{}", clipped(unit), clipped(text), like(info),
                              suggest(unit, candidates)));
}

struct Parsed {
  Decimal number;
  UnitFactor factor;
  bool own_unit = true;  ///< no prefix: a fraction of it is a fraction of the smallest thing there is
};

Parsed parse(Dimension dimension, std::string_view text) {
  const DimensionInfo& info = dimension_info(dimension);
  const auto split = split_number(text);
  if (!split) throw UnitError(fmt::format("expected {}, found \"{}\"", like(info), clipped(text)));
  const std::string unit = collapsed(split->rest);
  const Unit* found = nullptr;
  for (const Unit& candidate : info.units) {
    if (candidate.text == unit) found = &candidate;
  }
  if (const auto number = to_double(split->number, {.exp10 = -2});
      unit == "%" && dimension == Dimension::number && number) {
    throw UnitError(fmt::format("expected {}, found \"{}\": write {:g}", like(info), clipped(text), *number));
  }
  if (found == nullptr && !(info.units.empty() && unit.empty())) refuse_unit(info, text, unit);
  if (split->leading_zero) {
    throw UnitError(
        fmt::format("expected {}, found \"{}\": write it without leading zeros", like(info), clipped(text)));
  }
  if (found == nullptr) return {split->number, {}, true};
  return {split->number, found->factor, found->factor.exp10 == 0 && found->factor.exp2 == 0};
}

double parse_as_double(Dimension dimension, std::string_view text) {
  const Parsed parsed = parse(dimension, text);
  const auto value = to_double(parsed.number, parsed.factor);
  if (!value) throw UnitError(fmt::format("\"{}\" is too large", clipped(text)));
  return *value;
}

double in_unit(double value, const UnitFactor& factor) {
  return std::ldexp(value, -factor.exp2) / factor.multiple * factor.divisor / std::pow(10.0, factor.exp10);
}

/// How long a text reads: below one and long integers read worse than their length.
std::size_t awkwardness(double in_this_unit, const std::string& text) {
  const double magnitude = std::abs(in_this_unit);
  const bool awkward = magnitude != 0 && (magnitude < 1 || magnitude >= 1e5);
  return text.size() + (awkward ? 4U : 0U);
}

/// The shortest of the texts over all units that `reads_back` accepts; a text that is no quantity is not accepted.
template <class ReadsBack>
std::string shortest(const DimensionInfo& info, double value, std::string fallback, const ReadsBack& reads_back) {
  std::string best;
  std::size_t best_length = std::numeric_limits<std::size_t>::max();
  const auto accepts = [&](const std::string& text) {
    try {
      return reads_back(text);
    } catch (const UnitError&) {
      return false;  // 17 digits of a whole number may not be whole in another unit
    }
  };
  for (const Unit& unit : info.units) {
    if (!unit.shown) continue;
    const double number = in_unit(value, unit.factor);
    // Division may miss the short decimal by a rounding: 17 and 15 digits are both worth a try.
    std::string tried;
    for (const char* form : {"{}", "{:.15g}"}) {
      if (!tried.empty() && number == std::floor(number) && std::abs(number) < 1e15) break;  // both are alike
      const std::string digits = fmt::format(fmt::runtime(form), number);
      if (digits == tried) break;
      tried = digits;
      const std::string text = print(unit, digits);
      const std::size_t length = awkwardness(number, text);
      const bool better = length < best_length || (length == best_length && std::abs(number) >= 1 && value != 0);
      if (better && accepts(text)) {
        best = text;
        best_length = length;
      }
    }
  }
  return best.empty() ? std::move(fallback) : best;
}

void require_finite(double value) {
  if (!std::isfinite(value)) throw UnitError("an infinite or undefined quantity cannot be written");
}

}  // namespace

bool is_integral(Dimension dimension) {
  return dimension_info(dimension).integral;
}
std::string_view dimension_name(Dimension dimension) {
  return dimension_info(dimension).name;
}
std::string_view dimension_example(Dimension dimension) {
  return dimension_info(dimension).example;
}

UsualSize usual_size(Dimension dimension) {
  return dimension_info(dimension).usual;
}

std::vector<std::string_view> dimension_units(Dimension dimension) {
  std::vector<std::string_view> units;
  for (const Unit& unit : dimension_info(dimension).units) units.push_back(unit.text);
  return units;
}

std::int64_t parse_integral(Dimension dimension, std::string_view text) {
  const Parsed parsed = parse(dimension, text);
  const auto whole = to_integer(parsed.number, parsed.factor);
  if (!whole) throw UnitError(fmt::format("\"{}\" is too large or has too many digits", clipped(text)));
  const bool may_round = dimension == Dimension::bytes && !parsed.own_unit && whole->value != 0;
  if (!whole->exact && !may_round) {
    const std::string_view thing = dimension == Dimension::bytes    ? "bytes"
                                   : dimension == Dimension::tokens ? "tokens"
                                                                    : "units";
    if (dimension == Dimension::integer)
      throw UnitError(fmt::format("expected a whole number, found \"{}\"", clipped(text)));
    throw UnitError(fmt::format("expected a whole number of {}, found \"{}\"", thing, clipped(text)));
  }
  return whole->value;
}

double parse_real(Dimension dimension, std::string_view text) {
  return is_integral(dimension) ? static_cast<double>(parse_integral(dimension, text))
                                : parse_as_double(dimension, text);
}

std::string_view subject_of_rate(std::string_view text) {
  if (text.find("req") != std::string_view::npos) return "requests";
  return text.find("sessions") != std::string_view::npos ? "sessions" : "";
}

std::string canonical_integral(Dimension dimension, std::int64_t value) {
  const DimensionInfo& info = dimension_info(dimension);
  const std::string digits = std::to_string(value);
  return info.units.empty() ? digits : print(info.units.front(), digits);
}

std::string canonical_real(Dimension dimension, double value) {
  require_finite(value);
  const DimensionInfo& info = dimension_info(dimension);
  const std::string digits = fmt::format("{}", value == 0 ? 0.0 : value);  // no negative zero
  return info.units.empty() ? digits : print(info.units.front(), digits);
}

std::string format_integral(Dimension dimension, std::int64_t value) {
  const DimensionInfo& info = dimension_info(dimension);
  if (dimension == Dimension::tokens && value == 1) return "1 token";
  return shortest(info, static_cast<double>(value), canonical_integral(dimension, value),
                  [&](const std::string& text) { return parse_integral(dimension, text) == value; });
}

std::string format_real(Dimension dimension, double value) {
  const DimensionInfo& info = dimension_info(dimension);
  return shortest(info, value, canonical_real(dimension, value),
                  [&](const std::string& text) { return parse_real(dimension, text) == value; });
}

std::string round_quantity(Dimension dimension, double value, int digits) {
  const DimensionInfo& info = dimension_info(dimension);
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (info.units.empty()) return fmt::format("{:.{}g}", value, digits);
  const Unit* best = &info.units.front();
  double best_size = 0;
  for (const Unit& unit : info.units) {
    const bool decimal_prefix = unit.factor.exp2 == 0;
    if (!unit.shown || !decimal_prefix || value == 0) continue;
    // The largest unit in which the number does not drop below one; the smallest unit where all do.
    const double size = std::abs(in_unit(1.0, unit.factor));
    const double number = std::abs(value) * size;
    const double best_number = std::abs(value) * best_size;
    const bool first = best_size == 0;
    const bool better =
        number >= 1 ? (best_number < 1 || number < best_number) : (best_number < 1 && number > best_number);
    if (first || better) {
      best = &unit;
      best_size = size;
    }
  }
  const double number = in_unit(value, best->factor);
  const bool large = std::abs(number) >= std::pow(10.0, digits);
  return print(*best, large ? fmt::format("{:.0f}", number) : fmt::format("{:.{}g}", number, digits));
}

}  // namespace kvsim::schema
