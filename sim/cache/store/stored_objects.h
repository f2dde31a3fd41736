// Objects in tiers: by which name each is known, where it belongs by decision, where its bytes are whatever was
// decided, who keeps them there, and what a tier holds. The placement is told here of every change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "models/placement/option_pool.h"
#include "sim/cache/placement/placement.h"
#include "sim/cache/store/tiers.h"

namespace kvsim::cache {

/// The bytes that a tier holds. Objects that belong to it never exceed its capacity. Objects that leave it take room
/// beside that where there is some; the rest is in a bounce buffer (see TieredStore).
class TierRoom {
 public:
  explicit TierRoom(std::optional<std::int64_t> capacity) : capacity_(capacity) {}

  /// Bytes of objects that belong to it, whether there yet or not.
  [[nodiscard]] std::int64_t assigned() const { return assigned_; }
  /// Bytes of copies of objects that belong elsewhere by now, or here in fewer bytes.
  [[nodiscard]] std::int64_t leaving() const { return leaving_; }
  [[nodiscard]] std::int64_t held() const { return assigned_ + leaving_; }
  [[nodiscard]] bool fits(std::int64_t bytes) const { return !capacity_ || held() + bytes <= *capacity_; }
  [[nodiscard]] std::int64_t peak() const { return peak_; }  ///< of held()
  [[nodiscard]] std::uint64_t evictions() const { return evictions_; }

  void assign(std::int64_t bytes) {
    assigned_ += bytes;
    peak_ = std::max(peak_, held());
  }
  void unassign(std::int64_t bytes) { assigned_ -= bytes; }
  void leave(std::int64_t bytes) { leaving_ += bytes; }
  void left(std::int64_t bytes) { leaving_ -= bytes; }
  void evicted() { evictions_ += 1; }
  /// Corrects the peak, which was `before` until objects came in. They are there, or left again at once and never were.
  void settle_peak(std::int64_t before) { peak_ = std::max(before, held()); }
  [[nodiscard]] bool over_committed() const { return capacity_ && assigned_ > *capacity_; }
  void reset_statistics() {
    peak_ = held();
    evictions_ = 0;
  }

 private:
  std::optional<std::int64_t> capacity_;
  std::int64_t assigned_ = 0, leaving_ = 0, peak_ = 0;
  std::uint64_t evictions_ = 0;
};

/// Where an object's bytes are.
struct StoredCopy {
  TierIndex tier = kNoTier;
  models::OptionIndex option = 0;
  float quality = 1;
  std::uint32_t readers = 0;
  bool moving = false;     ///< by `move`: it, or (a new one) its bytes
  bool moved = false;      ///< its move is over but for its readers
  std::uint64_t move = 0;  ///< of Moves

  [[nodiscard]] bool busy() const { return readers > 0 || moving; }
};

/// Makes the placement for these tiers and objects, which outlive it.
using MakePlacement = std::function<std::unique_ptr<Placement>(const ObjectTable&, const std::vector<TierFacts>&)>;

class StoredObjects {
 public:
  /// All but `make_placement` outlives this.
  StoredObjects(const Tiers& tiers, const models::OptionPool& pool, const models::QualityTable& profiled,
                const MakePlacement& make_placement);
  StoredObjects(const StoredObjects&) = delete;

  [[nodiscard]] const ObjectTable& table() const { return table_; }
  [[nodiscard]] const CachedObject& operator[](ObjectId id) const { return table_[id]; }
  [[nodiscard]] const StoredCopy& copy(ObjectId id) const { return copies_[id]; }
  [[nodiscard]] const TierRoom& room(TierIndex tier) const { return rooms_[tier]; }
  [[nodiscard]] TierRoom& room(TierIndex tier) { return rooms_[tier]; }
  /// Placement that decides.
  [[nodiscard]] Placement& placement() { return *placement_; }

  /// Name of this content in a domain of tiers; kNoObject: none yet.
  [[nodiscard]] ObjectId find(std::size_t domain, std::uint64_t key) const;
  /// Name of this content in a domain of tiers, from now on if it had none.
  ObjectId name_in(std::size_t domain, const CachedObject& like);
  /// Name of an object in that tier; the uses of one that goes there count there, too.
  ObjectId name_at(ObjectId id, TierIndex tier);

  /// It belongs to a tier, or its bytes are in one.
  [[nodiscard]] bool taken(ObjectId id) const { return table_[id].tier != kNoTier || copies_[id].tier != kNoTier; }
  [[nodiscard]] std::int64_t bytes(ObjectId id, models::OptionIndex option) const {
    return pool_.bytes(option, table_[id].full_bytes);
  }
  /// Quality that the object would have if it were made that from what it is.
  [[nodiscard]] float quality_as(ObjectId id, models::OptionIndex option) const {
    return std::min(table_[id].quality, profiled_.quality(table_[id].curve, option));
  }

  /// It was computed, not made from another form: it is worth all that its next form is.
  void computed(ObjectId id) { table_[id].quality = 1; }
  /// It belongs there from now on, wherever it was before.
  void place(ObjectId id, TierIndex tier, models::OptionIndex option, float quality);
  /// place() for one that was nowhere; the caller tells the placement of it (Placement::moved).
  void enter(ObjectId id, TierIndex tier, models::OptionIndex option, float quality);
  /// It belongs nowhere from now on; its bytes, if there are any, are still where they are.
  void retract(ObjectId id);
  /// It is gone, and its bytes.
  void drop(ObjectId id);

  /// Held objects are not chosen to make room. Calls do not nest.
  void hold(ObjectId id);
  void release(ObjectId id);
  void begin_read(ObjectId id);
  /// True: nobody reads it any more. It is held until release() or the end of its move.
  [[nodiscard]] bool end_read(ObjectId id);

  /// Its bytes set out.
  void begin_move(ObjectId id, std::uint64_t move);
  /// Its move is over; its old copy stays for who reads it. True: nobody does.
  [[nodiscard]] bool end_move(ObjectId id);
  /// Its bytes are nowhere, or where it belongs and as what it does: nobody reads or moves them.
  void erase_copy(ObjectId id) {
    copies_[id] = {};
    ++changes_;
  }
  void put_copy(ObjectId id) {
    copies_[id] = {table_[id].tier, table_[id].option, table_[id].quality};
    ++changes_;
  }
  /// Grows with every copy that comes, goes or is worth something else.
  [[nodiscard]] std::uint64_t changes() const { return changes_; }

  /// The profile of a curve, which the objects of this content have, is another one.
  void profile_changed(models::CurveIndex curve, std::uint64_t key);

  /// Every byte is accounted for in its tier. Throws engine::InvariantViolation.
  void check_conservation() const;

 private:
  const Tiers& tiers_;
  const models::OptionPool& pool_;
  const models::QualityTable& profiled_;
  ObjectTable table_;
  std::vector<StoredCopy> copies_;                                  // by ObjectId
  std::vector<std::size_t> domains_;                                // by ObjectId
  std::vector<std::unordered_map<std::uint64_t, ObjectId>> names_;  // by domain
  std::vector<TierRoom> rooms_;                                     // by tier
  std::uint64_t changes_ = 0;
  std::unique_ptr<Placement> placement_;
};

}  // namespace kvsim::cache
