#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "models/reuse/importance_signal.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using Tokens = std::vector<std::uint32_t>;
using Ranges = std::vector<CharacterRange>;

/// Tokens of 1 to 4 characters, parts of one character, tokens of none, and characters of no token.
Ranges any_offsets() {
  Ranges offsets;
  std::uint32_t at = 0;
  for (const int kind : *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 10))) {
    const auto length = static_cast<std::uint32_t>(kind % 4 + 1);
    if (kind == 9) {
      offsets.push_back({at, at});
      continue;
    }
    if (kind == 8) at += 2;
    const std::size_t parts = kind < 2 ? static_cast<std::size_t>(kind) + 2 : 1;
    offsets.insert(offsets.end(), parts, {at, at + (parts > 1 ? 1 : length)});
    at = offsets.back().end;
  }
  return offsets;
}

Tokens any_selection(std::size_t tokens) {
  Tokens selected;
  for (std::uint32_t i = 0; i < tokens; ++i) {
    if (*rc::gen::inRange(0, 3) == 0) selected.push_back(i);
  }
  return selected;
}

bool share_a_character(CharacterRange a, CharacterRange b) {
  return std::max(a.begin, b.begin) < std::min(a.end, b.end);
}

TEST(TokenAlignmentProperty, SelectsExactlyTheTokensThatShareACharacter) {
  EXPECT_TRUE(rc::check([] {
    const Ranges from = any_offsets(), to = any_offsets();
    const Tokens selected = any_selection(from.size());
    Tokens expected;
    for (std::uint32_t i = 0; i < to.size(); ++i) {
      const bool shared = std::any_of(selected.begin(), selected.end(),
                                      [&](std::uint32_t token) { return share_a_character(from[token], to[i]); });
      if (shared) expected.push_back(i);
    }
    check_offsets(from, "from");
    check_offsets(to, "to");
    RC_ASSERT(aligned_tokens(selected, from, to) == expected);
  }));
}

std::vector<bool> characters_of(const Tokens& tokens, const Ranges& offsets, std::size_t text) {
  std::vector<bool> covered(text);
  for (const std::uint32_t token : tokens) {
    for (std::uint32_t c = offsets[token].begin; c < offsets[token].end; ++c) covered[c] = true;
  }
  return covered;
}

Tokens all_of(const Ranges& offsets) {
  Tokens tokens;
  for (std::uint32_t i = 0; i < offsets.size(); ++i) tokens.push_back(i);
  return tokens;
}

TEST(TokenAlignmentProperty, CoversEverySelectedCharacterThatAnyTokenCovers) {
  EXPECT_TRUE(rc::check([] {
    const Ranges from = any_offsets(), to = any_offsets();
    const Tokens selected = any_selection(from.size());
    const std::size_t text = std::max(from.empty() ? 0U : from.back().end, to.empty() ? 0U : to.back().end);
    const auto wanted = characters_of(selected, from, text);
    const auto reachable = characters_of(all_of(to), to, text);
    const auto covered = characters_of(aligned_tokens(selected, from, to), to, text);
    for (std::size_t c = 0; c < text; ++c) {
      if (wanted[c] && reachable[c]) RC_ASSERT(covered[c]);
    }
  }));
}

TEST(TokenAlignmentProperty, WithItselfIsTheSame) {
  EXPECT_TRUE(rc::check([] {
    Ranges offsets = any_offsets();
    offsets.erase(std::remove_if(offsets.begin(), offsets.end(), [](auto range) { return range.begin == range.end; }),
                  offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());  // no parts of characters
    const Tokens selected = any_selection(offsets.size());
    RC_ASSERT(aligned_tokens(selected, offsets, offsets) == selected);
  }));
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
