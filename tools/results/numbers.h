// Numbers as people read them: few digits, thousands apart, with units; and what figures of documents say of
// themselves: what they are counted in, which direction is better, a sentence.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvsim::results {

/// Appends what the list does not hold yet.
template <class T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

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
/// Counted things with their number: "1 point", "2,400 points". `one` takes an s.
std::string counted(std::integral auto count, std::string_view one) {
  return whole(count) + " " + std::string(one) + (count == 1 ? "" : "s");
}

/// Four significant digits, thousands apart: "1,235", "12.35", "0.1235"; "-" where it is not finite.
std::string figure(double value);
/// "12.3 %"; "-" where it is not finite.
std::string percent(double share);
/// "+12.3 %"; "0.0 %" of what rounds to nothing, "-" where it is not finite.
std::string signed_percent(double share);
/// "17.2 ms", "3.35 GB"; "-" where it is not finite.
std::string seconds(double value);
std::string bytes(double value);
/// Bytes of a number of decimal GB.
std::string bytes_of_gb(double gigabytes);
/// Unit that the figures of a column are counted in, so that they compare at a glance.
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

/// How near outputs are to those of full-KV decoding: "lossless", the mean task score relative to theirs ("0.985"), the
/// divergence in nats a request where no score is known ("KL 25.8"), or "lossy".
std::string fidelity_text(bool lossless, double score, double nats);

/// "$12.30"; "-" for none.
std::string dollars(double usd);
std::string dollars(const std::optional<double>& usd);

/// "1.52x"; "-" where it is not finite.
std::string factor(double value);
/// "± " and the number; empty where there is no interval.
std::string plus_minus(double half_width, std::string (*print)(double) = figure);

enum class Better : std::uint8_t { neither, less, more };

inline constexpr Better kHigher = Better::more, kLower = Better::less, kNeither = Better::neither;

/// "higher", "lower" or "neither".
std::string_view word_of(Better better);

/// Unit that a figure is counted in, and how it is printed.
struct Unit {
  std::string_view name;
  std::string (*print)(double);  ///< null: no number, so that it is neither listed nor ranked
};

inline constexpr Unit kText{"text", nullptr};
inline constexpr Unit kTruth{"true or false", nullptr};
inline constexpr Unit kAny{"value", nullptr};  ///< of a key of the scenario
inline constexpr Unit kResult{"result of kvsim run", nullptr};
inline constexpr Unit kObject{"object", nullptr};  ///< with keys of its own: what was configured, series over time
extern const Unit kCount, kTokens, kRequests, kRequestsOrWord, kSeconds, kBytes, kGigabytes, kShare, kSharePerGb,
    kPlain, kFactor, kTokensPerS, kRequestsPerS, kBytesPerS, kPerS, kNats, kDollars, kDollarsPerHour, kJoulesPerToken;

struct Meaning {
  Unit unit = kObject;
  Better better = Better::neither;
  std::string sentence;

  Meaning(Unit counted_in, std::string says) : unit(counted_in), sentence(std::move(says)) {}
  Meaning(Unit counted_in, Better direction, std::string says)
      : unit(counted_in), better(direction), sentence(std::move(says)) {}
};

/// A key of a document, as it is listed and as its schema has it.
struct Key {
  /// From the document or the row down, steps parted by dots; "[]" behind a step: each item of a list; "*": a name.
  std::string path;
  Meaning meaning;
  bool optional = false;   ///< left out where there is no value
  std::string there = {};  ///< when it is there, in words; empty: see `optional`
};

using KeyList = std::vector<Key>;

}  // namespace kvsim::results
