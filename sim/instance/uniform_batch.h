// Requests that take part in step after step with one token each, as one: those that decode, and those that draft
// between two verifications. As long as nothing else becomes of them, a step is the same for each, but that it reads a
// token more. The batch keeps their sums and the number of its steps; what a request has come to follows from when it
// joined, and is written into it when somebody asks. So a step costs the same whatever their number, and a stretch of
// such steps is one event.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "models/kernels/step_times.h"
#include "models/kernels/step_work.h"
#include "sim/engine/ordered_queue.h"
#include "sim/engine/simulator.h"
#include "sim/engine/time.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/request.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

/// GrowingKv is the memory of requests that hold one token more with each step, in whole blocks: it knows with how many
/// of them a step reaches into another block. It counts in units of the KV, from the first step on.
class GrowingKv {
 public:
  /// `geometry` outlives this, with `compressed` for requests that decode over compressed KV. Null: nothing grows.
  GrowingKv(const KvGeometry* geometry, bool compressed);

  /// The KV of some requests grows regularly.
  [[nodiscard]] bool possible() const { return !by_first_.empty(); }
  /// Units that a request, up to date after so many `steps`, would have held in the first one; nothing where its KV
  /// will not grow regularly.
  [[nodiscard]] std::optional<std::int64_t> first(const Request& r, std::int64_t steps) const;
  /// That so many `steps` later in bytes, whole blocks.
  [[nodiscard]] std::int64_t bytes(std::int64_t first, std::int64_t steps) const {
    return (first + steps * units_.a_token_adds + block_ - 1) / block_ * geometry_->block_bytes();
  }
  /// A request comes (`sign` 1) or goes (-1).
  void count(std::int64_t first, std::int64_t sign) { by_first_[within_block(first - 1)] += sign; }
  /// Bytes that all of them take with the step before which so many `steps` have ended.
  [[nodiscard]] std::int64_t growth(std::int64_t steps) const;

 private:
  /// `units` less whole blocks.
  [[nodiscard]] std::size_t within_block(std::int64_t units) const {
    if (within_ >= 0) return static_cast<std::size_t>(units & within_);
    return static_cast<std::size_t>((units % block_ + block_) % block_);
  }

  const KvGeometry* geometry_;
  bool compressed_;
  CompressedContext::TokenUnits units_;
  std::int64_t block_ = 1;              // units
  std::int64_t within_ = -1;            // block_ - 1 where that is a power of two
  std::vector<std::int64_t> by_first_;  // requests, by what they would have held, less one unit and whole blocks
};

class UniformBatch {
 public:
  /// All of it outlives this. `memory`: what those who decode hold grows with their tokens; null: they have all that
  /// they will ever need, like those who draft. A timeline shows every request by itself: with `traced`, nobody joins.
  UniformBatch(const StepParts& parts, const KvGeometry& geometry, KvHoldings* memory, bool traced);

  /// Whether requests can join at all that do this; only of such does a step read a whole token more each time.
  [[nodiscard]] bool possible(Work work) const;
  [[nodiscard]] std::int64_t size() const { return decoding_ + drafting_; }
  [[nodiscard]] std::int64_t decoding() const { return decoding_; }
  [[nodiscard]] bool has(const Request& r) const { return r.uniform_place.batch_ == this; }
  [[nodiscard]] bool decodes(const Request& r) const { return has(r) && !r.uniform_place.drafts_; }

  /// Between two steps. A request that decodes joins when it has emitted a token now, at the end of a step of all
  /// members; one that drafts at any time. It is over after so many more `tokens`, at least one. False and no change
  /// where it is not in step with the others, or holds another amount of memory than they do.
  bool join(Request& r, Work work, std::int64_t tokens, engine::SimTime now);
  /// The request is updated and goes its own way; nothing happens to others than members.
  void leave(Request& r);
  /// Brings a member up to date.
  void update(Request& r);
  /// GPU memory that a request holds, member or not, bytes.
  [[nodiscard]] std::int64_t held(const Request& r) const;

