// Reservations of KV memory of one group of GPUs, and of host memory beside it, by request. Nothing enters a memory
// that was not reserved here first.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/engine/simulator.h"
#include "sim/engine/statistics.h"
#include "sim/engine/trace.h"
#include "sim/memory/kv_memory.h"
#include "sim/memory/memory_pool.h"

namespace kvsim::serving {

/// Part of a request's KV that may be found again. Kept apart: only requests whose blocks have names, or that were
/// preempted, have it.
class FindableKv {
  friend class KvHoldings;
  friend class Residence;
  std::vector<std::uint64_t> hashes_;               // of its blocks from the first token on
  std::vector<memory::BlockTable::Slot> referred_;  // by it, in order
  std::size_t told_ = 0;                            // blocks that exist and were told of
  memory::MemoryClaim chain_;                       // blocks that were loaded, or are
  std::int64_t shared_ = 0;                         // bytes of all those that it refers to
  std::int64_t found_ = 0;                          // tokens of its prompt that were there when it was first admitted
  std::int64_t gone_at_ = 0;  // of a preempted one: its first byte is the last of so many to be taken
};

/// Bytes that one request has reserved; KvHoldings writes them.
class Residence {
 public:
  /// Compressed or full KV with room for drafts; of that, what is in blocks that it shares.
  [[nodiscard]] std::int64_t held() const { return held_; }
  [[nodiscard]] std::int64_t shared() const { return findable_ ? findable_->shared_ : 0; }
  /// Tokens of its prompt that were in GPU memory when it was first admitted.
  [[nodiscard]] std::int64_t found() const { return findable_ ? findable_->found_ : 0; }
  [[nodiscard]] std::int64_t staged() const { return staged_; }  ///< full KV streaming in or there for a verification
  [[nodiscard]] std::int64_t in_host() const { return in_host_; }
  /// The chain of blocks that it holds; an empty one where there is none.
  [[nodiscard]] const memory::MemoryClaim& chain() const;
  [[nodiscard]] bool empty() const { return held_ == 0 && staged_ == 0 && shared() == 0; }

  /// Before anything else: the request's blocks, each named by a hash of all tokens up to its end.
  void name_blocks(std::vector<std::uint64_t> hashes);
  /// Returns how many of `count` blocks it has names for.
  [[nodiscard]] std::int64_t named(std::int64_t count) const;
  /// Sets found() of a prompt whose blocks have names.
  void note_found(std::int64_t tokens) {
    if (findable_) findable_->found_ = tokens;
  }
  /// The request holds `bytes` of what was grown (KvHoldings::grow) and what it had.
  void attribute(std::int64_t bytes) { held_ = bytes; }

 private:
  friend class KvHoldings;
  FindableKv& findable();

  std::unique_ptr<FindableKv> findable_;  // null: nothing is
  std::int64_t held_ = 0;
  std::int64_t staged_ = 0;
  std::int64_t replaced_ = 0;  // compressed copy evicted while the full KV is there
  std::int64_t in_host_ = 0;
};

class KvHoldings {
 public:
  /// Capacities in bytes, >= 0. `block_bytes`: of a block that requests share; 0: they share none. `simulator` (and
  /// `trace`, unless null) must outlive this.
  KvHoldings(const engine::Simulator& simulator, const std::string& group, std::int64_t gpu_bytes,
             std::int64_t host_bytes, engine::TraceSink* trace, std::int64_t block_bytes = 0);

  [[nodiscard]] const memory::KvMemory& gpu() const { return gpu_; }
  [[nodiscard]] const memory::MemoryPool& host() const { return host_; }
  /// KvMemory::available() of gpu().
  [[nodiscard]] std::int64_t available() const { return gpu_.available(); }
  /// Bytes of gpu() that requests have reserved, other than staged.
  [[nodiscard]] std::int64_t held() const { return held_; }
  [[nodiscard]] std::int64_t staged() const { return staged_; }  ///< likewise

