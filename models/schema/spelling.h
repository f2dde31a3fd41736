// Finds what a misspelt word was meant to be.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace kvsim::schema {

/// Damerau-Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps of
/// neighbours; a difference in case alone counts one for the whole word.
std::size_t edit_distance(std::string_view a, std::string_view b);

/// What may be meant by `word`: the candidates of which three or more letters are the beginning, "h100" of "h100-nvl"
/// and "h100-sxm", in their order; where there is none, the nearest if it is near enough (a third of the word, at least
/// one edit; ties: the first), else nothing.
std::vector<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// A name of a version that no candidate has, of a family that has others: "deepseek-v4" beside "deepseek-v3.2".
struct OtherVersion {
  std::string asked;    ///< the family and its version: "deepseek-v4" of "deepseek-ai/DeepSeek-V4-Flash"
  std::string nearest;  ///< the candidate of the last version before, else of the first one after
};

/// Nothing where `word` has no version (the first number behind three or more characters), a candidate has the same, or
/// no candidate is of the family. Candidates that end alike behind the version ("-32b") come before others.
std::optional<OtherVersion> other_version(std::string_view word, std::span<const std::string> candidates);

/// `did you mean "x"?`, `did you mean "x" or "y"?`; of more than three, three and how many others; of none, empty.
std::string did_you_mean(const std::vector<std::string>& near);

/// `; did you mean "x"?` where something is near, else `; expected one of a, b, c`: the end of a message.
std::string suggest(std::string_view word, std::span<const std::string> candidates);

/// "; did you mean 0.95?" where a share is written as the per cent that it is, 95; empty for other numbers.
std::string meant_share(double value);

/// "a gpu", "an engine".
std::string with_article(std::string_view noun);

}  // namespace kvsim::schema
