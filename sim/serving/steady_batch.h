// Requests that decode with their full KV, one token a step, as one: as long as nothing else becomes of them, a step is
// the same for each. The batch keeps their sums and the number of its steps; what a request has come to follows from
// when it joined, and is written into it when somebody asks. So a step costs the same whatever their number, and a
// stretch of such steps is one event.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "models/kernels/step_work.h"
#include "sim/engine/time.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/admission.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/kv_holdings.h"
#include "sim/serving/kv_transfers.h"
#include "sim/serving/replica_environment.h"
#include "sim/serving/request.h"
#include "sim/serving/request_log.h"
#include "sim/serving/step_parts.h"

namespace kvsim::serving {

class SteadyBatch {
 public:
  /// All of it outlives this. `decode`: the configured policy. A timeline shows every request's memory by itself: with
  /// `traced`, nobody joins.
  SteadyBatch(const DecodePolicy& decode, const KvGeometry& geometry, KvHoldings& memory, bool traced);

  /// Whether requests of this policy can join at all: they decode directly, their attention reads whole tokens of full
  /// KV, so that sums are exact in any order, and their memory grows by a block every so many tokens.
  [[nodiscard]] bool possible() const { return possible_; }
  [[nodiscard]] std::int64_t size() const { return size_; }
  [[nodiscard]] static bool has(const Request& r) { return r.steady.member_; }

  /// The request has emitted a token now, at the end of a step, which was a step of all members; it has more to come.
  /// It does not join where it holds another amount of memory than they do.
  void join(Request& r, engine::SimTime now);
  /// It is brought up to date and goes its own way; nothing happens to others than members.
  void leave(Request& r);
  /// Brings a member up to date.
  void update(Request& r);
  /// GPU memory that a request holds, member or not, bytes.
  [[nodiscard]] std::int64_t held(const Request& r) const;

  // A step of all members.
  /// GPU memory that it, or the one so many after it, takes beyond what they hold, bytes.
  [[nodiscard]] std::int64_t growth(std::uint64_t after = 0) const;
  /// Reserves that, which must be there, and adds what the step computes.
  void begin_step(models::StepWork& work);
  /// Since the last token of each.
  [[nodiscard]] engine::Duration gap(engine::SimTime now) const { return now - last_end_; }
  /// Whether anybody has its last token with the coming step, or the one under way.
  [[nodiscard]] bool anybody_due() const { return !due_.empty() && due_.begin()->step == steps_ + 1; }
  /// Each has emitted a token. Those whose last one it was leave, and are appended to `over` in order of admission.
  void end_step(engine::SimTime now, std::vector<Request*>& over);
  /// The same where that is nobody's last one.
  void end_step(engine::SimTime now);

 private:
  struct Due {
    std::uint64_t step;  // after which it has all its tokens
    std::uint64_t admission;
    Request* request;
    bool operator<(const Due& other) const {
      return std::pair(step, admission) < std::pair(other.step, other.admission);
    }
  };
  struct Gap {
    std::uint64_t step;
    engine::Duration length;
  };

  [[nodiscard]] std::int64_t key(const Request& r) const;
  [[nodiscard]] std::size_t grows_at(std::int64_t key) const;
  [[nodiscard]] Due due(Request& r) const;
  [[nodiscard]] engine::Duration largest_gap_since(std::uint64_t step) const;
  void forget(Request& r);

  const KvGeometry& geometry_;
  KvHoldings& memory_;
  bool possible_;
  bool under_way_ = false;    // a step
  std::uint64_t steps_ = 0;   // that have ended
  engine::SimTime last_end_;  // of a step, or of the one with which the first member joined
  std::int64_t size_ = 0;
  std::int64_t attended_ = 0;         // tokens, all members
  std::multiset<std::int64_t> keys_;  // tokens attended to less the step's number: the longest is the last
  std::vector<std::int64_t> grow_;    // members by the step, modulo a block's tokens, that takes a new block
  std::set<Due> due_;
  std::vector<Gap> gaps_;  // of steps: those that none after them was as long as
};

// Steps of a steady batch that follow each other while nothing happens to its group of GPUs: nobody comes, is admitted
// or finishes, and memory suffices. Of such a step only its length, and what is measured of it, has to be worked out;
// and as far as nothing happens anywhere, many of them are one event.

class Stretch {
 public:
  /// All of it outlives this.
  Stretch(const ReplicaEnvironment& environment, machine::GpuGroup& gpus, const KvHoldings& memory, MemoryUse& use,
          RequestLog& log, Admission& admission, SteadyBatch& steady)
      : env_(environment), gpus_(gpus), memory_(memory), use_(use), log_(log), admission_(admission), steady_(steady) {}

  /// The step that begins, as it was put together. `alone`: beside the steady batch there is no other work.
  void begin(const ForwardPass& pass, bool alone);
  /// The step that begins, or is under way, is one of a stretch.
  [[nodiscard]] bool under_way() const { return under_way_; }

  /// As many steps as end before anything else happens; `pass` is then the next one, which begins, and its time.
  /// Returns the tokens that they emitted. Precondition: under_way().
  std::int64_t run(ForwardPass& pass);
  /// The step has ended. If it was one of a stretch, and so is the next one, it is done with, `pass` is the next one,
  /// and the tokens that it emitted are returned; else 0, and nothing was done.
  std::int64_t end_step(ForwardPass& pass);

 private:
  [[nodiscard]] bool ends_with_step() const { return steady_.anybody_due() || steady_.growth(1) > memory_.available(); }
  std::int64_t next(ForwardPass& pass);

  const ReplicaEnvironment& env_;
  machine::GpuGroup& gpus_;
  const KvHoldings& memory_;
  MemoryUse& use_;
  RequestLog& log_;
  Admission& admission_;
  SteadyBatch& steady_;
  bool under_way_ = false;
  models::TokenTime by_tokens_;  // of its steps
};

}  // namespace kvsim::serving
