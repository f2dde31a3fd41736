#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "models/reuse/importance_signal.h"
#include "models/workload/line_reader.h"
#include "tests/workload/test_support.h"

namespace kvsim::models::KVSIM_FILE {
namespace {

using Ranges = std::vector<CharacterRange>;

constexpr std::string_view kExpected =
    "JSON lines: importance and, where the models' tokens differ, offsets and target_offsets";
constexpr std::string_view kMalformed = "the line is not a complete JSON object, expected one prompt with importance";

/// The message with which a text is refused; "(read)" if it is not.
std::string refusal(std::string_view text) {
  try {
    (void)scored_prompts_from_text("f", text);
  } catch (const schema::InputError& e) {
    return e.what();
  }
  return "(read)";
}

TEST(ScoredPrompts, AreReadALineEach) {
  const auto prompts = scored_prompts_from_text("f",
                                                "{\"importance\": [0.5, 2, 1e-3, 0]}\n"
                                                "\n"
                                                "{\"target_offsets\": [[0, 7]], \"offsets\": [[0, 3], [3, 7]], "
                                                "\"importance\": [0.25, 1.5]}");
  ASSERT_EQ(prompts.size(), 2U);
  EXPECT_EQ(prompts[0].importance, (std::vector<float>{0.5F, 2, 1e-3F, 0}));
  EXPECT_TRUE(prompts[0].offsets.empty());
  EXPECT_TRUE(prompts[0].target.empty());
  EXPECT_EQ(prompts[1].importance, (std::vector<float>{0.25F, 1.5F}));
  EXPECT_EQ(prompts[1].offsets, (Ranges{{0, 3}, {3, 7}}));
  EXPECT_EQ(prompts[1].target, (Ranges{{0, 7}}));
}

struct Case {
  std::string text;
  std::string message;  ///< after "f:1:"
};

TEST(ScoredPrompts, SayWhatIsWrongAndWhere) {
  const std::string malformed(kMalformed);
  const std::string number = ", expected a finite number, 0 or more";
  const std::string character = ", expected a whole number, 0 to 4294967295";
  const std::string ends = ", expected the two ends of a range of characters";
  const std::vector<Case> cases{
      {"importance", "1: " + malformed},
      {"[1, 2]", "1: " + malformed},
      {"{\"importance\": [1, 2}", "21: " + malformed},
      {"{\"importance\": [1, 2]", "22: " + malformed},
      {"{\"importance\": [1 2]}", "19: " + malformed},
      {"{\"importance\" [1]}", "15: " + malformed},
      {"{\"importance\": [1]} {}", "21: there is more after the JSON object, expected one prompt a line"},
      {"{}", "1: importance is missing, expected " + std::string(kExpected)},
      {"{\"importance\": []}", "16: importance is empty, expected a number for every token"},
      {"{\"importance\": 3}", "16: importance is 3, expected a list of numbers, one a token"},
      {"{\"importance\": null}", "16: importance is null, expected a list of numbers, one a token"},
      {"{\"importance\": {\"a\": 1}}", "16: importance is an object, expected a list of numbers, one a token"},
      {"{\"importance\": [1, -2]}", "20: importance[1] is -2" + number},
      {"{\"importance\": [1, \"2\"]}", "20: importance[1] is \"2\"" + number},
      {"{\"importance\": [[1]]}", "17: importance[0] is a list" + number},
      {"{\"importance\": [NaN]}", "17: importance[0] is NaN" + number},
      {"{\"importance\": [Infinity]}", "17: importance[0] is Infinity" + number},
      {"{\"importance\": [1e999]}", "17: importance[0] is 1e999" + number},
      {"{\"importance\": [3.5e38]}", "17: importance[0] is 3.5e38" + number},
      {"{\"importance\": [null]}", "17: importance[0] is null" + number},
      {"{\"importence\": [1]}", "2: \"importence\" is no key of a prompt; did you mean \"importance\"?"},
      {"{\"importance\": [1], \"target_offset\": []}",
       "21: \"target_offset\" is no key of a prompt; did you mean \"target_offsets\"?"},
      {"{\"text\": 1}", "2: \"text\" is no key of a prompt; expected one of importance, offsets, target_offsets"},
      {"{\"importance\": [1], \"importance\": [1]}", "21: importance is there twice, expected it once"},
      {"{\"importance\": [1], \"offsets\": [[0, 1]]}",
       "32: offsets is there without target_offsets, expected both or neither"},
      {"{\"importance\": [1], \"target_offsets\": [[0, 1]]}",
       "39: target_offsets is there without offsets, expected both or neither"},
      {"{\"importance\": [1, 2], \"offsets\": [[0, 1]], \"target_offsets\": [[0, 1]]}",
       "16: scores of the wrong length: importance has 2 numbers, offsets has 1 ranges, expected one of each a token"},
      {"{\"importance\": [1], \"offsets\": [], \"target_offsets\": []}",
       "16: scores of the wrong length: importance has 1 numbers, offsets has 0 ranges, expected one of each a token"},
      {"{\"importance\": [1], \"offsets\": [[0, 1]], \"target_offsets\": []}",
       "60: target_offsets is empty, expected a range for every token"},
      {"{\"importance\": [1], \"offsets\": 5, \"target_offsets\": []}",
       "32: offsets is 5, expected a list of ranges of characters, one a token"},
      {"{\"importance\": [1], \"offsets\": [5]}", "33: offsets[0] is 5" + ends},
      {"{\"importance\": [1], \"offsets\": [[5]]}", "33: offsets[0] has 1 numbers" + ends},
      {"{\"importance\": [1], \"offsets\": [[]]}", "33: offsets[0] has 0 numbers" + ends},
      {"{\"importance\": [1], \"offsets\": [[0, 1], [1, 2, 3]]}", "41: offsets[1] has 3 numbers" + ends},
      {"{\"importance\": [1], \"offsets\": [[0, 1.5]]}", "37: a character of offsets[0] is 1.5" + character},
      {"{\"importance\": [1], \"offsets\": [[-1, 1]]}", "34: a character of offsets[0] is -1" + character},
      {"{\"importance\": [1], \"target_offsets\": [[0, 4294967296]]}",
       "44: a character of target_offsets[0] is 4294967296" + character},
      {"{\"importance\": [1], \"offsets\": [[3, 2]], \"target_offsets\": [[0, 1]]}",
       "32: offsets: token 0 is [3, 2), expected an end that is not before the beginning"},
      {"{\"importance\": [1], \"offsets\": [[0, 1]], \"target_offsets\": [[0, 2], [1, 3]]}",
       "60: target_offsets: token 1 is [1, 3) and token 0 is [0, 2), expected tokens that share no character, or are "
       "parts of the same one"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(refusal(c.text + "\n"), "f:1:" + c.message) << c.text;
    EXPECT_EQ(refusal("{\"importance\": [1]}\n\n" + c.text + "\n"), "f:3:" + c.message) << c.text;
  }
}

TEST(ScoredPrompts, MustBeThere) {
  EXPECT_EQ(refusal(""), "f: has no prompts, expected " + std::string(kExpected));
  EXPECT_EQ(refusal("\n \n"), "f: has no prompts, expected " + std::string(kExpected));
  EXPECT_EQ(failure_of([] { (void)read_scored_prompts("/no/such.jsonl"); }),
            "/no/such.jsonl: cannot be opened (No such file or directory), expected scored prompts (" +
                std::string(kExpected) + ")");
}

// 400,000 tokens are more than a line of a trace may have bytes.
TEST(ScoredPrompts, MayBeLong) {
  std::string text = "{\"importance\": [0";
  for (int i = 1; i < 400'000; ++i) text += ", 1.123456789";
  text += "]}\n";
  ASSERT_GT(text.size(), LineReader::max_line_bytes);
  const std::filesystem::path path = std::filesystem::path(::testing::TempDir()) / "kvsim_long_scored_prompt.jsonl";
  std::ofstream(path, std::ios::binary) << text;
  const auto prompts = read_scored_prompts(path.string());
  std::filesystem::remove(path);
  ASSERT_EQ(prompts.size(), 1U);
  EXPECT_EQ(prompts[0].importance.size(), 400'000U);
}

// Any bytes are either read or refused with a position; nothing else gets out.
TEST(ScoredPromptsProperty, AnyBytesAreReadOrRefused) {
  EXPECT_TRUE(rc::check([](const std::string& noise, unsigned cut, unsigned skipped) {
    const std::string valid =
        "{\"importance\": [0.2, 1.4], \"offsets\": [[0, 3], [3, 7]], \"target_offsets\": [[0, 7]]}\n";
    const std::size_t at = cut % valid.size();
    const std::size_t on = std::min<std::size_t>(at + skipped % 5, valid.size());
    const std::string message = refusal(valid + valid.substr(0, at) + noise + valid.substr(on));
    RC_ASSERT(message == "(read)" || message.substr(0, 2) == "f:");
  }));
}

}  // namespace
}  // namespace kvsim::models::KVSIM_FILE
