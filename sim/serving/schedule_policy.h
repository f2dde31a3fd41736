// Which requests draft, verify and load in which iteration. A schedule policy sees a narrow view of a replica and
// returns decisions; the replica moves the bytes, reserves the memory and advances the clock, and the policy's belief
// (its rings, its phases) need not match what the link then does.
//
// To add one: a file in schedules/ with a class and a factory, and one line in the table of schedule_policy.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "sim/serving/config.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

enum class Action : std::uint8_t {
  stall,  ///< takes no part in this iteration
  draft,  ///< one token against the compressed KV
  verify  ///< all drafted tokens against the full KV, which must have arrived
};

/// What a policy may know of its replica.
struct ReplicaView {
  /// Requests in Phase::decoding, in order of admission. Pointers stay valid until the request is removed.
  std::span<const Request* const> decoding;
  double iteration_s = 0;        ///< estimate of an iteration's length
  double link_bytes_per_s = 0;   ///< host to GPU
  std::int64_t kv_capacity = 0;  ///< bytes of GPU memory for KV
  std::int64_t held_bytes = 0;   ///< of it, reserved other than for reloads
  std::int64_t draft_limit = 0;  ///< most positions a request may draft
  double tokens_per_draft = 1;   ///< mean that one drafting step adds: more than 1 with an auxiliary drafter
  const class KvGeometry* geometry = nullptr;
};

/// One iteration's decisions. `actions[i]` is for `view.decoding[i]`.
struct IterationPlan {
  struct ReloadStart {
    std::size_t decoding;      ///< which one of view.decoding
    bool replaces_compressed;  ///< the compressed KV leaves GPU memory while the full one is there
  };
  std::vector<Action> actions;
  std::vector<ReloadStart> reloads;  ///< to start now, in this order, as far as memory allows
  std::vector<std::size_t> late;     ///< of view.decoding, those whose verification should have begun by now
};

class SchedulePolicy {
 public:
  virtual ~SchedulePolicy() = default;

  /// May `request` enter now? Memory has been checked already; this is about the policy's belief. `first_load_bytes`
  /// cross the link before it can decode. On true the policy has made its reservations.
  virtual bool admit(const Request& request, std::int64_t first_load_bytes, const ReplicaView& view) = 0;

  /// Decides the coming iteration. `windows` iterations have passed since the last call (1, or more after an idle
  /// time); plan.actions has one entry per decoding request, all Action::stall; reloads and late are empty.
  virtual void plan(const ReplicaView& view, std::int64_t windows, IterationPlan& plan) = 0;

  /// The request was verified and begins its next round (it has tokens left to generate).
  virtual void verified(const Request& request, const ReplicaView& view) = 0;

  /// The request has finished or was preempted: withdraw what was reserved for it.
  virtual void removed(const Request& request) = 0;
};

struct SchedulePolicyEntry {
  std::string_view name;
  std::string_view description;
  bool needs_verification = false;  ///< has a meaning only for decode policies that verify
  /// Asks for a reload when its draft is complete, and the request drafts on until it is there.
  bool drafts_while_reloading = false;
  std::unique_ptr<SchedulePolicy> (*make)(const ScheduleConfig& config) = nullptr;
};

/// All registered policies, in the order in which they are listed to users.
std::span<const SchedulePolicyEntry> schedule_policies();

/// The entry of this name, or null.
const SchedulePolicyEntry* find_schedule_policy(std::string_view name);

/// Has the request drafted what this round asks for?
inline bool draft_complete(const Request& r) {
  return r.round.drafted >= r.round.target;
}

/// Can its drafts be verified in the coming iteration?
inline bool verifiable(const Request& r) {
  return r.resident || r.round.arriving || r.round.reload == Reload::arrived;
}

/// Draft on, unless the request has nothing left to draft or has reached the limit.
Action draft_or_stall(const Request& r, const ReplicaView& view);

// The factories of the schedule policies, one file each in schedules/.

std::unique_ptr<SchedulePolicy> make_fcfs(const ScheduleConfig& config);
std::unique_ptr<SchedulePolicy> make_lock_step(const ScheduleConfig& config);
std::unique_ptr<SchedulePolicy> make_sequential_verify(const ScheduleConfig& config);
std::unique_ptr<SchedulePolicy> make_staggered(const ScheduleConfig& config);

}  // namespace kvsim::serving
