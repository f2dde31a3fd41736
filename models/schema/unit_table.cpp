#include "models/schema/unit_table.h"

#include <algorithm>
#include <array>

namespace kvsim::schema {
namespace {

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
                                 attached(binary("Mi tokens", 20))};

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
                                per_spaced("requests/h", 3600)};

constexpr std::array price_units{decimal("USD/h", 0)};
constexpr std::array storage_price_units{decimal("USD/GB-month", 0)};
constexpr std::array power_units{decimal("W", 0), decimal("kW", 3)};

// In the order of enum Dimension.
constexpr std::array<DimensionInfo, 11> dimensions{{{"a number", "0.2", false, {}},
                                                    {"a whole number", "25", true, {}},
                                                    {"a size in bytes", "80 GiB", true, byte_units},
                                                    {"a bandwidth", "64 GB/s", false, bandwidth_units},
                                                    {"a time", "25 ms", false, time_units},
                                                    {"a number of tokens", "32k tokens", true, token_units},
                                                    {"a compute rate", "312 TFLOP/s", false, compute_units},
                                                    {"a rate", "0.5/s", false, rate_units},
                                                    {"a price", "2.5 USD/h", false, price_units},
                                                    {"a price of memory", "3 USD/GB-month", false, storage_price_units},
                                                    {"a power", "700 W", false, power_units}}};

}  // namespace

const DimensionInfo& dimension_info(Dimension dimension) {
  return dimensions.at(static_cast<std::size_t>(dimension));
}

const DimensionInfo* dimension_of_unit(std::string_view unit) {
  const auto has_unit = [&](const DimensionInfo& info) {
    return std::any_of(info.units.begin(), info.units.end(), [&](const Unit& u) { return u.text == unit; });
  };
  const auto found = std::find_if(dimensions.begin(), dimensions.end(), has_unit);
  return found == dimensions.end() ? nullptr : &*found;
}

}  // namespace kvsim::schema
