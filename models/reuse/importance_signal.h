// How important a small model holds the tokens of a prompt to be: generated, or read from a file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/workload/distributions.h"

namespace kvsim::models {

// Tokens of one tokenizer that hold the characters of another's (SpecCache, alignment).

/// Characters [begin, end) of the text that a token stands for. Tokens without any (begin == end, as of "beginning of
/// text") select nothing and are never selected. Tokens that are parts of one character, as byte-level tokenizers make
/// them of rare ones, all have the range of that character.
struct CharacterRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const CharacterRange&, const CharacterRange&) = default;
};

/// Problem with ranges and what was expected; empty: none. A range is wrong that ends before it begins, begins before
/// its predecessor does, or overlaps an earlier one without both being the same single character.
[[nodiscard]] std::string problem_with_offsets(std::span<const CharacterRange> offsets);

/// Throws schema::InputError with problem_with_offsets(offsets). `whose` names them in the message.
void check_offsets(std::span<const CharacterRange> offsets, const char* whose);

/// The tokens of `to` that share a character with a selected token of `from`, ascending. `selected`: indices into
/// `from`, ascending. Linear in all of them. Preconditions: check_offsets of both. Throws schema::InputError for a
/// selected token that is not in `from`, or out of order.
[[nodiscard]] std::vector<std::uint32_t> aligned_tokens(std::span<const std::uint32_t> selected,
                                                        std::span<const CharacterRange> from,
                                                        std::span<const CharacterRange> to);

/// Log-normal importances whose logarithms follow a first-order autoregression: neighbours are alike.
struct ImportanceShape {
  double correlation = 0.9;  ///< of the logarithms of neighbours, in [0, 1)
  double cv = 0.5;           ///< standard deviation / mean, > 0, at most 100
};

/// Generates so many importances with mean 1. Throws schema::InputError for a shape that is out of its range.
[[nodiscard]] std::vector<float> generated_importance(std::int64_t tokens, const ImportanceShape& shape,
                                                      RandomSource& random);

/// The tokens of a text of `characters` characters by a tokenizer whose tokens have this many in the mean (>= 1): 1 +
/// geometric, the last one cut to the end of the text. Throws schema::InputError for another mean, or a text of more
/// characters than a CharacterRange counts.
[[nodiscard]] std::vector<CharacterRange> generated_offsets(std::int64_t characters, double mean, RandomSource& random);

/// One prompt as a small model saw it, and as the model that answers cuts it up.
struct ScoredPrompt {
  std::vector<float> importance;        ///< by token of the small model; >= 0
  std::vector<CharacterRange> offsets;  ///< of these; empty: both models have the same tokens
  std::vector<CharacterRange> target;   ///< of the tokens of the model that answers; empty where offsets are

  /// Tokens of the model that answers.
  [[nodiscard]] std::int64_t target_tokens() const {
    return static_cast<std::int64_t>(offsets.empty() ? importance.size() : target.size());
  }
};

/// Prompts from a file, one JSON object a line:
///   {"importance": [0.2, 1.4, ...], "offsets": [[0, 3], [3, 7], ...], "target_offsets": [[0, 7], ...]}
/// with both kinds of offsets or neither. Throws schema::InputError with file and line: no such file, no prompt, no
/// JSON, an unknown or missing key, a negative importance, offsets of another length than the importances, offsets that
/// are not in order (check_offsets), an empty list.
[[nodiscard]] std::vector<ScoredPrompt> read_scored_prompts(const std::string& path);
/// Reads from memory; `name` stands for the file's in messages.
[[nodiscard]] std::vector<ScoredPrompt> scored_prompts_from_text(const std::string& name, std::string_view text);

}  // namespace kvsim::models
