// The time short of GPU memory, and what requests do in their iterations.
#include <gtest/gtest.h>

#include "tests/support/small_scenario.h"

namespace kvsim::KVSIM_FILE {
namespace {

using serving::Measurements;
using testing::measure_with;

TEST(ShortOfMemory, IsNeverWhereAllRequestsFit) {
  // 0.9 x 85.6 GB less 16.1 GB of weights hold far more than ten times 2.1 GB.
  for (const char* policy : {"full_kv", "draft_verify"}) {
    const std::string schedule = policy == std::string("full_kv") ? "fcfs" : "staggered";
    const Measurements m = measure_with(
        {"cluster.gpu.memory_fraction=0.9", std::string("decode.policy=") + policy, "schedule.policy=" + schedule});
    EXPECT_EQ(m.memory_short_s, 0) << policy;
  }
}

TEST(ShortOfMemory, IsAlmostAlwaysWhereManyWait) {
  // 0.4 x 85.6 GB less 16.1 GB of weights hold eight of the thirty.
  const Measurements m = measure_with({"cluster.gpu.memory_fraction=0.4", "workload.closed.concurrency=30",
                                       "workload.requests=120", "decode.policy=full_kv", "schedule.policy=fcfs"});
  EXPECT_GT(m.memory_short_s / m.capacity_s, 0.8);
  EXPECT_LE(m.memory_short_s, m.capacity_s);
}

TEST(ShortOfMemory, CountsBehindALimitOnRequestsToo) {
  // Three run by the limit; a fourth would not fit either way, or would.
  const auto share = [](const char* fraction) {
    const Measurements m = measure_with({std::string("cluster.gpu.memory_fraction=") + fraction,
                                         "decode.policy=full_kv", "schedule.policy=fcfs", "schedule.max_requests=3"});
    return m.memory_short_s / m.capacity_s;
  };
  EXPECT_GT(share("0.275"), 0.8);  // 23.5 GB less 16.1: three
  EXPECT_EQ(share("0.5"), 0.0);    // 42.8 GB less 16.1: twelve
}

TEST(RequestIterations, AreAllCounted) {
  const Measurements m = measure_with({});
  ASSERT_EQ(m.preemptions, 0u);
  EXPECT_EQ(m.verifying_request_iterations, m.rounds);
  EXPECT_EQ(static_cast<std::int64_t>(m.drafting_request_iterations), m.drafted_tokens);
  EXPECT_LE(m.late_request_iterations, m.stalled_request_iterations);
}

TEST(RequestIterations, OfPlainDecodingAreItsTokens) {
  const Measurements m = measure_with({"decode.policy=full_kv", "schedule.policy=fcfs"});
  EXPECT_EQ(static_cast<std::int64_t>(m.drafting_request_iterations), m.direct_tokens);
  EXPECT_EQ(m.verifying_request_iterations, 0u);
}

}  // namespace
}  // namespace kvsim::KVSIM_FILE
