// Tiers of memory and storage that hold objects for later: the mechanism. A Placement decides what belongs where and as
// what; the store makes room, moves the bytes over links that loads use too, compresses on CPU workers, and keeps what
// is being read until its last reader is done.
//
// Decisions count at once: an object belongs to its new tier as soon as that is decided. Its bytes follow; until they
// have arrived its old copy can be read, and takes up room beside what belongs to the tier it leaves. Both together
// never exceed a tier's capacity. What becomes smaller where it is takes the place of the larger form when it is ready.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/placement/option_pool.h"
#include "sim/cache/placement/placement.h"
#include "sim/engine/server_pool.h"
#include "sim/engine/simulator.h"
#include "sim/engine/slot_table.h"
#include "sim/transport/fabric.h"

namespace kvsim::cache {

// What a tiered store is made of: replicas, each with its links to host memory, and tiers from the fastest down.

enum class TierKind {
  gpu,    ///< a part of a replica's GPU memory: read by copying within it
  host,   ///< host memory: read and written over the replica's links
  device  ///< below host memory: crosses its own links and host memory
};

struct StoreTier {
  std::string name;
  TierKind kind = TierKind::host;
  std::optional<std::int64_t> capacity_bytes;  ///< of each; none: without end
  double read_bytes_per_s = 0;                 ///< device; gpu: of copies within it
  double write_bytes_per_s = 0;                ///< device
  double latency_s = 0;                        ///< device: of every read and write
  bool shared = false;                         ///< one for all replicas, else one each; below a shared tier all are
  std::vector<transport::Outage> outages{};    ///< device: of its links
};

struct StoreConfig {
  std::size_t replicas = 1;
  double host_to_gpu_bytes_per_s = 0;  ///< of a replica
  double gpu_to_host_bytes_per_s = 0;
  double host_latency_s = 0;
  double host_setup_s = 0;
  transport::Queueing host_queueing = transport::Queueing::serialised;  ///< in each lane over them
  std::vector<transport::Outage> host_outages{};
  std::vector<StoreTier> tiers{};   ///< fastest first; only the last may be without end
  std::size_t workers = 1;          ///< that compress, for all replicas together
  double in_transit = 0.1;          ///< share of a tier's capacity kept for what is on its way out of it
  bool keeps_whole = false;         ///< what is stored is also kept whole in the last tier, which is without end
  bool observed_bandwidth = false;  ///< what the placement takes a tier's bandwidth to be: what loads got lately
};

/// A stored copy that can be read now.
struct Found {
  ObjectId id = kNoObject;  ///< kNoObject: there is none
  std::size_t level = 0;    ///< of StoreConfig::tiers
  models::OptionIndex option = 0;
  float quality = 1;  ///< as profiled
};

/// What happened so far; differences are taken between two of them.
struct StoreCounts {
  std::uint64_t loads = 0, joined_loads = 0;
  std::uint64_t stores = 0, unstored = 0, promotions = 0, demotions = 0, recompressions = 0, drops = 0;
  std::int64_t moved_bytes = 0;
  std::uint64_t whole_loads = 0;  ///< reads of what compressed copies lack
  std::int64_t whole_bytes = 0;   ///< of these
};

class TieredStore {
 public:
  /// Makes the placement for these tiers and objects, which outlive it.
  using MakePlacement = std::function<std::unique_ptr<Placement>(const ObjectTable&, const std::vector<TierFacts>&)>;

  /// All but `config` outlives the store. Its links and lanes are the fabric's. Throws std::invalid_argument where the
  /// tiers make no sense.
  TieredStore(engine::Simulator& simulator, transport::Fabric& fabric, const StoreConfig& config,
              const models::OptionPool& pool, const models::QualityTable& profiled,
              const MakePlacement& make_placement);
  TieredStore(const TieredStore&) = delete;
  TieredStore& operator=(const TieredStore&) = delete;

  /// The object of this content in the tiers that a replica has for itself (or all share), known from now on.
  /// `share`: see CachedObject.
  ObjectId object(std::size_t replica, std::uint64_t key, std::int64_t full_bytes, std::int64_t tokens,
                  models::CurveIndex curve, float share = 1);
  [[nodiscard]] const ObjectTable& objects() const { return objects_; }

  /// Puts objects of object() where they would go if they were stored one after the other, the first being the most
  /// wanted, and nothing gave way: down to where there is room. They are there at once, and no bytes move.
  void preload(std::size_t replica, std::span<const ObjectId> objects);

  /// A copy for the replica to read. Where objects are kept whole beside what was stored of them, a compressed one
  /// counts from when its whole copy is there.
  [[nodiscard]] Found find(std::size_t replica, std::uint64_t key) const;

  /// Loads what find() returned now, all of it; `done` runs when the last byte is on the replica, never within the
  /// call. What is on its way there for somebody else is shared.
  void load(std::size_t replica, std::span<const ObjectId> found, std::uint64_t owner, engine::Callback done);