  // A step of all members.
  /// GPU memory that it, or the one so many after it, takes beyond what they hold, bytes.
  [[nodiscard]] std::int64_t growth(std::int64_t after = 0) const { return kv_.growth(steps_ + after); }
  /// Reserves that, which must be there, and adds what the step computes.
  void begin_step(models::StepWork& work);
  /// Members that drafted when the step under way, or the last one, began: who has left since has drafted, too.
  [[nodiscard]] std::int64_t drafts() const { return drafts_; }
  /// Since the last token of each that decodes.
  [[nodiscard]] engine::Duration gap(engine::SimTime now) const { return now - last_end_; }
  /// With the step under way, or the coming one, somebody is due, or the listener looks; or there is no memory for the
  /// one after it.
  [[nodiscard]] bool ends_with_step() const {
    return next_due_ == steps_ + 1 || steps_ >= looks_after_ || (memory_ && growth(1) > memory_->available());
  }
  /// The listener looks after the step under way and so many further ones.
  void look_after(std::int64_t steps) { looks_after_ = steps > kNever - steps_ ? kNever : steps_ + steps; }
  /// Each has emitted or drafted a token. Those that now have all of theirs leave, and are appended to `over` in order
  /// of admission.
  void end_step(engine::SimTime now, std::vector<Request*>& over);
  /// Ends a step after which a member may go on: `further(r)`, which is up to date, says for how many more tokens; 0:
  /// it leaves.
  template <class Further>
  void end_step(engine::SimTime now, std::vector<Request*>& over, Further&& further);
  /// Ends a step of which no member has all of its tokens.
  void end_step(engine::SimTime now);

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

  /// Gaps knows the longest inter-token latency since any step.
  class Gaps {
   public:
    void add(std::int64_t step, engine::Duration length);
    [[nodiscard]] engine::Duration longest_since(std::int64_t step) const;
    void clear() {
      last_ = {};
      gaps_.clear();
    }

   private:
    struct Gap {
      std::int64_t step;
      engine::Duration length;
    };
    Gap last_{};             // of the last step; step 0: nobody decoded in one
    std::vector<Gap> gaps_;  // of the steps before it, those that none after them was as long as
  };

  /// Reads says what a step reads and attends to, or by how much that grows with each step. The sums over members are
  /// exact, whoever came and went: see KvGeometry.
  struct Reads {
    double kv_bytes = 0, pairs = 0, quantised = 0;

    void add(const Reads& other, double times) {
      kv_bytes += times * other.kv_bytes;
      pairs += times * other.pairs;
      quantised += times * other.quantised;
    }
  };

  /// A member, numbered by its place in members_.
  struct Member {
    std::int64_t since = 0;     // steps of the batch that it has been told of
    std::uint64_t due = 0;      // its place in the order of who is due
    std::uint64_t longest = 0;  // and of who attends to how much
    Reads first, growth;        // in the batch's first step, as it would have been, and with each one more
    std::int64_t held = 0;      // likewise: GrowingKv::first()
  };

  [[nodiscard]] Member& of(const Request& r) { return members_[r.uniform_place.member_]; }
  [[nodiscard]] const Member& of(const Request& r) const { return members_[r.uniform_place.member_]; }
  void enter(Request& r, Work work, const Member& member);
  [[nodiscard]] bool grows(const Request& r) const { return memory_ != nullptr && !r.uniform_place.drafts_; }
  void find_first();
  void count(const Request& r, std::int64_t sign);
  void forget(Request& r);

