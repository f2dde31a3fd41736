#include "models/reuse/importance_signal.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using Tokens = std::vector<std::uint32_t>;
using Ranges = std::vector<CharacterRange>;

Tokens aligned(const Tokens& selected, const Ranges& from, const Ranges& to) {
  return aligned_tokens(selected, from, to);
}

std::string failure(const Ranges& offsets) {
  return failure_of([&] { check_offsets(offsets, "offsets"); });
}

// "meet Zorvelan": one name, cut as meet| Zorvelan and as meet| Z|orv|elan.
TEST(AlignedTokens, ATokenThatIsSplitInThreeSelectsAllThree) {
  const Ranges whole{{0, 4}, {4, 13}}, split{{0, 4}, {4, 6}, {6, 9}, {9, 13}};
  EXPECT_EQ(aligned({1}, whole, split), (Tokens{1, 2, 3}));
  EXPECT_EQ(aligned({2}, split, whole), (Tokens{1}));
  EXPECT_EQ(aligned({1, 2, 3}, split, whole), (Tokens{1}));
}

// [2, 5) shares character 2 with [0, 3) and characters 3 and 4 with [3, 6).
TEST(AlignedTokens, AnyOverlapSelects) {
  EXPECT_EQ(aligned({1}, {{0, 2}, {2, 5}, {5, 6}}, {{0, 3}, {3, 6}}), (Tokens{0, 1}));
  EXPECT_EQ(aligned({1}, {{0, 3}, {3, 6}, {6, 9}}, {{0, 3}, {3, 6}, {6, 9}}), (Tokens{1}));
}

// "a€b": a byte-level tokenizer may make three tokens of the three bytes of €, all with its range [1, 2).
TEST(AlignedTokens, PartsOfACharacterStandForAllOfIt) {
  const Ranges bytes{{0, 1}, {1, 2}, {1, 2}, {1, 2}, {2, 3}}, characters{{0, 1}, {1, 2}, {2, 3}};
  EXPECT_EQ(aligned({2}, bytes, characters), (Tokens{1}));
  EXPECT_EQ(aligned({1, 3}, bytes, characters), (Tokens{1}));
  EXPECT_EQ(aligned({1}, characters, bytes), (Tokens{1, 2, 3}));
  EXPECT_EQ(aligned({2}, bytes, bytes), (Tokens{1, 2, 3}));
  EXPECT_EQ(aligned({1}, characters, {{0, 3}}), (Tokens{0}));
}

// Token 0 is the beginning of the text, token 2 stands for nothing in the middle of it.
TEST(AlignedTokens, TokensWithoutCharactersNeitherSelectNorAreSelected) {
  const Ranges marked{{0, 0}, {0, 2}, {2, 2}, {2, 4}}, plain{{0, 4}};
  EXPECT_TRUE(aligned({0, 2}, marked, plain).empty());
  EXPECT_EQ(aligned({0}, plain, marked), (Tokens{1, 3}));
  EXPECT_EQ(aligned({0, 1, 2, 3}, marked, marked), (Tokens{1, 3}));
}

// Blanks 2 and 5 belong to no token.
TEST(AlignedTokens, CharactersOfNoTokenSelectNothing) {
  const Ranges words{{0, 2}, {3, 5}, {6, 8}};
  EXPECT_TRUE(aligned({0}, {{2, 3}, {5, 6}}, words).empty());
  EXPECT_EQ(aligned({0, 1}, {{2, 3}, {5, 7}}, words), (Tokens{2}));
  EXPECT_EQ(aligned({1}, words, {{0, 4}, {4, 8}}), (Tokens{0, 1}));
  EXPECT_TRUE(aligned({1}, {{0, 8}, {8, 10}}, words).empty());
}

TEST(AlignedTokens, NoneAndAll) {
  const Ranges from{{0, 3}, {3, 7}, {7, 8}}, to{{0, 1}, {1, 5}, {5, 8}};
  EXPECT_TRUE(aligned({}, from, to).empty());
  EXPECT_EQ(aligned({0, 1, 2}, from, to), (Tokens{0, 1, 2}));
  EXPECT_TRUE(aligned({0}, from, {}).empty());
  EXPECT_TRUE(aligned({}, {}, to).empty());
}

// Walking over all parts once for each part would be 4e10 steps, and never end.
TEST(AlignedTokens, TakesOneWalkOverBoth) {
  const Ranges parts(200'000, CharacterRange{5, 6});
  Tokens all(parts.size());
  std::iota(all.begin(), all.end(), 0U);
  EXPECT_EQ(aligned(all, parts, parts), all);
}

TEST(AlignedTokens, SaysWhatIsWrongWithASelection) {
  const Ranges two{{0, 1}, {1, 2}};
  EXPECT_EQ(failure_of([&] { (void)aligned({0, 2}, two, two); }), "token 2 is selected, expected one of 2 tokens");
  EXPECT_EQ(failure_of([&] {
              (void)aligned({1, 0}, two, two);
            }),
            "token 0 is selected after token 1, expected them in ascending order");
  EXPECT_EQ(failure_of([&] {
              (void)aligned({1, 1}, two, two);
            }),
            "token 1 is selected after token 1, expected them in ascending order");
}

TEST(CheckOffsets, TakesWhatTokenizersGive) {
  EXPECT_EQ(failure({}), "(done)");
  EXPECT_EQ(failure({{0, 0}, {0, 3}, {3, 3}, {3, 4}, {6, 7}}), "(done)");          // nothing, gaps
  EXPECT_EQ(failure({{0, 1}, {1, 2}, {1, 2}, {1, 1}, {1, 2}, {2, 3}}), "(done)");  // parts of a character
  EXPECT_EQ(failure({{0, 5}, {3, 3}, {5, 6}}), "(done)");                          // nothing amid a token
}

TEST(CheckOffsets, SaysWhatIsWrong) {
  const std::string shared = ", expected tokens that share no character, or are parts of the same one";
  EXPECT_EQ(failure({{0, 2}, {4, 3}}), "offsets: token 1 is [4, 3), expected an end that is not before the beginning");
  EXPECT_EQ(failure({{0, 2}, {2, 4}, {1, 2}}),
            "offsets: token 2 is [1, 2) and token 1 is [2, 4), expected tokens in the order of the text");
  EXPECT_EQ(failure({{0, 2}, {7, 7}, {2, 4}}),
            "offsets: token 2 is [2, 4) and token 1 is [7, 7), expected tokens in the order of the text");
  EXPECT_EQ(failure({{0, 3}, {2, 4}}), "offsets: token 1 is [2, 4) and token 0 is [0, 3)" + shared);
  EXPECT_EQ(failure({{0, 1}, {0, 2}}), "offsets: token 1 is [0, 2) and token 0 is [0, 1)" + shared);
  EXPECT_EQ(failure({{0, 2}, {0, 2}}), "offsets: token 1 is [0, 2) and token 0 is [0, 2)" + shared);
  EXPECT_EQ(failure({{0, 5}, {3, 3}, {4, 6}}), "offsets: token 2 is [4, 6) and token 0 is [0, 5)" + shared);
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