  struct Missing {
    ObjectId id = kNoObject;  ///< as it was found
    std::int64_t bytes = 0;   ///< that its stored copy lacks
  };
  /// Loads what compressed copies lack from wherever the object is whole: from the tier it is in, if its copy there is
  /// whole by now, else from the last one (StoreConfig::keeps_whole). Nobody shares such a load.
  void load_missing(std::size_t replica, std::span<const Missing> missing, std::uint64_t owner, engine::Callback done);

  /// A request of the replica used these, the last one first; those that were found under another name count there,
  /// too.
  void used(std::span<const ObjectId> own, std::span<const ObjectId> found);

  /// Stores objects of object() whose full KV is in the replica's GPU memory now; those that are there or on their way
  /// already are passed over. `before`: the objects that a chain begins with, which stay more recent than these. What
  /// finds no room waits for it until withdraw(owner).
  void store(std::size_t replica, std::span<const ObjectId> computed, std::span<const ObjectId> before,
             std::uint64_t owner);
  /// The same for one whose stored copy is to be another one, by a new profile: it gives way, unless somebody reads or
  /// moves it. What finds no room at once is not stored.
  void store_again(std::size_t replica, ObjectId computed);
  /// The KV leaves the GPU: what still waits is stored now, with whatever room there is, or not at all.
  void withdraw(std::uint64_t owner);

  /// The profile of a curve, which the objects of this content have, is another one.
  void profile_changed(models::CurveIndex curve, std::uint64_t key);

  [[nodiscard]] StoreCounts counts() const { return counts_; }
  [[nodiscard]] std::size_t levels() const { return config_.tiers.size(); }
  [[nodiscard]] const std::string& level_name(std::size_t level) const { return config_.tiers[level].name; }

  struct LevelUse {
    std::int64_t peak_bytes = 0;  ///< of the fullest tier of the level, copies on their way out included
    std::uint64_t evictions = 0;  ///< objects that had to leave
    std::vector<std::uint64_t> objects_by_option;
    std::int64_t bytes = 0, full_bytes = 0;  ///< of what belongs there now
    std::int64_t whole_bytes = 0;            ///< of copies kept whole, beside that
  };
  [[nodiscard]] LevelUse level_use(std::size_t level) const;
  /// Forgets peaks and evictions by level: the end of a warm-up.
  void reset_statistics();

  /// Every byte is accounted for in its tier. Throws engine::InvariantViolation.
  void check_conservation();

 private:
  struct Tier {
    std::size_t level = 0;
    std::size_t domain = 0;
    std::optional<std::int64_t> capacity;
    std::int64_t assigned = 0;  // of objects that belong to it, whether there yet or not
    std::int64_t leaving = 0;   // of copies of objects that belong elsewhere by now, or here in fewer bytes
    std::int64_t peak = 0;
    std::uint64_t evictions = 0;
    std::vector<transport::Lane*> loads;   // to each replica that can read it; one where the tier is a replica's own
    transport::Lane* read_down = nullptr;  // device, gpu: to host memory, for what moves to another tier
    transport::Lane* write = nullptr;      // device
    double observed_bytes_per_s = 0;
  };
  /// Where an object's bytes are, whatever was decided.
  struct Copy {
    TierIndex tier = kNoTier;
    models::OptionIndex option = 0;
    float quality = 1;
    std::uint32_t readers = 0;
    bool moving = false;
    bool moved = false;  // its move is over but for its readers
    std::uint64_t transition = 0;
  };
  struct Batch {
    TierIndex tier = kNoTier;
    std::size_t replica = 0;
    std::int64_t bytes = 0;
    engine::SimTime since;
    std::vector<ObjectId> objects;
    std::vector<std::uint64_t> loads;
    bool lacking = false;  // of load_missing
  };
  struct Load {
    std::size_t pending = 0;
    engine::Callback done;
  };
  /// Bytes that follow a decision: of objects stored together, or of one that moves.
  struct Transition {
    std::vector<ObjectId> objects;  // as they are called where they go
    ObjectId source = kNoObject;    // the one that moves, as it is called where it comes from
    TierIndex from = kNoTier, to = kNoTier;
    models::OptionIndex option = 0;
    bool compresses = false;
    std::int64_t full_bytes = 0;  // what leaves the GPU or is read
    std::int64_t source_bytes = 0, bytes = 0;
    std::int64_t leaving = 0;  // room in `from` until it is over
    std::size_t replica = 0;
    std::uint64_t owner = 0;
  };
  /// Objects of one request that are to be stored, in order.
  struct Pending {
    std::size_t replica = 0;
    std::uint64_t owner = 0;
    std::vector<ObjectId> before;  // what they continue
    std::vector<ObjectId> objects;
  };

  // Set-up (tiered_store.cpp).
  void set_up();
  std::vector<transport::LinkId> make_host_links();
  void add_tier(std::size_t level, std::size_t domain, const std::vector<transport::LinkId>& to_gpu);
  transport::LinkId add_device_links(Tier& tier, const StoreTier& t);
  transport::Lane* add_load_lane(const StoreTier& t, std::optional<transport::LinkId> read, transport::LinkId to_gpu,
                                 std::size_t replica);

