// KvMemory against the straightforward way: lists of blocks, searched from end to end.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/memory/kv_memory.h"
#include "tests/memory/chains.h"

namespace kvsim::testing::KVSIM_FILE {
namespace {

using memory::KvForm;
using memory::KvMemory;
using memory::MemoryClaim;
using Key = std::pair<KvForm, std::uint64_t>;

std::int64_t bytes_of(KvForm form) {
  return form == KvForm::full ? 10 : 3;
}

struct Holder {
  Chain chain;
  KvForm form = KvForm::full;
  std::int64_t private_bytes = 0;
  std::vector<Key> loading;
  MemoryClaim claim;
};

class NaiveMemory {
 public:
  explicit NaiveMemory(std::int64_t capacity) : capacity_(capacity) {}

  [[nodiscard]] bool there(const Key& key) const { return held_.contains(key); }
  [[nodiscard]] bool loading(const Key& key) const { return held_.at(key).loading; }

  [[nodiscard]] std::int64_t reserved() const {
    std::int64_t sum = private_;
    for (const auto& [key, block] : held_) sum += block.holders > 0 ? bytes_of(key.first) : 0;
    return sum;
  }
  [[nodiscard]] std::int64_t cached() const {
    std::int64_t sum = 0;
    for (const Key& key : unused_) sum += bytes_of(key.first);
    return sum;
  }
  [[nodiscard]] std::int64_t need(const Holder& h) const {
    std::int64_t sum = h.private_bytes;
    for (const std::uint64_t hash : h.chain) sum += there({h.form, hash}) ? 0 : bytes_of(h.form);
    return sum;
  }
  /// Tries it on a copy: refer to everything, evict all that can be, and see.
  [[nodiscard]] bool fits(const Holder& h, std::int64_t keep_free) const {
    NaiveMemory copy = *this;
    copy.refer(h);
    return copy.reserved() + keep_free <= capacity_;
  }
  /// For what fits.
  void claim(Holder& h) {
    h.loading = refer(h);
    evict();
  }
  void loaded(Holder& h) {
    for (const Key& key : h.loading) held_.at(key).loading = false;
    h.loading.clear();
  }
  void release(const Holder& h) {
    private_ -= h.private_bytes;
    for (auto hash = h.chain.rbegin(); hash != h.chain.rend(); ++hash) {
      const Key key{h.form, *hash};
      if (--held_.at(key).holders == 0) unused_.push_back(key);
    }
  }
  [[nodiscard]] const std::vector<Key>& unused() const { return unused_; }

 private:
  struct Block {
    int holders = 0;
    bool loading = false;
  };

  std::vector<Key> refer(const Holder& h) {
    std::vector<Key> loading;
    private_ += h.private_bytes;
    for (const std::uint64_t hash : h.chain) {
      const Key key{h.form, hash};
      if (!there(key)) {
        held_[key].loading = true;
        loading.push_back(key);
      }
      held_.at(key).holders += 1;
      unused_.erase(std::remove(unused_.begin(), unused_.end(), key), unused_.end());
    }
    return loading;
  }
  void evict() {
    while (reserved() + cached() > capacity_) {
      held_.erase(unused_.front());
      unused_.erase(unused_.begin());
    }
  }

  std::int64_t capacity_ = 0;
  std::int64_t private_ = 0;
  std::map<Key, Block> held_;
  std::vector<Key> unused_;  // oldest first
};

/// A memory and its model, put through the same operations.
class Pair {
 public:
  explicit Pair(std::int64_t capacity) : capacity_(capacity), memory_(simulator_, "node", capacity), model_(capacity) {}

  void claim(const Chain& chain, KvForm form, std::int64_t private_bytes, std::int64_t keep_free) {
    Holder h{chain, form, private_bytes, {}, {}};
    const std::int64_t block = bytes_of(form);
    RC_ASSERT(memory_.need(chain, form, block, private_bytes) == model_.need(h));
    RC_ASSERT(memory_.fits(chain, form, block, private_bytes, keep_free) == model_.fits(h, keep_free));
    const bool fits = model_.fits(h, 0);
    std::int64_t joined = 0, present = 0;
    for (const std::uint64_t hash : chain) {
      if (model_.there({form, hash})) (model_.loading({form, hash}) ? joined : present) += 1;
    }
    RC_ASSERT(memory_.try_claim(h.claim, chain, form, block, private_bytes) == fits);
    if (!fits) {
      RC_ASSERT(h.claim.empty());
      return;
    }
    RC_ASSERT(h.claim.joined == joined);
    RC_ASSERT(h.claim.present == present);
    RC_ASSERT(h.claim.missing == std::ssize(chain) - joined - present);
    model_.claim(h);
    holders_.push_back(std::move(h));
  }
  void load(std::size_t which) {
    if (holders_.empty()) return;
    Holder& h = holders_[which % holders_.size()];
    memory_.loaded(h.claim);
    model_.loaded(h);
  }
  void release(std::size_t which) {
    if (holders_.empty()) return;
    load(which);
    const auto at = holders_.begin() + static_cast<std::ptrdiff_t>(which % holders_.size());
    memory_.release(at->claim);
    RC_ASSERT(at->claim.empty());
    model_.release(*at);
    holders_.erase(at);
  }
  void compare() const {
    memory_.check_conservation();
    RC_ASSERT(memory_.reserved() == model_.reserved());
    RC_ASSERT(memory_.cached() == model_.cached());
    RC_ASSERT(memory_.reserved() + memory_.cached() <= capacity_);
    for (const Key& key : model_.unused()) {  // the same blocks, so the same ones were evicted
      RC_ASSERT(memory_.need(std::vector{key.second}, key.first, 1, 0) == 0);
    }
    for (const Holder& h : holders_) {
      RC_ASSERT(memory_.complete(h.claim) == std::none_of(h.chain.begin(), h.chain.end(), [&](std::uint64_t hash) {
                  return model_.loading({h.form, hash});
                }));
    }
  }
  void finish() {
    while (!holders_.empty()) release(0);
    compare();
    RC_ASSERT(memory_.reserved() == 0);
  }

 private:
  std::int64_t capacity_ = 0;
  engine::Simulator simulator_;
  KvMemory memory_;
  NaiveMemory model_;
  std::deque<Holder> holders_;
};

RC_GTEST_PROP(KvMemoryProperty, DoesWhatANaiveMemoryDoes, ()) {
  Pair both(*rc::gen::inRange<std::int64_t>(0, 200));
  const int operations = *rc::gen::inRange(0, 120);
  for (int i = 0; i < operations; ++i) {
    const auto which = static_cast<std::size_t>(*rc::gen::inRange(0, 1000));
    const std::int64_t bytes = *rc::gen::inRange<std::int64_t>(0, 40);
    switch (*rc::gen::inRange(0, 5)) {
      case 0:
        both.load(which);
        break;
      case 1:
      case 2:
        both.release(which);
        break;
      default: {
        const auto steps = static_cast<std::size_t>(*rc::gen::inRange(0, 6));
        const auto path = *rc::gen::container<std::vector<int>>(steps, rc::gen::inRange(0, 2));
        const KvForm form = *rc::gen::inRange(0, 4) == 0 ? KvForm::compressed : KvForm::full;
        both.claim(chain_of(path), form, bytes, static_cast<std::int64_t>(which % 50));
      }
    }
    both.compare();
  }
  both.finish();
}

}  // namespace
}  // namespace kvsim::testing::KVSIM_FILE
