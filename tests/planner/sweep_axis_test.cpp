// --vary: which values a specification means, and what is refused.
#include <gtest/gtest.h>

#include "models/schema/error.h"
#include "planner/sweep/axis.h"

namespace kvsim::planner::sweep::KVSIM_FILE {
namespace {

using Words = std::vector<std::string>;

Words values(const std::string& spec) {
  return parse_axis("k=" + spec).axis.values;
}

std::string refusal(const std::string& assignment) {
  try {
    parse_axis(assignment);
  } catch (const schema::InputError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(SweepAxis, ThatReplacesTheKeyOfAnotherComesBeforeIt) {
  const Axis whole{"cluster.pools.remote.gpu", {"h200", "b200"}};
  const Axis part{"cluster.pools.remote.gpu.tensor_parallel", {"2", "4"}};
  EXPECT_NO_THROW(check_paths({whole, part}, {}));
  EXPECT_NO_THROW(check_paths({part, {"cluster.pools.remote.gpus", {"1"}}}, {}));
  EXPECT_THROW(check_paths({part, whole}, {}), schema::InputError) << "its values would be lost";
}

TEST(SweepAxis, ARangeIncludesBothEndsIfHit) {
  EXPECT_EQ(values("5:20:5"), (Words{"5", "10", "15", "20"}));
  EXPECT_EQ(values("5:19:5"), (Words{"5", "10", "15"}));
  EXPECT_EQ(values("20:5:-5"), (Words{"20", "15", "10", "5"}));
  EXPECT_EQ(values("7:7:1"), Words{"7"});
}

TEST(SweepAxis, DecimalsAreCountedAsDecimals) {
  // In binary 0.1 + 0.1 + 0.1 is 0.30000000000000004, and 0.5 would be missed.
  EXPECT_EQ(values("0.1:0.5:0.1"), (Words{"0.1", "0.2", "0.3", "0.4", "0.5"}));
  EXPECT_EQ(values("-0.5:0.5:0.5"), (Words{"-0.5", "0", "0.5"}));
  EXPECT_EQ(values("1:2:0.25"), (Words{"1", "1.25", "1.5", "1.75", "2"}));
  EXPECT_EQ(values("1e3:3e3:1e3"), (Words{"1000", "2000", "3000"}));
  EXPECT_EQ(values("0.001:0.003:0.001"), (Words{"0.001", "0.002", "0.003"}));
}

TEST(SweepAxis, UnitsStayAsWritten) {
  EXPECT_EQ(values("16k tokens:64k tokens:16k tokens"),
            (Words{"16k tokens", "32k tokens", "48k tokens", "64k tokens"}));
  EXPECT_EQ(values("32 GB/s:128 GB/s:32 GB/s"), (Words{"32 GB/s", "64 GB/s", "96 GB/s", "128 GB/s"}));
  EXPECT_EQ(values("0.5/s:1.5/s:0.5/s"), (Words{"0.5/s", "1/s", "1.5/s"}));
}

TEST(SweepAxis, DifferentUnitsMeetInOne) {
  EXPECT_EQ(values("512 tokens:2k tokens:744 tokens"), (Words{"512 tokens", "1256 tokens", "2k tokens"}));
  EXPECT_EQ(values("500 ms:2 s:500 ms"), (Words{"500 ms", "1 s", "1.5 s", "2 s"}));
  EXPECT_EQ(values("500 GB/s:1 TB/s:*2"), (Words{"500 GB/s", "1 TB/s"}));
}

TEST(SweepAxis, AFactorMakesAGeometricRange) {
  EXPECT_EQ(values("1:64:*2"), (Words{"1", "2", "4", "8", "16", "32", "64"}));
  EXPECT_EQ(values("0.1:0.9:*3"), (Words{"0.1", "0.3", "0.9"}));
  EXPECT_EQ(values("64:1:*0.25"), (Words{"64", "16", "4", "1"}));
  EXPECT_EQ(values("1 GB/s:100 GB/s:*10"), (Words{"1 GB/s", "10 GB/s", "100 GB/s"}));
}

TEST(SweepAxis, ListsHoldAnyYaml) {
  EXPECT_EQ(values("full_kv, draft_verify"), (Words{"full_kv", "draft_verify"}));
  EXPECT_EQ(values("8k tokens,{distribution: lognormal, mean: 8k tokens, cv: 0.5}"),
            (Words{"8k tokens", "{distribution: lognormal, mean: 8k tokens, cv: 0.5}"}));
  EXPECT_EQ(values("[1, 2],[3]"), (Words{"[1, 2]", "[3]"}));
  EXPECT_EQ(values("\"a, b\",'c, d'"), (Words{"\"a, b\"", "'c, d'"}));
  EXPECT_EQ(values("1:3:1,10"), (Words{"1", "2", "3", "10"}));
}

TEST(SweepAxis, TwoEndsWithoutAStepAreAnInterval) {
  const AxisSpec number = parse_axis("decode.keep_ratio=0.1:0.9");
  ASSERT_TRUE(number.interval);
  EXPECT_EQ(number.interval->dimension, schema::Dimension::number);
  EXPECT_EQ(parse_axis("decode.draft_length=1:9").interval->dimension, schema::Dimension::integer);
  EXPECT_EQ(parse_axis("workload.context=8k tokens:64k tokens").interval->dimension, schema::Dimension::tokens);
}

TEST(SweepAxis, MistakesAreNamed) {
  EXPECT_EQ(refusal("k"),
            "--vary k: expected key.key=values such as decode.draft_length=5:60:5 or decode.keep_ratio=0.1,0.2");
  EXPECT_EQ(refusal("k="), "--vary k: there is no value after \"=\"");
  EXPECT_EQ(refusal("k=1,,2"), "--vary k: a value is empty, expected a list such as 0.1,0.2,0.4");
  EXPECT_EQ(refusal("k=0.1,0.2,0.10"), "--vary k: 0.10 is there twice");
  EXPECT_EQ(refusal("k=a,b,a"), "--vary k: a is there twice");
  EXPECT_EQ(refusal("k=5:60:-5"), "--vary k: the range is empty: a step of -5 never gets from 5 to 60");
  EXPECT_EQ(refusal("k=60:5:5"), "--vary k: the range is empty: a step of 5 never gets from 60 to 5");
  EXPECT_EQ(refusal("k=5:60:0"), "--vary k: the step is 0");
  EXPECT_EQ(refusal("k=1:64:*0.5"), "--vary k: the range is empty: a factor of 0.5 never gets from 1 to 64");
  EXPECT_EQ(refusal("k=1:64:*1"), "--vary k: expected a factor above 0 other than 1");
  EXPECT_EQ(refusal("k=0:64:*2"), "--vary k: a range with a factor needs ends above 0");
  EXPECT_EQ(refusal("k=9:1"), "--vary k: the range is empty: 9 is not below 1");
  EXPECT_EQ(refusal("k=1:x:1"), "--vary k: expected a number in a range, found \"x\"");
  EXPECT_EQ(refusal("k=1:2:3:4"),
            "--vary k: expected a range such as 5:60:5 (with a step) or 1:64:*2 (with a factor), found \"1:2:3:4\"");
  EXPECT_EQ(refusal("k=0:1:1e-9"), "--vary k: 1000000001 values are more than 1000000 points");
  EXPECT_NE(refusal("k=16k tokens:64k tokens:16").find("write every part of the range with its unit"),
            std::string::npos);
  EXPECT_NE(refusal("k=1 GB/s:2 ms:1 GB/s").find("is a time"), std::string::npos);
}

TEST(SweepAxis, APathIsVariedOnceAndNotSetToo) {
  EXPECT_THROW(check_paths({{"a.b", {"1"}}, {"a.b", {"2"}}}, {}), schema::InputError);
  EXPECT_THROW(check_paths({{"a.b", {"1"}}}, {"a.b=3"}), schema::InputError);
  EXPECT_NO_THROW(check_paths({{"a.b", {"1"}}, {"a.c", {"1"}}}, {"a=3"}));
}

}  // namespace
}  // namespace kvsim::planner::sweep::KVSIM_FILE
