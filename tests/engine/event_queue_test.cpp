#include "sim/engine/simulator.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/engine/random.h"
#include "tests/engine/allocation_count.h"

namespace KVSIM_FILE {

using namespace kvsim::engine;

namespace {

Callback word(std::uint64_t value) {
  return {nullptr, nullptr, value};
}

std::vector<std::uint64_t> drain(EventQueue& queue) {
  std::vector<std::uint64_t> words;
  while (!queue.empty()) words.push_back(queue.pop().callback.word);
  return words;
}

TEST(EventQueue, eventsComeOutInOrderOfTime) {
  EventQueue queue;
  for (const std::int64_t t : {5, 1, 4, 2, 3}) queue.push({t}, word(static_cast<std::uint64_t>(t)));
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
}

TEST(EventQueue, equalTimesComeOutInOrderOfPushing) {
  EventQueue queue;
  std::vector<std::uint64_t> expected;
  for (std::uint64_t i = 0; i < 100; ++i) {
    queue.push({7}, word(i));
    expected.push_back(i);
  }
  EXPECT_EQ(drain(queue), expected);
}

// After a pop it is known what comes next, unless something earlier is pushed meanwhile.
TEST(OrderedQueue, likelyNextIsWhatIsPoppedNext) {
  OrderedQueue<int> queue;
  EXPECT_EQ(queue.likely_next(), nullptr);
  for (int i = 0; i < 100; ++i) queue.push((i * 37) % 100, (i * 37) % 100);
  EXPECT_EQ(queue.likely_next(), nullptr) << "nothing was popped";
  for (int i = 0; i < 99; ++i) {
    EXPECT_EQ(queue.pop().value, i);
    ASSERT_NE(queue.likely_next(), nullptr);
    EXPECT_EQ(*queue.likely_next(), i + 1);
  }
  EXPECT_EQ(queue.pop().value, 99);
  EXPECT_EQ(queue.likely_next(), nullptr) << "nothing is left";
}

TEST(EventQueue, negativeAndExtremeTimesAreOrderedToo) {
  EventQueue queue;
  queue.push(SimTime::never(), word(3));
  queue.push({0}, word(2));
  queue.push({-1}, word(1));
  queue.push({std::numeric_limits<std::int64_t>::min()}, word(0));
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{0, 1, 2, 3}));
}

TEST(EventQueue, aCancelledEventNeverComesOut) {
  EventQueue queue;
  queue.push({1}, word(1));
  const EventHandle second = queue.push({2}, word(2));
  queue.push({3}, word(3));
  EXPECT_TRUE(queue.cancel(second));
  EXPECT_EQ(queue.size(), 2U);
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{1, 3}));
}

TEST(EventQueue, cancellingTheFirstEventExposesTheNextTime) {
  EventQueue queue;
  const EventHandle first = queue.push({1}, word(1));
  queue.push({2}, word(2));
  queue.cancel(first);
  EXPECT_EQ(queue.top_time().ns, 2);
}

TEST(EventQueue, cancellingTwiceOrNothingIsHarmless) {
  EventQueue queue;
  const EventHandle handle = queue.push({1}, word(1));
  EXPECT_FALSE(queue.cancel({}));
  EXPECT_FALSE(queue.cancel({~std::uint64_t{0}}));
  EXPECT_TRUE(queue.cancel(handle));
  EXPECT_FALSE(queue.cancel(handle));
  EXPECT_TRUE(queue.empty());
}

TEST(EventQueue, aStaleHandleDoesNotCancelTheEventThatReusedItsSlot) {
  EventQueue queue;
  const EventHandle old = queue.push({1}, word(1));
  queue.pop();
  const EventHandle reused = queue.push({2}, word(2));  // the only free slot
  EXPECT_FALSE(queue.cancel(old));
  EXPECT_TRUE(queue.pending(reused));
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{2}));
}

TEST(EventQueue, pushedEventsBeforeAndAfterAPoppedOneKeepTheirOrder) {
  // The place of a popped event is filled by the next push: a smaller and a larger time must both find theirs.
  EventQueue queue;
  for (const std::int64_t t : {10, 20, 30, 40, 50, 60}) queue.push({t}, word(static_cast<std::uint64_t>(t)));
  queue.pop();
  queue.push({15}, word(15));
  EXPECT_EQ(queue.pop().time.ns, 15);
  queue.push({55}, word(55));
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{20, 30, 40, 50, 55, 60}));
}

TEST(EventQueue, anEmptyQueueRefusesToPop) {
  EventQueue queue;
  EXPECT_THROW(queue.pop(), InvariantViolation);
  EXPECT_THROW(static_cast<void>(queue.top_time()), InvariantViolation);
}

TEST(EventQueue, theSteadyStateDoesNotAllocate) {
  EventQueue queue;
  RandomStream random(1, "delays");
  std::vector<EventHandle> handles(1000);
  for (std::size_t i = 0; i < handles.size(); ++i) handles[i] = queue.push({static_cast<std::int64_t>(i)}, word(i));
  const auto churn = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const EventQueue::Event event = queue.pop();
      const auto delay = 1 + static_cast<std::int64_t>(random.below(1000));
      handles[event.callback.word] = queue.push({event.time.ns + delay}, event.callback);
      const std::uint64_t victim = random.below(handles.size());
      if (queue.cancel(handles[victim])) handles[victim] = queue.push({event.time.ns + 2 * delay}, word(victim));
    }
  };
  churn(10'000);
  const std::size_t before = allocation_count();
  churn(100'000);
  EXPECT_EQ(allocation_count(), before);
}

TEST(EventQueue, cancelledEventsDoNotPileUp) {
  // A timeout that is always cancelled: without clearing out the dead, this would hold a million entries.
  EventQueue queue;
  queue.push({0}, word(0));
  for (int i = 0; i < 1000; ++i) queue.cancel(queue.push(SimTime::never(), word(1)));
  const std::size_t before = allocation_count();
  for (int i = 0; i < 1'000'000; ++i) queue.cancel(queue.push(SimTime::never(), word(1)));
  EXPECT_EQ(allocation_count(), before);
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{0}));
}

TEST(EventQueue, runningOutOfSequenceNumbersIsAnErrorNotAWrongOrder) {
  EventQueue queue;
  queue.set_next_sequence((std::uint64_t{1} << 40) - 1);
  queue.push({1}, word(1));
  EXPECT_THROW(queue.push({1}, word(2)), InvariantViolation);
  EXPECT_EQ(drain(queue), (std::vector<std::uint64_t>{1}));
}

TEST(EventQueue, runningOutOfSlotsIsAnError) {
  SlotTable<char> table;
  const std::size_t capacity = (std::size_t{1} << 24) - 2;
  table.reserve(capacity);
  for (std::size_t i = 0; i < capacity; ++i) table.acquire();
  EXPECT_THROW(table.acquire(), InvariantViolation);
}

}  // namespace
}  // namespace KVSIM_FILE
