#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "sim/engine/simulator.h"

namespace KVSIM_FILE {
namespace {

using namespace kvsim::engine;

// The model is a std::multimap, which keeps equal keys in order of insertion.
RC_GTEST_PROP(EventQueueProperty, behavesLikeAnOrderedMultimapUnderAnyPushesPopsAndCancellations, ()) {
  EventQueue queue;
  std::multimap<std::int64_t, std::uint64_t> model;
  using Pending = std::multimap<std::int64_t, std::uint64_t>::iterator;
  std::vector<std::pair<EventHandle, Pending>> live;
  std::vector<EventHandle> stale;
  std::uint64_t next = 0;

  // Operations: 0..3 push, 4..5 pop, 6..7 cancel, 8 cancel a stale handle, 9 look at the first time.
  const auto operations = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 10), rc::gen::inRange(0, 50)));
  const auto repeats = *rc::gen::inRange(1, 30);
  for (int repeat = 0; repeat < repeats; ++repeat) {
    for (const auto& [operation, argument] : operations) {
      if (operation < 4) {
        const std::int64_t time = argument * (operation == 0 ? 1000 : 1);
        const EventHandle handle = queue.push({time}, {nullptr, nullptr, next});
        live.emplace_back(handle, model.emplace(time, next++));
      } else if (operation < 6 && !model.empty()) {
        const EventQueue::Event event = queue.pop();
        RC_ASSERT(event.time.ns == model.begin()->first);
        RC_ASSERT(event.callback.word == model.begin()->second);
        const auto gone =
            std::find_if(live.begin(), live.end(), [&](const auto& l) { return l.second == model.begin(); });
        stale.push_back(gone->first);
        live.erase(gone);
        model.erase(model.begin());
      } else if (operation < 8 && operation >= 6 && !live.empty()) {
        const auto victim = live.begin() + argument % static_cast<std::ptrdiff_t>(live.size());
        RC_ASSERT(queue.cancel(victim->first));
        model.erase(victim->second);
        stale.push_back(victim->first);
        live.erase(victim);
      } else if (operation == 8 && !stale.empty()) {
        RC_ASSERT_FALSE(queue.cancel(stale[static_cast<std::size_t>(argument) % stale.size()]));
      } else if (operation == 9 && !model.empty()) {
        RC_ASSERT(queue.top_time().ns == model.begin()->first);
      }
      RC_ASSERT(queue.size() == model.size());
    }
  }
  for (const auto& [time, number] : model) {
    const EventQueue::Event event = queue.pop();
    RC_ASSERT(event.time.ns == time);
    RC_ASSERT(event.callback.word == number);
  }
}

}  // namespace
}  // namespace KVSIM_FILE
