// ARC, S3-FIFO and SIEVE by hand, and ARC against its published algorithm word for word.
#include <gtest/gtest.h>

#include <list>
#include <vector>

#include "sim/cache/eviction/replay.h"
#include "sim/engine/random.h"

namespace kvsim::cache::KVSIM_FILE {
namespace {

constexpr ObjectId A = 0, B = 1, C = 2, D = 3, E = 4, F = 5;

/// A cache of `capacity` objects of one byte, used by hand.
class Cache {
 public:
  Cache(const char* name, std::int64_t capacity)
      : policy_(find_eviction_policy(name)->make({capacity, nullptr})), capacity_(static_cast<std::size_t>(capacity)) {}

  /// Uses an object that is not there; returns what it pushes out.
  ObjectId miss(ObjectId id) {
    const ObjectId victim = policy_->size() == capacity_ ? policy_->evict(Pins(), id) : kNoObject;
    policy_->insert(id, 1);
    return victim;
  }
  void hit(ObjectId id) { policy_->hit(id); }

 private:
  std::unique_ptr<EvictionPolicy> policy_;
  std::size_t capacity_;
};

// Queue from the oldest: A B C. A and C are used: marks on A, C. D comes: the hand clears A's mark and evicts B; it
// stays at C. E comes: C has a mark, cleared; D, the newest, has none and leaves: the hand goes back to the oldest. F
// comes: A lost its mark and leaves, though it was used later than D came.
TEST(Sieve, AHandWorkedExample) {
  Cache cache("sieve", 3);
  for (const ObjectId id : {A, B, C}) EXPECT_EQ(cache.miss(id), kNoObject);
  cache.hit(A);
  cache.hit(C);
  EXPECT_EQ(cache.miss(D), B);
  EXPECT_EQ(cache.miss(E), D);
  EXPECT_EQ(cache.miss(F), A);
}

// Capacity 10: S has one byte, M nine. 0 to 9 fill S. 0 is used twice, 1 once.
// 10 comes: S holds 10 >= 1, its oldest is 0, used more than once: to M. Next 1, used once only: leaves, G = {1}.
// 1 comes: 2 leaves to G; G remembered 1, so it goes to M: M = 0 1, S = 3 ... 10.
// 11 to 18 come: 3 ... 10 leave one by one to G (G = 2 ... 10, nine bytes, none forgotten), S = 11 ... 18, M = 0 1.
// 2 comes, remembered: 11 leaves to G. G had 2 ... 10 and 11, one too many, so 2 is forgotten before it comes in, as
// algorithm 1 evicts first: 2 goes to S.
TEST(S3Fifo, AHandWorkedExample) {
  Cache cache("s3fifo", 10);
  for (ObjectId id = 0; id < 10; ++id) EXPECT_EQ(cache.miss(id), kNoObject);
  cache.hit(0);
  cache.hit(0);
  cache.hit(1);
  EXPECT_EQ(cache.miss(10), 1U);
  EXPECT_EQ(cache.miss(1), 2U);
  for (ObjectId id = 11; id <= 18; ++id) EXPECT_EQ(cache.miss(id), id - 8);
  EXPECT_EQ(cache.miss(2), 11U);
  // Room ten times over: 12 ... 18 and 2 leave S, which shows that 2 was there; 0 and 1 in M are not touched.
  for (ObjectId id = 30; id < 37; ++id) EXPECT_EQ(cache.miss(id), id - 18);
  EXPECT_EQ(cache.miss(37), 2U);
}

// Capacity 10 again, with 0 to 8 in M: each is used twice while it is in S. 20 comes: 0 ... 8 go to M, nine bytes, and
// 9 leaves S. 0 is used three times, 1 four, which counts as three. S holds 20 alone: one byte is not too little, so S
// gives the victim each time, and M is not asked.
// Then 20 is used twice: 21 comes, 20 goes to M, which now has ten bytes, one too many: M's oldest, 0, has three uses
// and goes round, 1 too, and 2 leaves.
TEST(S3Fifo, WhatIsUsedInTheSmallQueueGoesToMainWhichThenGivesTheVictim) {
  Cache cache("s3fifo", 10);
  for (ObjectId id = 0; id < 10; ++id) cache.miss(id);
  for (ObjectId id = 0; id < 9; ++id) {
    cache.hit(id);
    cache.hit(id);
  }
  EXPECT_EQ(cache.miss(20), 9U);
  for (int i = 0; i < 3; ++i) cache.hit(0);
  for (int i = 0; i < 4; ++i) cache.hit(1);
  cache.hit(20);
  cache.hit(20);
  EXPECT_EQ(cache.miss(21), 2U);
}

// c = 3. A B C fill T1; A is used: T1 = B C, T2 = A, p = 0.
// D: |T1| = 2 > p: B to B1. T1 = C D, |L1| = 3.
// B, remembered by B1: p = 0 + max(1, 0/1) = 1; |T1| = 2 > 1: C to B1; T1 = D, T2 = B A.
// E, new: |L1| = |T1| + |B1| = 2 < 3, |T1| = 1 is not > 1: T2's oldest, A, to B2. T1 = E D, T2 = B.
// A, remembered by B2: p = 1 - max(1, 1/1) = 0; |T1| = 2 > 0: D to B1. T1 = E, T2 = A B.
TEST(Arc, AHandWorkedExample) {
  Cache cache("arc", 3);
  for (const ObjectId id : {A, B, C}) EXPECT_EQ(cache.miss(id), kNoObject);
  cache.hit(A);
  EXPECT_EQ(cache.miss(D), B);
  EXPECT_EQ(cache.miss(B), C);
  EXPECT_EQ(cache.miss(E), A);
  EXPECT_EQ(cache.miss(A), D);
}

/// ARC(c) of figure 4, on pages, with its cases and their order; the front of a list is its MRU end.
class PublishedArc {
 public:
  explicit PublishedArc(std::size_t c) : c_(c) {}

