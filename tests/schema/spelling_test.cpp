#include "models/schema/spelling.h"

#include <vector>

#include <gtest/gtest.h>

namespace kvsim::schema::KVSIM_FILE {
namespace {

using Words = std::vector<std::string>;

const Words keys{"memory", "memory_bandwidth", "read", "write"};

TEST(Spelling, ASwapOfNeighboursIsOneEdit) {
  EXPECT_EQ(edit_distance("wirte", "write"), 1U);
  EXPECT_EQ(edit_distance("memory", "memory"), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(Spelling, CaseAndHyphensCountOnce) {
  EXPECT_EQ(edit_distance("READ", "read"), 1U);
  EXPECT_EQ(edit_distance("memory-bandwidth", "memory_bandwidth"), 1U);
}

TEST(Spelling, FindsTheNearestAndNothingFarAway) {
  EXPECT_EQ(nearest("memroy", keys), Words{"memory"});
  EXPECT_EQ(nearest("Memory-Bandwidth", keys), Words{"memory_bandwidth"});
  EXPECT_EQ(nearest("colour", keys), Words{});
  EXPECT_EQ(nearest("x", keys), Words{});
  EXPECT_EQ(nearest(std::string(100'000, 'x'), keys), Words{});
}

TEST(Spelling, DifferencesOfCaseAndHyphensAloneComeFirst) {
  EXPECT_EQ(nearest("H200", Words{"b200", "h200", "h200-nvl"}), Words{"h200"});
  EXPECT_EQ(nearest("draft-verify", Words{"draft_verify", "draft_verify+drafter"}), Words{"draft_verify"});
}

TEST(Spelling, TheOwnerInFrontOfAModelDoesNotCount) {
  EXPECT_EQ(nearest("Qwen/Qwen3-32B", Words{"qwen3-30b-a3b", "qwen3-32b"}), Words{"qwen3-32b"});
}

// Last before, first after; those that end alike behind the version come first.
TEST(Spelling, AnotherVersionOfAFamilyIsTheLastOneBefore) {
  const Words models{"deepseek-v3", "deepseek-v3.2", "gpt-oss-120b", "llama-3-8b", "llama-3.1-70b", "llama-3.1-8b"};
  const auto nearest_version = [&models](std::string_view word) {
    const auto other = other_version(word, models);
    return other ? other->asked + " " + other->nearest : "";
  };
  EXPECT_EQ(nearest_version("deepseek-v4"), "deepseek-v4 deepseek-v3.2");
  EXPECT_EQ(nearest_version("deepseek-ai/DeepSeek-V4-Flash"), "deepseek-v4 deepseek-v3.2");
  EXPECT_EQ(nearest_version("deepseek-v3.1"), "deepseek-v3.1 deepseek-v3");
  EXPECT_EQ(nearest_version("deepseek-v2"), "deepseek-v2 deepseek-v3");
  EXPECT_EQ(nearest_version("llama-5-8b"), "llama-5 llama-3.1-8b");
  EXPECT_EQ(nearest_version("llama-3.1-405b"), "") << "entries of this version are there";
  EXPECT_EQ(nearest_version("gpt-5"), "") << "gpt-oss has no version";
  EXPECT_EQ(nearest_version("phi-4"), "");
  EXPECT_EQ(nearest_version("deepseek-v99999999999999999999"), "");
}

TEST(Spelling, CaseDoesNotCountAmongMistakes) {
  EXPECT_EQ(nearest("GPT-OS-120B", Words{"gpt-oss-120b", "gpt-oss-20b"}), Words{"gpt-oss-120b"});
}

TEST(Spelling, ASharePerCentIsDividedByAHundred) {
  EXPECT_EQ(meant_share(95), "; did you mean 0.95?");
  EXPECT_EQ(meant_share(0.95), "");
  EXPECT_EQ(meant_share(1.5), "");
  EXPECT_EQ(meant_share(101), "");
}

TEST(Spelling, ANameWithMoreBehindItIsThatName) {
  EXPECT_EQ(nearest("qwen3-32b-fp8", Words{"qwen3-30b-a3b", "qwen3", "qwen3-32b"}), Words{"qwen3-32b"});
}

// "a100" is one edit away from "h100", which nobody means who writes the beginning of two others.
TEST(Spelling, NamesThatTheWordBeginsComeBeforeNearerOnes) {
  const Words gpus{"a100", "h100-nvl", "h100-sxm", "h200"};
  EXPECT_EQ(nearest("h100", gpus), (Words{"h100-nvl", "h100-sxm"}));
  EXPECT_EQ(nearest("H100_", gpus), (Words{"h100-nvl", "h100-sxm"}));
  EXPECT_EQ(nearest("h10", gpus), (Words{"h100-nvl", "h100-sxm"}));
  EXPECT_EQ(nearest("h1", gpus), Words{}) << "two letters begin too much";
  EXPECT_EQ(suggest("h100", gpus), "; did you mean \"h100-nvl\" or \"h100-sxm\"?");
}

TEST(Spelling, AsksAfterThreeAtMost) {
  EXPECT_EQ(did_you_mean({}), "");
  EXPECT_EQ(did_you_mean({"a"}), "did you mean \"a\"?");
  EXPECT_EQ(did_you_mean({"a", "b", "c"}), "did you mean \"a\", \"b\" or \"c\"?");
  EXPECT_EQ(did_you_mean({"a", "b", "c", "d", "e"}), "did you mean \"a\", \"b\", \"c\" or 2 more?");
}

TEST(Spelling, SuggestsOrLists) {
  EXPECT_EQ(suggest("raed", keys), "; did you mean \"read\"?");
  EXPECT_EQ(suggest("colour", keys), "; expected one of memory, memory_bandwidth, read, write");
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
