// Tokens of one tokenizer that hold the characters of another's (SpecCache, alignment).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace kvsim::models {

/// Characters [begin, end) of the text that a token stands for. Tokens without any (begin == end, as of "beginning of
/// text") select nothing and are never selected. Tokens that are parts of one character, as byte-level tokenizers make
/// them of rare ones, all have the range of that character.
struct CharacterRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  friend bool operator==(const CharacterRange&, const CharacterRange&) = default;
};

/// What is wrong with ranges and what was expected, empty if nothing is: one ends before it begins, begins before its
/// predecessor does, or overlaps an earlier one without both being the same single character.
[[nodiscard]] std::string problem_with_offsets(std::span<const CharacterRange> offsets);

/// Throws schema::InputError with problem_with_offsets(offsets). `whose` names them in the message.
void check_offsets(std::span<const CharacterRange> offsets, const char* whose);

/// The tokens of `to` that share a character with a selected token of `from`, ascending. `selected`: indices into
/// `from`, ascending. Linear in all of them. Preconditions: check_offsets of both. Throws schema::InputError for a
/// selected token that is not in `from`, or out of order.
[[nodiscard]] std::vector<std::uint32_t> aligned_tokens(std::span<const std::uint32_t> selected,
                                                        std::span<const CharacterRange> from,
                                                        std::span<const CharacterRange> to);

}  // namespace kvsim::models
