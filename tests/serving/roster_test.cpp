#include "sim/instance/roster.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace kvsim::serving {
namespace KVSIM_FILE {

class RosterTest : public ::testing::Test {
 protected:
  RosterTest() {
    for (std::size_t i = 0; i < requests_.size(); ++i) requests_[i].id = i;
  }
  Request& r(std::size_t id) { return requests_[id]; }
  void admit(std::size_t id, Phase phase) {
    ASSERT_EQ(&roster_.next(), &r(id));
    roster_.admit_next();
    roster_.move(r(id), phase);
  }
  static std::vector<std::uint64_t> ids(const std::vector<Request*>& list) {
    std::vector<std::uint64_t> ids;
    for (const Request* r : list) ids.push_back(r->id);
    return ids;
  }

  std::vector<Request> requests_{4};
  Roster roster_;
};

using Ids = std::vector<std::uint64_t>;

TEST(RequestSize, AWaitingRequestTakesAtMost350Bytes) {
  // Beside it, 16 for its place in the table of requests, up to 16 to find it there, 8 in the queue. The test of pools
  // adds what they know of it.
  EXPECT_LE(sizeof(Request), std::size_t{350 - 16 - 16 - 8});
}

TEST_F(RosterTest, ListsAreInOrderOfAdmissionWhoeverGetsThereFirst) {
  for (std::size_t id : {0U, 1U, 2U}) roster_.arrive(r(id));
  for (std::size_t id : {0U, 1U, 2U}) admit(id, Phase::loading);
  EXPECT_EQ(roster_.running(), 3);
  EXPECT_FALSE(roster_.anybody_waits());
  roster_.move(r(2), Phase::prefilling);
  roster_.move(r(2), Phase::decoding);
  roster_.move(r(0), Phase::decoding);
  EXPECT_EQ(ids(roster_.decoding()), (Ids{0, 2}));
  EXPECT_EQ(ids(roster_.loading()), (Ids{1}));
  EXPECT_TRUE(roster_.prefilling().empty());
  EXPECT_EQ(r(2).phase, Phase::decoding);
  EXPECT_EQ(&roster_.newest(), &r(2));
  roster_.leave(r(2));
  EXPECT_EQ(&roster_.newest(), &r(1));
  EXPECT_EQ(roster_.running(), 2);
}

TEST_F(RosterTest, WhoIsPushedOutComesBeforeAllOthersAndIsTheNewestAgain) {
  for (std::size_t id : {0U, 1U, 2U}) roster_.arrive(r(id));
  admit(0, Phase::decoding);
  admit(1, Phase::decoding);
  roster_.push_out(r(0));
  EXPECT_EQ(r(0).phase, Phase::queued);
  EXPECT_EQ(roster_.waiting(), 2);
  EXPECT_EQ(&roster_.next(), &r(0));
  admit(0, Phase::decoding);
  EXPECT_EQ(ids(roster_.decoding()), (Ids{1, 0}));
  EXPECT_EQ(&roster_.newest(), &r(0));
}

TEST_F(RosterTest, ResidentsAreCountedWhileTheyAreHere) {
  r(1).full_kv.resident = true;
  for (std::size_t id : {0U, 1U, 2U}) roster_.arrive(r(id));
  r(2).full_kv.resident = true;  // what is thought of one who waits does not count
  admit(0, Phase::loading);
  admit(1, Phase::decoding);
  EXPECT_EQ(roster_.resident(), 1);
  EXPECT_EQ(roster_.offloaded(), 1);
  roster_.push_out(r(1));
  EXPECT_EQ(roster_.resident(), 0);
  roster_.leave(r(0));
  EXPECT_EQ(roster_.offloaded(), 0);
}

}  // namespace KVSIM_FILE
}  // namespace kvsim::serving