  const StepParts& parts_;
  KvHoldings* memory_;
  bool traced_;
  bool under_way_ = false;             // a step
  std::int64_t steps_ = 0;             // that have ended
  std::int64_t looks_after_ = kNever;  // of these
  engine::SimTime last_end_;           // of a step, or of the one with which the first member joined
  std::int64_t decoding_ = 0, drafting_ = 0, drafts_ = 0;
  Reads coming_, growth_;  // of the coming step, all members, and over the last one
  // Members by the step after which they are over, and by what they attend to, in 1024ths, of which the steps that had
  // ended when they joined are taken off, so that it is the same as long as they are members: the longest comes first.
  engine::OrderedQueue<Request*> due_;
  engine::OrderedQueue<std::uint32_t> longest_;
  // The first of both, looked at in every step.
  std::int64_t next_due_ = kNever;
  double longest_pairs_ = 0;
  std::vector<Member> members_;
  std::vector<std::uint32_t> free_;  // numbers there that nobody has
  GrowingKv kv_;                     // of those who decode
  Gaps gaps_;                        // between their tokens
};

template <class Further>
void UniformBatch::end_step(engine::SimTime now, std::vector<Request*>& over, Further&& further) {
  end_step(now);
  const auto before = static_cast<std::ptrdiff_t>(over.size());
  if (next_due_ != steps_) return;
  while (!due_.empty() && due_.top_key() == steps_) {
    Request& r = *due_.pop().value;
    update(r);
    if (const std::int64_t tokens = further(r); tokens > 0) {
      of(r).due = due_.push(steps_ + tokens, &r);
      continue;
    }
    forget(r);
    over.push_back(&r);
  }
  find_first();
  std::sort(over.begin() + before, over.end(),
            [](const Request* a, const Request* b) { return a->admission < b->admission; });
}

// Steps of a uniform batch that follow each other while nothing happens to its group of GPUs: no request comes, is
// admitted or finishes, and memory suffices. Only the length and the measurements of such a step have to be worked out;
// and as far as nothing happens anywhere, many of them are one event.

/// Measures the steps of a stretch.
class FastForwardListener {
 public:
  virtual ~FastForwardListener() = default;
  /// A step has ended; the members have not been told yet.
  virtual void on_uniform_step_ended() = 0;
  /// The next one begins.
  virtual void on_uniform_step_begins() {}
};

class FastForward {
 public:
  /// All of it outlives this. Not `enabled`: every step is an event.
  FastForward(engine::Simulator& simulator, models::StepTimes& step_times, bool enabled, machine::GpuGroup& gpus,
              UniformBatch& uniform, FastForwardListener& listener)
      : simulator_(simulator),
        step_times_(step_times),
        enabled_(enabled),
        gpus_(gpus),
        uniform_batch_(uniform),
        listener_(listener) {}

  /// The step that begins, as it was put together. `alone`: beside the uniform batch there is no other work, and none
  /// will come up but by an event.
  void begin(const ForwardPass& pass, bool alone);
  /// The time of any step.
  [[nodiscard]] models::StepTime time(const models::StepWork& work) { return step_times_.time(work); }
  /// The step that begins, or is under way, is one of a stretch.
  [[nodiscard]] bool under_way() const { return under_way_; }
  /// Within on_uniform_step_ended(): the step was one of many at once, of which its listener has heard nothing before.
  [[nodiscard]] bool passed() const { return passed_; }

  /// As many steps as end before anything else happens; `pass` is then the next one, which begins, and its time.
  /// Precondition: under_way().
  void run(ForwardPass& pass);
  /// The step has ended. If it was one of a stretch, and so is the next one, it is done with and `pass` is the next
  /// one; else false, and nothing was done.
  bool end_step(ForwardPass& pass);

 private:
  void next(ForwardPass& pass);

  engine::Simulator& simulator_;
  models::StepTimes& step_times_;
  bool enabled_;
  machine::GpuGroup& gpus_;
  UniformBatch& uniform_batch_;
  FastForwardListener& listener_;
  bool under_way_ = false, passed_ = false;
  models::TokenTime by_tokens_;  // of its steps
};

}  // namespace kvsim::serving