  ObjectId name_in(std::size_t domain, const CachedObject& like);
  ObjectId name_at(ObjectId id, TierIndex tier);
  [[nodiscard]] std::size_t domain_of(std::size_t replica) const;
  [[nodiscard]] const StoreTier& spec(TierIndex tier) const { return config_.tiers[tiers_[tier].level]; }
  [[nodiscard]] double nominal_bandwidth(TierIndex tier) const;
  void believe_nominal();
  [[nodiscard]] transport::Lane& load_lane(TierIndex tier, std::size_t replica) const;
  [[nodiscard]] std::int64_t bytes_of(ObjectId id, models::OptionIndex option) const {
    return pool_.bytes(option, objects_[id].full_bytes);
  }

  // Loads (loads.cpp).
  /// The batches that a load begins, one for each tier that it reads.
  using Begun = std::vector<std::pair<TierIndex, std::uint64_t>>;
  std::uint64_t batch_of(Begun& begun, TierIndex tier, std::size_t replica, std::uint64_t load, bool lacking);
  void read(ObjectId id);
  void submit(const Begun& begun, std::size_t replica, std::uint64_t owner, const char* kind);
  void join(std::uint64_t batch, std::uint64_t load);
  void on_batch(std::uint64_t batch);
  void observe(TierIndex tier, double bytes, double seconds);
  void end_read(ObjectId id);
  void consider_promotion(ObjectId id, std::size_t replica);
  bool promote(ObjectId id, std::size_t replica, TierIndex to);

  // Whole copies (loads.cpp).
  using WholeCopies = std::unordered_map<std::uint64_t, bool>;  // by content: true once it is there
  [[nodiscard]] TierIndex last_tier(std::size_t replica) const;
  [[nodiscard]] bool has_whole(std::size_t replica, std::uint64_t key) const;
  void keep_whole(const Transition& stored);
  void write_whole(std::uint64_t write);
  void on_whole(std::uint64_t write);

  // Decisions and moves (moves.cpp).
  bool make_room(TierIndex tier, std::int64_t bytes, ObjectId incoming);
  [[nodiscard]] bool has_room(TierIndex tier, std::int64_t bytes) const;
  [[nodiscard]] bool waits(TierIndex tier, ObjectId incoming, const Change& change) const;
  bool apply(const Change& change);
  bool reassign(const Change& change);
  bool settle(const Change& where);
  void drop(ObjectId id);
  void demote(ObjectId id, const Change& change);
  void assign(ObjectId id, TierIndex tier, models::OptionIndex option, float quality);
  void hold(ObjectId id);
  void release(ObjectId id);
  void store_chain(Pending& chain);
  std::size_t store_some(std::size_t replica, std::span<const ObjectId> objects, std::uint64_t owner);
  void begin_stores(std::size_t replica, std::span<const ObjectId> objects, std::uint64_t owner);
  void start(Transition transition);
  void on_read(std::uint64_t transition);
  void on_compressed(std::uint64_t transition);
  void on_written(std::uint64_t transition);
  void finish_move(std::uint64_t transition);
  void retry_stores();
  void retry_soon();
  [[nodiscard]] float quality_as(ObjectId id, models::OptionIndex option) const;

  engine::Simulator& simulator_;
  StoreConfig config_;
  const models::OptionPool& pool_;
  const models::QualityTable& profiled_;
  transport::Fabric& fabric_;
  engine::ServerPool workers_;
  std::vector<Tier> tiers_;
  std::vector<TierFacts> facts_;               // by tier, what the placement sees
  std::vector<TierIndex> first_tier_;          // by replica
  std::vector<transport::Lane*> gpu_to_host_;  // by replica
  std::size_t shared_domain_ = 0;
  std::vector<std::unordered_map<std::uint64_t, ObjectId>> names_;  // by domain
  ObjectTable objects_;
  std::vector<Copy> copies_;          // by ObjectId
  std::vector<std::size_t> domains_;  // by ObjectId
  std::unique_ptr<Placement> placement_;
  struct WholeWrite {
    std::size_t replica = 0;
    std::vector<std::uint64_t> keys;
    std::int64_t bytes = 0;
    std::uint64_t owner = 0;
  };
  std::vector<WholeCopies> whole_;  // by domain of the last tier
  engine::SlotTable<WholeWrite> whole_writes_;
  std::vector<std::int64_t> whole_bytes_;  // by tier
  engine::SlotTable<Batch> batches_;
  engine::SlotTable<Load> loads_;
  engine::SlotTable<Transition> transitions_;
  std::unordered_map<std::uint64_t, std::uint64_t> on_their_way_;  // batch by object and replica
  std::deque<Pending> pending_;
  std::vector<ObjectId> fresh_;  // belong to a tier, and their bytes have not set out yet
  bool retry_planned_ = false;
  bool last_chance_ = false;  // the KV of what is being stored is about to leave the GPU
  engine::SimTime believed_at_;
  StoreCounts counts_;
};

}  // namespace kvsim::cache