  bool use(ObjectId x) {
    if (take(t1_, x) || take(t2_, x)) {  // case I
      t2_.push_front(x);
      return true;
    }
    if (has(b1_, x)) {  // case II
      p_ = std::min(static_cast<double>(c_), p_ + std::max(ratio(b2_, b1_), 1.0));
      replace(x);
      take(b1_, x);
      t2_.push_front(x);
      return false;
    }
    if (has(b2_, x)) {  // case III
      p_ = std::max(0.0, p_ - std::max(ratio(b1_, b2_), 1.0));
      replace(x);
      take(b2_, x);
      t2_.push_front(x);
      return false;
    }
    const std::size_t l1 = t1_.size() + b1_.size(), all = l1 + t2_.size() + b2_.size();  // case IV
    if (l1 == c_) {
      if (t1_.size() < c_) {
        b1_.pop_back();
        replace(x);
      } else {
        t1_.pop_back();
      }
    } else if (all >= c_) {
      if (all == 2 * c_) b2_.pop_back();
      replace(x);
    }
    t1_.push_front(x);
    return false;
  }

 private:
  using List = std::list<ObjectId>;
  static bool has(const List& list, ObjectId x) { return std::find(list.begin(), list.end(), x) != list.end(); }
  static bool take(List& list, ObjectId x) { return list.remove(x) > 0; }
  static double ratio(const List& a, const List& b) {
    return static_cast<double>(a.size()) / static_cast<double>(b.size());
  }
  void replace(ObjectId x) {
    const auto t1 = static_cast<double>(t1_.size());
    if (!t1_.empty() && ((has(b2_, x) && t1 == p_) || t1 > p_)) {
      b1_.push_front(t1_.back());
      t1_.pop_back();
    } else {
      b2_.push_front(t2_.back());
      t2_.pop_back();
    }
  }

  std::size_t c_;
  double p_ = 0;
  List t1_, t2_, b1_, b2_;
};

TEST(Arc, IsThePublishedAlgorithmOnObjectsOfOneSize) {
  engine::RandomStream random(1, "uses");
  for (const std::size_t c : {1U, 2U, 3U, 7U, 20U, 40U}) {
    ObjectTrace trace;
    trace.objects = 100;
    // Popular objects, and scans now and then, so that both memories are used.
    for (int i = 0; i < 5'000; ++i) {
      const bool scan = i / 200 % 3 == 2;
      trace.uses.push_back(static_cast<ObjectId>(scan ? static_cast<std::uint64_t>(i) % 100 : random.zipf(100, 0.8)));
    }
    PublishedArc published(c);
    std::uint64_t hits = 0;
    for (const ObjectId id : trace.uses) hits += published.use(id) ? 1 : 0;
    EXPECT_EQ(replay(*find_eviction_policy("arc"), static_cast<std::int64_t>(c), trace).hits, hits) << c;
  }
}

}  // namespace
}  // namespace kvsim::cache::KVSIM_FILE
