// The debug tier is tested in every build: this file turns it on for itself.
#define KVSIM_DEBUG_CHECKS 1
#include "sim/engine/invariant.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/engine/simulator.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;

namespace {

std::string message_of(void (*check)()) {
  try {
    check();
  } catch (const InvariantViolation& violation) {
    return violation.what();
  }
  return "no violation";
}

TEST(Invariant, aBrokenAlwaysCheckSaysWhereAndWhat) {
  const std::string message = message_of([] { KVSIM_ALWAYS(1 + 1 == 3, "arithmetic"); });
  EXPECT_EQ(message.find("invariant_test.cpp:"), 0U) << message;  // and no folder
  EXPECT_NE(message.find("arithmetic (1 + 1 == 3)"), std::string::npos) << message;
}

TEST(Invariant, aBrokenDebugCheckTripsWhereDebugChecksAreOn) {
  EXPECT_NE(message_of([] { KVSIM_DEBUG(false, "tier two"); }).find("tier two"), std::string::npos);
}

TEST(Invariant, aTrueConditionEvaluatesNoMessage) {
  bool evaluated = false;
  const auto message = [&evaluated] {
    evaluated = true;
    return std::string("expensive");
  };
  KVSIM_ALWAYS(true, message());
  EXPECT_FALSE(evaluated);
}

TEST(InvariantDeathTest, uncaughtItEndsTheProgram) {
  EXPECT_DEATH([]() noexcept { KVSIM_ALWAYS(false, "the end"); }(), "");
}

}  // namespace
}  // namespace KVSIM_FILE
