#include "sim/instance/request_queues.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace kvsim::serving {
namespace KVSIM_FILE {

class RequestQueuesTest : public ::testing::Test {
 protected:
  RequestQueuesTest() {
    for (std::size_t i = 0; i < requests_.size(); ++i) requests_[i].id = i;
  }
  Request& r(std::size_t id) { return requests_[id]; }
  void admit(std::size_t id, Phase phase) {
    ASSERT_EQ(&queues_.next(), &r(id));
    queues_.admit_next();
    queues_.move(r(id), phase);
  }
  static std::vector<std::uint64_t> ids(const std::vector<Request*>& list) {
    std::vector<std::uint64_t> ids;
    for (const Request* r : list) ids.push_back(r->id);
    return ids;
  }

  std::vector<Request> requests_{4};
  RequestQueues queues_;
};

using Ids = std::vector<std::uint64_t>;

TEST(RequestSize, AWaitingRequestTakesAtMost350Bytes) {
  // Beside it, 16 for its place in the table of requests, up to 16 to find it there, 8 in the queue. The test of pools
  // adds what they know of it.
  EXPECT_LE(sizeof(Request), std::size_t{350 - 16 - 16 - 8});
}

TEST_F(RequestQueuesTest, ListsAreInOrderOfAdmissionWhoeverGetsThereFirst) {
  for (std::size_t id : {0U, 1U, 2U}) queues_.arrive(r(id));
  for (std::size_t id : {0U, 1U, 2U}) admit(id, Phase::loading);
  EXPECT_EQ(queues_.running(), 3);
  EXPECT_FALSE(queues_.anybody_waits());
  queues_.move(r(2), Phase::prefilling);
  queues_.move(r(2), Phase::decoding);
  queues_.move(r(0), Phase::decoding);
  EXPECT_EQ(ids(queues_.decoding()), (Ids{0, 2}));
  EXPECT_EQ(ids(queues_.loading()), (Ids{1}));
  EXPECT_TRUE(queues_.prefilling().empty());
  EXPECT_EQ(r(2).phase, Phase::decoding);
  EXPECT_EQ(&queues_.newest(), &r(2));
  queues_.leave(r(2));
  EXPECT_EQ(&queues_.newest(), &r(1));
  EXPECT_EQ(queues_.running(), 2);
}

TEST_F(RequestQueuesTest, WhoIsPushedOutComesBeforeAllOthersAndIsTheNewestAgain) {
  for (std::size_t id : {0U, 1U, 2U}) queues_.arrive(r(id));
  admit(0, Phase::decoding);
  admit(1, Phase::decoding);
  queues_.push_out(r(0));
  EXPECT_EQ(r(0).phase, Phase::queued);
  EXPECT_EQ(queues_.waiting(), 2);
  EXPECT_EQ(&queues_.next(), &r(0));
  admit(0, Phase::decoding);
  EXPECT_EQ(ids(queues_.decoding()), (Ids{1, 0}));
  EXPECT_EQ(&queues_.newest(), &r(0));
}

TEST_F(RequestQueuesTest, ResidentsAreCountedWhileTheyAreHere) {
  r(1).full_kv.resident = true;
  for (std::size_t id : {0U, 1U, 2U}) queues_.arrive(r(id));
  r(2).full_kv.resident = true;  // what is thought of one who waits does not count
  admit(0, Phase::loading);
  admit(1, Phase::decoding);
  EXPECT_EQ(queues_.resident(), 1);
  EXPECT_EQ(queues_.offloaded(), 1);
  queues_.push_out(r(1));
  EXPECT_EQ(queues_.resident(), 0);
  queues_.leave(r(0));
  EXPECT_EQ(queues_.offloaded(), 0);
}

}  // namespace KVSIM_FILE
}  // namespace kvsim::serving
