// Finds what a misspelt word was meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace kvsim::schema {

/// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps of
/// neighbours; a difference in case alone counts one for the whole word.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// The candidate nearest to `word` if it is near enough to be meant (a third of the word, at least one edit; ties: the
/// first), else empty.
std::string nearest(std::string_view word, std::span<const std::string> candidates);

/// `; did you mean "x"?` where something is near, else `; expected one of a, b, c`: the end of a message.
std::string suggest(std::string_view word, std::span<const std::string> candidates);

/// "a gpu", "an engine".
std::string with_article(std::string_view noun);

}  // namespace kvsim::schema
