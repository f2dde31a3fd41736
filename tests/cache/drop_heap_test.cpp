#include "sim/cache/placement/drop_heap.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <utility>

#include "sim/engine/random.h"

namespace KVSIM_FILE {
namespace {

using namespace kvsim::cache;

// Enough entries for four levels, keys from a few values. The model is a set of (key, id).
TEST(DropHeap, IsAnOrderedSetUnderAnyInsertionsRemovalsAndNewKeys) {
  kvsim::engine::RandomStream draw(1, "heap");
  constexpr ObjectId kObjects = 300;
  HeapPositions positions(kObjects, kNotInHeap);
  DropHeap heap(positions);
  std::set<std::pair<double, ObjectId>> model;
  std::map<ObjectId, double> keys;
  for (int step = 0; step < 100'000; ++step) {
    const auto id = static_cast<ObjectId>(draw.below(kObjects));
    const auto key = static_cast<double>(draw.below(50)) - 25;
    const auto found = keys.find(id);
    if (found == keys.end()) {
      heap.insert(id, key);
      keys[id] = key;
      model.emplace(key, id);
    } else {
      model.erase({found->second, id});
      if (draw.below(2) == 0) {
        heap.update(id, key);
        found->second = key;
        model.emplace(key, id);
      } else {
        heap.erase(id);
        keys.erase(found);
        EXPECT_EQ(positions[id], kNotInHeap);
      }
    }
    if (step % 1000 == 0) {  // all keys anew
      model.clear();
      for (auto& [each, its] : keys) model.emplace(its = -its, each);
      heap.rekey([&](ObjectId each) { return keys[each]; });
    }
    ASSERT_EQ(heap.size(), model.size());
    if (model.empty()) continue;
    ASSERT_EQ(heap.top().id, model.begin()->second);
    ASSERT_EQ(heap.top().key, model.begin()->first);
    ASSERT_EQ(heap.entries()[positions[heap.top().id]].id, heap.top().id);
  }
}

}  // namespace
}  // namespace KVSIM_FILE
