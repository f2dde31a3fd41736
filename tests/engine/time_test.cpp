#include "sim/engine/time.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "sim/engine/invariant.h"

namespace KVSIM_FILE {
namespace {

using namespace kvsim::engine;

TEST(Time, secondsRoundToTheNearestNanosecondHalvesAwayFromZero) {
  EXPECT_EQ(from_seconds(1.4e-9).ns, 1);
  EXPECT_EQ(from_seconds(1.5e-9).ns, 2);
  EXPECT_EQ(from_seconds(-1.5e-9).ns, -2);
  EXPECT_EQ(from_seconds(0.49999999999999994e-9).ns, 0);
  for (double seconds = 1e-10; seconds < 9e9; seconds *= 1.001) {
    for (const double s : {seconds, -seconds}) {
      EXPECT_EQ(from_seconds(s).ns, static_cast<std::int64_t>(std::round(s * 1e9))) << s;
    }
  }
  EXPECT_EQ(from_seconds(0.1).ns, 100'000'000);
}

TEST(Time, secondsBeyondTheRangeSaturate) {
  EXPECT_EQ(from_seconds(1e300).ns, std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(from_seconds(-1e300).ns, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(from_seconds_ceil(std::numeric_limits<double>::infinity()).ns, std::numeric_limits<std::int64_t>::max());
}

TEST(Time, secondsRoundedUpAreNeverShorterThanAsked) {
  EXPECT_EQ(from_seconds_ceil(1.0000001e-9).ns, 2);
  EXPECT_EQ(from_seconds_ceil(0).ns, 0);
  EXPECT_EQ(from_seconds_ceil(1e-30).ns, 1);
  EXPECT_EQ(from_seconds_ceil(std::nextafter(3.0, 4.0)).ns, 3'000'000'001);
}

TEST(Time, aDoubleNearestToAWholeNumberOfNanosecondsStandsForIt) {
  // The double 0.1 lies above one tenth; nobody means 100,000,001 ns by it.
  EXPECT_EQ(from_seconds_ceil(0.1).ns, 100'000'000);
  for (std::int64_t ns = 1; ns < 100'000'000'000; ns = ns * 3 + 1) {
    EXPECT_EQ(from_seconds_ceil(static_cast<double>(ns) / 1e9).ns, ns);
  }
}

TEST(Time, notANumberIsRefused) {
  EXPECT_THROW(from_seconds(std::nan("")), InvariantViolation);
  EXPECT_THROW(from_seconds_ceil(std::nan("")), InvariantViolation);
}

TEST(Time, beyondTheEndOfTheClockIsNever) {
  const SimTime late = SimTime::never() - Duration{5};
  EXPECT_EQ(late + Duration{4}, SimTime{SimTime::never().ns - 1});
  EXPECT_EQ(late + Duration{6}, SimTime::never());
  EXPECT_EQ(forever + forever, forever);
  EXPECT_EQ(forever * 3, forever);
  EXPECT_EQ((Duration{-4} * (std::int64_t{1} << 62)).ns, std::numeric_limits<std::int64_t>::min());
  Duration sum = forever;
  sum += Duration{1};
  EXPECT_EQ(sum, forever);
}

TEST(TransferTime, isTheFewestNanosecondsThatSuffice) {
  EXPECT_EQ(transfer_time(1'000'000'000, 1e10).ns, 100'000'000);  // 1 GB at 10 GB/s
  EXPECT_EQ(transfer_time(1, 1e9).ns, 1);
  EXPECT_EQ(transfer_time(3, 2e9).ns, 2);  // 1.5 ns
  EXPECT_EQ(transfer_time(0, 1e9).ns, 0);
}

TEST(TransferTime, isExactWhereDivisionRounds) {
  // 1e15 + 1 bytes at 1e15 bytes/s take 1e9 ns and a millionth: rounding would drop it.
  EXPECT_EQ(transfer_time(1e15 + 1, 1e15).ns, 1'000'000'001);
  // 49 x (1/49) is below 1 in floating point: 49e9 bytes at 49e9 bytes/s must be one second all the same.
  for (double rate = 1e9; rate < 1e11; rate += 1e9) EXPECT_EQ(transfer_time(rate, rate).ns, 1'000'000'000) << rate;
}

TEST(TransferTime, isForeverOnADeadLink) {
  EXPECT_EQ(transfer_time(1, 0), forever);
  EXPECT_EQ(transfer_time(1e18, 1e-3), forever);
  EXPECT_EQ(transfer_time(0, 0).ns, 0);
}

}  // namespace
}  // namespace KVSIM_FILE
