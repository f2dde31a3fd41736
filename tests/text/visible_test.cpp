// Names from files: what would drive a terminal or turn the order of letters is replaced, the rest is kept.
#include "tools/text/visible.h"

#include <gtest/gtest.h>

namespace kvsim::text::KVSIM_FILE {
namespace {

constexpr const char* kReplaced = "\xEF\xBF\xBD";

/// What a character between two letters becomes.
std::string between(const std::string& character) {
  const std::string shown = visible("a" + character + "b");
  if (!shown.starts_with('a') || !shown.ends_with('b')) return "not between: " + shown;
  return shown.substr(1, shown.size() - 2);
}

TEST(Visible, AnEscapeSequenceNoLongerBeginsWithEscape) {
  EXPECT_EQ(visible("\x1B[31mred\x1B[0m"), std::string(kReplaced) + "[31mred" + kReplaced + "[0m");
}

TEST(Visible, ATitleForTheTerminalsWindowIsText) {
  // OSC 0; title BEL
  EXPECT_EQ(visible("\x1B]0;title\x07"), std::string(kReplaced) + "]0;title" + kReplaced);
}

TEST(Visible, AllOfC0IsReplacedButLineFeedsAndTabs) {
  for (char c = 0; c < 0x20; ++c) {
    const bool kept = c == '\n' || c == '\t';
    EXPECT_EQ(between(std::string(1, c)), kept ? std::string(1, c) : kReplaced) << static_cast<int>(c);
  }
  EXPECT_EQ(between(" "), " ");
}

TEST(Visible, DelIsReplacedAndItsNeighbourIsNot) {
  EXPECT_EQ(between("\x7F"), kReplaced);
  EXPECT_EQ(between("~"), "~");
}

TEST(Visible, C1AsUtf8IsReplacedAsAWhole) {
  EXPECT_EQ(between("\xC2\x80"), kReplaced);
  EXPECT_EQ(between("\xC2\x9B"), kReplaced);  // CSI in one character
  EXPECT_EQ(between("\xC2\x9F"), kReplaced);
  EXPECT_EQ(between("\u00A0"), "\u00A0");
  EXPECT_EQ(between("\u00E9"), "\u00E9");
}

TEST(Visible, OverridesOfTheDirectionAreReplaced) {
  for (const char* c : {"\u202A", "\u202B", "\u202C", "\u202D", "\u202E"}) EXPECT_EQ(between(c), kReplaced);
  EXPECT_EQ(between("\u2029"), "\u2029");
  EXPECT_EQ(between("\u202F"), "\u202F");
}

TEST(Visible, IsolatesOfTheDirectionAreReplaced) {
  for (const char* c : {"\u2066", "\u2067", "\u2068", "\u2069"}) EXPECT_EQ(between(c), kReplaced);
  EXPECT_EQ(between("\u2065"), "\u2065");
  EXPECT_EQ(between("\u206A"), "\u206A");
}

TEST(Visible, LettersOfAnyScriptAndEmojiAreKept) {
  for (const char* text : {"", "Llama-3.1-70B, 2 x H100", "caf\u00E9 \u2013 \u00B1 5 %", "\u65E5\u672C\u8A9E",
                           "\u0627\u0644\u0639\u0631\u0628\u064A\u0629", "\U0001F525 fire"}) {
    EXPECT_EQ(visible(text), text);
  }
}

TEST(Visible, ACharacterCutShortIsNoReasonToReadOn) {
  EXPECT_EQ(visible("a\xC2"), "a\xC2");
  EXPECT_EQ(visible("a\xE2\x80"), "a\xE2\x80");
  EXPECT_EQ(visible("\xE2"), "\xE2");
}

}  // namespace
}  // namespace kvsim::text::KVSIM_FILE
