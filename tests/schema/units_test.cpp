// Quantities: what each text means, what is refused and how, and that what is written reads back exactly.
#include "models/schema/units.h"
#include "models/schema/error.h"
#include "models/schema/scalar_spec.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace kvsim::schema::KVSIM_FILE {
namespace {

std::string unit_error(Dimension dimension, std::string_view text) {
  try {
    static_cast<void>(parse_real(dimension, text));
  } catch (const UnitError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Units, BytesAreWholeAndTellDecimalFromBinary) {
  EXPECT_EQ(parse_bytes("0 B"), 0);
  EXPECT_EQ(parse_bytes("80 GB"), 80'000'000'000);
  EXPECT_EQ(parse_bytes("80 GiB"), 85'899'345'920);
  EXPECT_EQ(parse_bytes("80GiB"), 85'899'345'920);
  EXPECT_EQ(parse_bytes("  1.5 kB "), 1'500);
  EXPECT_EQ(parse_bytes("0.5 KiB"), 512);
  EXPECT_EQ(parse_bytes("1e3 MB"), 1'000'000'000);
  EXPECT_EQ(parse_bytes("8 PiB"), std::int64_t{8} << 50);
  EXPECT_EQ(parse_bytes("9223372036854775807 B"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(parse_bytes("79.6 GiB"), 85'469'849'190) << "rounded to a whole byte: 79.6 * 2^30 = 85469849190.4";
}

TEST(Units, EveryDimensionReadsItsUnits) {
  EXPECT_EQ(parse_bandwidth("64 GB/s"), 64e9);
  EXPECT_EQ(parse_bandwidth("200 Gb/s"), 25e9);
  EXPECT_EQ(parse_bandwidth("1 GiB/s"), 1073741824.0);
  EXPECT_EQ(parse_bandwidth("3.35 TB/s"), 3.35e12);
  EXPECT_EQ(parse_time("25 ms"), 0.025);
  EXPECT_EQ(parse_time("4.5 us"), 4.5e-6);
  EXPECT_EQ(parse_time("7 ns"), 7e-9);
  EXPECT_EQ(parse_time("20 min"), 1200.0);
  EXPECT_EQ(parse_time("1.5 h"), 5400.0);
  EXPECT_EQ(parse_tokens("32k tokens"), 32'000);
  EXPECT_EQ(parse_tokens("32Ki tokens"), 32'768);
  EXPECT_EQ(parse_tokens("32 k  tokens"), 32'000);
  EXPECT_EQ(parse_tokens("1 token"), 1);
  EXPECT_EQ(parse_tokens("1k"), 1000);
  EXPECT_EQ(parse_tokens("2Mi"), 2'097'152);
  EXPECT_EQ(parse_tokens("1.5M tokens"), 1'500'000);
  EXPECT_EQ(parse_real(Dimension::compute, "312 TFLOP/s"), 312e12);
  EXPECT_EQ(parse_rate("0.5/s"), 0.5);
  EXPECT_EQ(parse_rate("10 req/s"), 10.0);
  EXPECT_EQ(parse_rate("30/min"), 0.5);
  EXPECT_EQ(parse_rate("7200 requests/h"), 2.0);
  EXPECT_EQ(parse_real(Dimension::price, "2.5 USD/h"), 2.5);
  EXPECT_EQ(parse_real(Dimension::storage_price, "0.08 USD/GB-month"), 0.08);
  EXPECT_EQ(parse_real(Dimension::power, "0.7 kW"), 700.0);
  EXPECT_EQ(parse_integer("1e6"), 1'000'000);
  EXPECT_EQ(parse_integer("-3"), -3);
  EXPECT_EQ(parse_integer("2.0"), 2);
  EXPECT_EQ(parse_number(".5"), 0.5);
  EXPECT_EQ(parse_number("-2.5e-3"), -0.0025);
  EXPECT_FALSE(std::signbit(parse_number("-0")));
}

TEST(Units, ABareNumberListsTheUnits) {
  EXPECT_EQ(unit_error(Dimension::time, "25"),
            "expected a time with its unit (s, ms, us, ns, min, h), found the bare number \"25\"");
}

// A time or a size may be meant in any of its units; tokens and rates are mostly written in their own.
TEST(Units, ABareNumberIsSaidWithTheUnitThatIsUsual) {
  EXPECT_NE(unit_error(Dimension::rate, "200").find("found the bare number \"200\"; write \"200/s\""),
            std::string::npos);
  EXPECT_NE(unit_error(Dimension::tokens, "1000").find("; write \"1000 tokens\""), std::string::npos);
  EXPECT_EQ(unit_error(Dimension::bytes, "80").find("write"), std::string::npos);
  EXPECT_EQ(parse_integral(Dimension::tokens, "1k"), 1000);
}

TEST(Units, AShareInPerCentIsSaidAsAShare) {
  EXPECT_EQ(unit_error(Dimension::number, "20%"), "expected a number such as \"0.2\", found \"20%\": write 0.2");
  EXPECT_EQ(unit_error(Dimension::integer, "20%"), "expected a whole number such as \"25\", found \"20%\"");
}

TEST(Units, AnotherDimensionIsNamed) {
  EXPECT_EQ(unit_error(Dimension::bandwidth, "64 ms"),
            "expected a bandwidth such as \"64 GB/s\", but \"64 ms\" is a time");
  EXPECT_EQ(unit_error(Dimension::bytes, "64 GB/s"),
            "expected a size in bytes such as \"80 GiB\", but \"64 GB/s\" is a bandwidth");
  EXPECT_EQ(unit_error(Dimension::integer, "5 s"), "expected a whole number such as \"25\", found \"5 s\"");
}

TEST(Units, CaseMattersAndTheNearestUnitIsNamed) {
  EXPECT_EQ(unit_error(Dimension::bytes, "80 Gb"),
            "unknown unit \"Gb\" in \"80 Gb\", expected a size in bytes such as \"80 GiB\"; did you mean \"GB\"?");
  EXPECT_EQ(unit_error(Dimension::bytes, "80 gib"),
            "unknown unit \"gib\" in \"80 gib\", expected a size in bytes such as \"80 GiB\"; did you mean \"GiB\"?");
  EXPECT_EQ(
      unit_error(Dimension::time, "3 furlongs"),
      "unknown unit \"furlongs\" in \"3 furlongs\", expected a time such as \"25 ms\"; expected one of s, ms, us, "
      "ns, min, h");
}

TEST(Units, NumbersThatReadersUnderstandDifferentlyAreRefused) {
  EXPECT_EQ(unit_error(Dimension::integer, "010"),
            "expected a whole number such as \"25\", found \"010\": write it without leading zeros");
  EXPECT_EQ(unit_error(Dimension::integer, "0x10"), "expected a whole number such as \"25\", found \"0x10\"");
  EXPECT_EQ(unit_error(Dimension::number, "1_000"), "expected a number such as \"0.2\", found \"1_000\"");
  for (const char* text : {"nan", ".nan", "inf", ".inf", "-inf", "", " ", "-", "e5", "1e", "5.", "1 2", "--1"}) {
    EXPECT_NE(unit_error(Dimension::number, text), "no error") << text;
  }
}

TEST(Units, PartsOfWholeThingsAreRefused) {
  EXPECT_EQ(unit_error(Dimension::bytes, "1.5 B"), "expected a whole number of bytes, found \"1.5 B\"");
  EXPECT_EQ(unit_error(Dimension::bytes, "0.0001 kB"), "expected a whole number of bytes, found \"0.0001 kB\"");
  EXPECT_EQ(unit_error(Dimension::tokens, "1.2345k tokens"),
            "expected a whole number of tokens, found \"1.2345k tokens\"");
  EXPECT_EQ(unit_error(Dimension::integer, "2.5"), "expected a whole number, found \"2.5\"");
}

TEST(Units, WhatDoesNotFitIsRefused) {
  EXPECT_EQ(unit_error(Dimension::bytes, "9223372036854775808 B"),
            "\"9223372036854775808 B\" is too large or has too many digits");
  EXPECT_EQ(unit_error(Dimension::bytes, "1e30 PB"), "\"1e30 PB\" is too large or has too many digits");
  EXPECT_EQ(unit_error(Dimension::number, "1e999"), "\"1e999\" is too large");
  EXPECT_EQ(unit_error(Dimension::time, "1e308 h"), "\"1e308 h\" is too large");
  EXPECT_EQ(unit_error(Dimension::number, "1e99999999999999999999"), "\"1e99999999999999999999\" is too large");
  EXPECT_EQ(parse_number("1e-99999999999999999999"), 0.0);
}

TEST(Units, FormattingChoosesTheUnitThatReadsBest) {
  EXPECT_EQ(format_bytes(85'899'345'920), "80 GiB");
  EXPECT_EQ(format_bytes(80'000'000'000), "80 GB");
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1), "1 B");
  EXPECT_EQ(format_bytes(1024), "1 KiB");
  EXPECT_EQ(format_integral(Dimension::tokens, 32'768), "32Ki tokens");
  EXPECT_EQ(format_integral(Dimension::tokens, 32'000), "32k tokens");
  EXPECT_EQ(format_integral(Dimension::tokens, 512), "512 tokens");
  EXPECT_EQ(format_integral(Dimension::tokens, 1), "1 token");
  EXPECT_EQ(format_time(0.025), "25 ms");
  EXPECT_EQ(format_time(0.1), "100 ms");
  EXPECT_EQ(format_time(1200), "20 min");
  EXPECT_EQ(format_time(100), "100 s");
  EXPECT_EQ(format_time(2.2e-5), "22 us");
  EXPECT_EQ(format_bandwidth(3.35e12), "3.35 TB/s");
  EXPECT_EQ(format_bandwidth(25e9), "25 GB/s");
  EXPECT_EQ(format_real(Dimension::rate, 0.5), "0.5/s");
  EXPECT_EQ(format_real(Dimension::number, 0.2), "0.2");
  EXPECT_EQ(canonical_integral(Dimension::bytes, 85'899'345'920), "85899345920 B");
  EXPECT_EQ(canonical_real(Dimension::time, 0.025), "0.025 s");
}

TEST(Units, RoundingIsForPeople) {
  EXPECT_EQ(round_quantity(Dimension::time, 0.0171999), "17.2 ms");
  EXPECT_EQ(round_quantity(Dimension::bandwidth, 3.3512e12), "3.35 TB/s");
  EXPECT_EQ(round_quantity(Dimension::bytes, 123456789), "123 MB");
  EXPECT_EQ(round_quantity(Dimension::number, 0.123456), "0.123");
  EXPECT_EQ(round_quantity(Dimension::time, 0), "0 s");
  EXPECT_EQ(round_quantity(Dimension::time, std::numeric_limits<double>::infinity()), "inf");
}

TEST(Units, AQuantityIsOfAUsualSizeOrRefused) {
  const auto said = [](const ScalarSpec& spec, const std::string& text) {
    try {
      static_cast<void>(spec.read(ConfigNode::scalar(text), "x"));
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(said(compute_rate().usually(1e12, 1e18), "989 FLOP/s"), "x: found 989 FLOP/s, expected 1 TFLOP/s or more");
  EXPECT_EQ(said(compute_rate().usually(1e12, 1e18), "989 TFLOP/s"), "accepted");
  EXPECT_EQ(said(compute_rate().usually(1e12, 1e18), "0 FLOP/s"), "accepted");
  EXPECT_EQ(said(compute_rate().positive().usually(1e12, 1e18), "0 FLOP/s"), "x: must be > 0 FLOP/s, found 0 FLOP/s");
  EXPECT_EQ(said(number(), "-1e300"), "x: found -1e300, expected -1e+18 or more");
  EXPECT_EQ(said(number(), "1e-300"), "x: found 1e-300, expected 1e-12 or more");
  EXPECT_EQ(said(integer(), "4611686018427387904"), "x: found 4611686018427387904, expected 1000000000000 or less");
  EXPECT_EQ(said(integer().of_any_size(), "9223372036854775807"), "accepted");
  EXPECT_EQ(said(bytes(), "2000 PB"), "x: found 2000 PB, expected 1000 PB or less");
  EXPECT_EQ(said(schema::time(), "30000 h"), "x: found 30000 h, expected 24000 h or less");
  EXPECT_EQ(said(tokens(), "2000M tokens"), "x: found 2000M tokens, expected 1000M tokens or less");
  EXPECT_EQ(bytes().positive().usually(1e9, 1e13).documented_range(), "> 0 B, usually 1 GB to 10 TB");
  EXPECT_EQ(integer().positive().usually(1, 1e4).documented_range(), "> 0, usually up to 10000");
  EXPECT_EQ(integer().of_any_size().documented_range(), "");
  EXPECT_EQ(schema::time().non_negative().usually(0, 60).documented_range(), ">= 0 s, usually up to 60 s");
}

constexpr Dimension real_dimensions[] = {Dimension::number,        Dimension::bandwidth, Dimension::time,
                                         Dimension::compute,       Dimension::rate,      Dimension::price,
                                         Dimension::storage_price, Dimension::power};
constexpr Dimension whole_dimensions[] = {Dimension::integer, Dimension::bytes, Dimension::tokens};

RC_GTEST_PROP(UnitsProperty, EveryIntegerReadsBackAsWritten, (std::int64_t value)) {
  for (const Dimension dimension : whole_dimensions) {
    RC_ASSERT(parse_integral(dimension, format_integral(dimension, value)) == value);
    RC_ASSERT(parse_integral(dimension, canonical_integral(dimension, value)) == value);
  }
}

RC_GTEST_PROP(UnitsProperty, EveryDoubleReadsBackAsWritten, (double mantissa)) {
  const auto exponent = *rc::gen::inRange(-280, 280);
  const double value = mantissa * std::pow(10.0, exponent);
  RC_PRE(std::isfinite(value));
  for (const Dimension dimension : real_dimensions) {
    RC_ASSERT(parse_real(dimension, format_real(dimension, value)) == value);
    RC_ASSERT(parse_real(dimension, canonical_real(dimension, value)) == value);
  }
}

RC_GTEST_PROP(UnitsProperty, AnyTextIsAQuantityOrAUnitError, (const std::string& text)) {
  for (const Dimension dimension : real_dimensions) static_cast<void>(unit_error(dimension, text));
  for (const Dimension dimension : whole_dimensions) static_cast<void>(unit_error(dimension, text));
}

}  // namespace
}  // namespace kvsim::schema::KVSIM_FILE
