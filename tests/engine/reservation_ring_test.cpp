#include "sim/engine/reservation_ring.h"

#include <gtest/gtest.h>

#include "sim/engine/invariant.h"

namespace KVSIM_FILE {
namespace {

using kvsim::engine::InvariantViolation;
using kvsim::engine::ReservationRing;

TEST(ReservationRing, aReservationFitsWhereEveryWindowStaysWithinTheLimit) {
  ReservationRing ring(4);
  ring.add(1, 2, 0.6);
  EXPECT_TRUE(ring.fits(0, 0, 1.0, 1.0));
  EXPECT_TRUE(ring.fits(0, 3, 0.4, 1.0));
  EXPECT_FALSE(ring.fits(0, 3, 0.5, 1.0));  // windows 1 and 2 would hold 1.1
  EXPECT_TRUE(ring.fits(3, 3, 1.0, 1.0));
}

TEST(ReservationRing, advancingBringsEveryWindowOneCloser) {
  ReservationRing ring(3);
  ring.add(0, 0, 1);
  ring.add(1, 1, 2);
  ring.add(2, 2, 3);
  ring.advance();
  EXPECT_EQ(ring.at(0), 2);
  EXPECT_EQ(ring.at(1), 3);
  EXPECT_EQ(ring.at(2), 0);
  ring.add(2, 2, 5);
  ring.advance();
  ring.advance();
  EXPECT_EQ(ring.at(0), 5);
}

TEST(ReservationRing, withdrawingLeavesNoResidueBelowZero) {
  ReservationRing ring(2);
  ring.add(0, 1, 0.1);
  ring.add(0, 1, 0.2);
  ring.add(0, 1, -0.30000000000000004);
  ring.add(0, 1, -1e-17);
  EXPECT_EQ(ring.at(0), 0);
}

TEST(ReservationRing, aWindowBeyondItsEndIsRefused) {
  ReservationRing ring(2);
  EXPECT_THROW(static_cast<void>(ring.at(2)), InvariantViolation);
  EXPECT_THROW(ring.add(1, 2, 1), InvariantViolation);
  EXPECT_THROW(ReservationRing(0), InvariantViolation);
}

}  // namespace
}  // namespace KVSIM_FILE
