#include "tools/results/numbers.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace kvsim::results::KVSIM_FILE {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(NumbersTest, ThousandsStandApart) {
  EXPECT_EQ(whole(0), "0");
  EXPECT_EQ(whole(999), "999");
  EXPECT_EQ(whole(1000), "1,000");
  EXPECT_EQ(whole(-1234567), "-1,234,567");
  EXPECT_EQ(with_commas("12345.678"), "12,345.678");
}

TEST(NumbersTest, WhatIsCountedIsOneOrSeveral) {
  EXPECT_EQ(counted(1, "request"), "1 request");
  EXPECT_EQ(counted(0, "request"), "0 requests");
  EXPECT_EQ(counted(2400, "request"), "2,400 requests");
}

TEST(NumbersTest, ThousandsOfDollarsStandApart) {
  EXPECT_EQ(dollars(7.5), "$7.50");
  EXPECT_EQ(dollars(102749260), "$102,749,260.00");
  EXPECT_EQ(dollars(std::nullopt), "-");
}

TEST(NumbersTest, FiguresHaveFourDigits) {
  EXPECT_EQ(figure(0), "0");
  EXPECT_EQ(figure(116), "116.0");
  EXPECT_EQ(figure(18.5567), "18.56");
  EXPECT_EQ(figure(0.01234567), "0.01235");
  EXPECT_EQ(figure(999.94), "999.9");
  EXPECT_EQ(figure(999.96), "1,000");
  EXPECT_EQ(figure(35942.4), "35,942");
  EXPECT_EQ(figure(kNan), "-");
}

TEST(NumbersTest, UnitsSuitTheValue) {
  EXPECT_EQ(seconds(0), "0 s");
  EXPECT_EQ(seconds(1.16e-6), "1.16 us");
  EXPECT_EQ(seconds(0.9994), "999 ms");
  EXPECT_EQ(seconds(0.9996), "1.00 s");
  EXPECT_EQ(seconds(119.6), "120 s");
  EXPECT_EQ(seconds(3300), "55.0 min");
  EXPECT_EQ(seconds(7200), "2.00 h");
  EXPECT_EQ(seconds(std::numeric_limits<double>::infinity()), "-");
  EXPECT_EQ(bytes(37764464640.0), "37.8 GB");
  EXPECT_EQ(bytes(999.6e6), "1.00 GB");
}

TEST(NumbersTest, AnIntervalThatDoesNotExistIsLeftOut) {
  EXPECT_EQ(plus_minus(kNan), "");
  EXPECT_EQ(plus_minus(14.25), "± 14.25");
  EXPECT_EQ(plus_minus(0.00172, seconds), "± 1.72 ms");
  EXPECT_EQ(factor(kNan), "-");
}

TEST(NumbersTest, AColumnHasOneUnit) {
  EXPECT_EQ(common_seconds(std::vector<double>{0.0304, 2.02, kNan, 0}).name, "ms");
  EXPECT_EQ(common_seconds(std::vector<double>{15, 212}).name, "s");
  EXPECT_EQ(common_seconds(std::vector<double>{0.9996}).name, "s");
  EXPECT_EQ(common_seconds(std::vector<double>{0.0304, 212}).name, "s") << "212,000 ms";
  EXPECT_EQ(common_bytes(std::vector<double>{75e9, 1.1e12}).name, "GB");
  EXPECT_EQ(common_bytes(std::vector<double>{0, kNan}).name, "GB");
  const ColumnUnit ms = common_seconds(std::vector<double>{0.0304, 2.02});
  EXPECT_EQ(in_unit(0.0304, ms), "30.4");
  EXPECT_EQ(in_unit(2.02, ms), "2,020");
  EXPECT_EQ(in_unit(0.00003, ms), "0.030");
  EXPECT_EQ(in_unit(0, ms), "0");
  EXPECT_EQ(in_unit(kNan, ms), "-");
}

}  // namespace
}  // namespace kvsim::results::KVSIM_FILE
