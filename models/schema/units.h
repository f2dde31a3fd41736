// Quantities with units, as users write them: "80 GiB", "64 GB/s", "25 ms", "32k tokens", and back; and the factors
// between the units of files and prints and those of the code, seconds and bytes.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace kvsim {

inline constexpr double kNanosecond = 1e-9;  ///< in seconds, as the two below
inline constexpr double kMicrosecond = 1e-6;
inline constexpr double kMillisecond = 1e-3;
inline constexpr double kNsPerSecond = 1e9;
inline constexpr double kMB = 1e6;  ///< in bytes, as the one below
inline constexpr double kGB = 1e9;

}  // namespace kvsim

namespace kvsim::schema {

/// What a quantity measures, and the unit of its value in the program.
enum class Dimension {
  number,         ///< dimensionless: a bare number (keep ratio 0.2)
  integer,        ///< dimensionless and whole: 25, also 1e6
  bytes,          ///< whole bytes; B, kB = 1000 B ... PB, KiB = 1024 B ... PiB
  bandwidth,      ///< bytes per second; GB/s, GiB/s ..., and bits: Gb/s = 125 MB/s
  time,           ///< seconds; ns, us, ms, s, min, h
  tokens,         ///< whole tokens; k = 1000, Ki = 1024, M, Mi: 32k tokens
  compute,        ///< FLOP/s; kFLOP/s ... PFLOP/s
  rate,           ///< events per second; 0.5/s, 10 req/s, 30/min
  price,          ///< USD per hour: 2.5 USD/h
  storage_price,  ///< USD per decimal GB and month: 3 USD/GB-month
  power           ///< watts; W, kW: 700 W
};

/// Why a text is not the quantity asked for; what() says what was found and what was expected, without a position.
class UnitError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

/// bytes, tokens and integer hold std::int64_t, the others double.
[[nodiscard]] bool is_integral(Dimension dimension);

/// "a size in bytes", "a bandwidth", ...: what messages and documentation call it.
[[nodiscard]] std::string_view dimension_name(Dimension dimension);
/// "80 GiB", "64 GB/s", ...
[[nodiscard]] std::string_view dimension_example(Dimension dimension);
/// Sizes that a quantity other than 0 may have, in the dimension's unit: far beyond all that is built, and so that
/// sums and products of a scenario's figures stay within the types that hold them.
struct UsualSize {
  double least = 0;
  double most = 0;
};
[[nodiscard]] UsualSize usual_size(Dimension dimension);
/// Every accepted unit as written; empty for number and integer.
[[nodiscard]] std::vector<std::string_view> dimension_units(Dimension dimension);

/// The value of `text` in the dimension's unit. Case matters (GB is bytes, Gb bits); a bare number where a unit is
/// needed, a unit of another dimension, infinities, NaN, hexadecimal and leading zeros are UnitErrors. Bytes with a
/// prefix are rounded to whole bytes (79.6 GiB); tokens and integers must come out whole.
std::int64_t parse_integral(Dimension dimension, std::string_view text);
double parse_real(Dimension dimension, std::string_view text);

inline std::int64_t parse_bytes(std::string_view text) {
  return parse_integral(Dimension::bytes, text);
}
inline std::int64_t parse_tokens(std::string_view text) {
  return parse_integral(Dimension::tokens, text);
}
inline std::int64_t parse_integer(std::string_view text) {
  return parse_integral(Dimension::integer, text);
}
inline double parse_bandwidth(std::string_view text) {
  return parse_real(Dimension::bandwidth, text);
}
inline double parse_time(std::string_view text) {
  return parse_real(Dimension::time, text);
}
inline double parse_rate(std::string_view text) {
  return parse_real(Dimension::rate, text);
}
/// A rate that can be parsed says of what it is: "requests" ("4 req/s", "4 requests/min") or "sessions"; empty where it
/// does not ("4/s").
std::string_view subject_of_rate(std::string_view text);

inline double parse_number(std::string_view text) {
  return parse_real(Dimension::number, text);
}

/// The shortest text that parses back to exactly this value, in the unit that suits it: 85899345920 is "80 GiB".
std::string format_integral(Dimension dimension, std::int64_t value);
std::string format_real(Dimension dimension, double value);

inline std::string format_bytes(std::int64_t value) {
  return format_integral(Dimension::bytes, value);
}
inline std::string format_bandwidth(double value) {
  return format_real(Dimension::bandwidth, value);
}
inline std::string format_time(double value) {
  return format_real(Dimension::time, value);
}

/// The same in the dimension's own unit, for machines: "85899345920 B", "0.025 s".
std::string canonical_integral(Dimension dimension, std::int64_t value);
std::string canonical_real(Dimension dimension, double value);

/// For people, rounded to `digits` significant digits: "3.35 TB/s", "17.2 ms". Infinities and NaN print as such.
std::string round_quantity(Dimension dimension, double value, int digits = 3);

}  // namespace kvsim::schema
