// What a figure says, whichever document it is in: what it is counted in and how that is printed, which direction is
// better, a sentence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvsim::results {

enum class Better : std::uint8_t { neither, less, more };

inline constexpr Better kHigher = Better::more, kLower = Better::less, kNeither = Better::neither;

/// "higher", "lower" or "neither".
std::string_view word_of(Better better);

/// What a figure is counted in, and how it is printed.
struct Unit {
  std::string_view name;
  std::string (*print)(double);  ///< null: no number, so that it is neither listed nor ranked
};

inline constexpr Unit kText{"text", nullptr};
inline constexpr Unit kTruth{"true or false", nullptr};
inline constexpr Unit kAny{"value", nullptr};  ///< of a key of the scenario
inline constexpr Unit kResult{"result of kvsim run", nullptr};
inline constexpr Unit kObject{"object", nullptr};  ///< with keys of its own: what was configured, series over time
extern const Unit kCount, kTokens, kRequests, kRequestsOrWord, kSeconds, kBytes, kGigabytes, kShare, kPlain, kFactor,
    kTokensPerS, kRequestsPerS, kBytesPerS, kPerS, kNats, kDollars, kDollarsPerHour, kJoulesPerToken;

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