  /// The request holds `bytes` from now on. False and no change where they do not fit.
  [[nodiscard]] bool resize(Residence& r, std::int64_t bytes);
  /// Several requests together hold so much more, of which each is told its own with Residence::attribute().
  /// Precondition: it fits.
  void grow(std::int64_t bytes);
  /// Makes room for `bytes` of full KV, in place of `replaced` bytes of what it holds. False and no change where they
  /// do not fit.
  [[nodiscard]] bool stage(Residence& r, std::int64_t bytes, std::int64_t replaced);
  /// The full KV leaves, and what it replaced is gathered again from it before: that is the smaller of the two.
  void unstage(Residence& r);
  /// Makes staged KV held KV from now on. Precondition: it replaced nothing.
  void keep_staged(Residence& r);
  /// Reserves host memory, unless the request has some already. False and no change where it does not fit.
  [[nodiscard]] bool hold_in_host(Residence& r, std::int64_t bytes);
  void leave_host(Residence& r);
  /// Frees the GPU memory of a request that is over, or preempted.
  void leave_gpu(Residence& r);

  // Blocks of KV that several requests refer to are there once. A block that no request refers to stays until its room
  // is taken, those used longest ago first, and of a request from its end.
  /// Number of its first `most` blocks that are there, up to the first that is not.
  [[nodiscard]] std::int64_t there(const Residence& r, std::int64_t most) const;
  /// Bytes of its first `count` blocks, which are there, that others refer to: it needs no room for these.
  [[nodiscard]] std::int64_t in_use(const Residence& r, std::int64_t count) const;
  /// It holds its first `count` blocks, which are there, from now on. Precondition: it holds nothing, and they fit.
  void share(Residence& r, std::int64_t count);
  /// The KV of its first `count` blocks, or of all if it has fewer, exists: others may refer to those that nobody told
  /// of before.
  void tell(Residence& r, std::int64_t count);

  // Blocks of a chain that is loaded from elsewhere are there once, too, whoever loads them.
  /// The request refers to the blocks of the chain, of which it loads those that are neither there nor on their way,
  /// and holds `own` bytes beside. False and no change where they do not fit. Precondition: it holds nothing. Where
  /// Residence::chain() misses blocks, loaded() must follow.
  [[nodiscard]] bool hold_chain(Residence& r, std::span<const std::uint64_t> chain, memory::KvForm form,
                                std::int64_t block_bytes, std::int64_t own);
  /// The blocks that the request was loading have arrived, for all who refer to them.
  void loaded(Residence& r);

  // Freed memory stays as it is until it is taken. That happens in the order in which it fell free, and of one request
  // from its end (as vLLM's queue of free blocks). So the first bytes of a preempted request may still be there.
  /// The request is preempted, and may come back.
  void push_out(Residence& r);
  /// Bytes of its first `bytes` that no other request has taken since; 0 if it was not preempted.
  [[nodiscard]] std::int64_t found(const Residence& r, std::int64_t bytes) const;
  /// The request comes back: the reservation that comes next takes what is found from where it is, not from what fell
  /// free first. Returns found(). Preconditions: it takes no less, and all requests preempted after this one are back.
  std::int64_t take_back(Residence& r, std::int64_t bytes);

  /// GPU memory of nobody in particular.
  [[nodiscard]] bool reserve_beside(std::int64_t bytes);
  void release_beside(std::int64_t bytes);

  /// Ends the warm-up.
  void start_measuring();
  /// staged() over the time since then.
  [[nodiscard]] const engine::TimeWeighted& staged_level() const { return staged_level_; }

  /// `held` and `staged`: the sums over all requests that are here. Throws InvariantViolation.
  void check_conservation(std::int64_t held, std::int64_t staged) const;

 private:
  void set_staged(Residence& r, std::int64_t bytes);
  /// Bytes of free memory that were taken in order.
  [[nodiscard]] std::int64_t taken() const { return gpu_.pool().lifetime_reserved() - taken_back_; }

  const engine::Simulator& simulator_;
  memory::KvMemory gpu_;
  memory::MemoryPool host_;
  std::int64_t block_bytes_ = 0;
  std::int64_t held_ = 0;
  std::int64_t held_shared_ = 0;  // of held_, in shared blocks, each as often as it is referred to
  std::int64_t staged_ = 0;
  std::int64_t beside_ = 0;
  std::int64_t taken_back_ = 0;
  engine::TimeWeighted staged_level_;
};

}  // namespace kvsim::serving
