// Which requests draft, verify and load in which iteration. A schedule policy sees a narrow view of a replica and
// returns decisions; the replica moves the bytes, reserves the memory and advances the clock, and the policy's belief
// (its rings, its phases) need not match what the link then does.
//
// A decision stands until something happens to the request, or for as many iterations as the policy says, so that an
// iteration costs what changes in it. A policy says no more than it would keep to if it were asked in every one.
//
// To add one: a file in schedules/ with a class and `SchedulePolicyEntry schedule_NAME()`. The build finds it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "models/schema/own_keys.h"
#include "models/schema/registry.h"
#include "sim/serving/config.h"
#include "sim/serving/request.h"

namespace kvsim::serving {

/// Full KV that verifications load, as schedules plan it. Loads are in a unit of their own: seconds of a link, seconds
/// of the links to tiers (one tier after the other, so that no link is promised twice), or tokens of steps.
class FullKvLoads {
 public:
  virtual ~FullKvLoads() = default;

  /// GPU memory of what the request's next verification brings.
  [[nodiscard]] virtual std::int64_t reservation(const Request& r) const = 0;
  /// The load of that, if it began now.
  [[nodiscard]] virtual double load(const Request& r) const = 0;
  /// The load of a request that is about to be admitted, until it decodes. `bytes`: that it loads from host memory.
  [[nodiscard]] virtual double first_load(const Request& r, std::int64_t bytes) const = 0;
  /// Load that an iteration of so many seconds has room for, beside so many decoding requests.
  [[nodiscard]] virtual double loads_each(double iteration_s, std::int64_t /*decoding*/) const { return iteration_s; }
  /// Nothing of the request is final before its next verification. Drafts that put it off gain nothing: schedules that
  /// plan verifications place this one at the earliest iteration that has room, and the others leave it to
  /// SchedulePolicyEntry::loads_first_at_once. A planned one takes no memory while it waits for the link or the steps.
  [[nodiscard]] virtual bool is_first(const Request&) const { return false; }
};

/// State of its replica that a policy may read.
struct ReplicaView {
  engine::SimTime now;
  /// Requests in Phase::decoding, in order of admission; where drafts are made elsewhere, those that are verified here.
  /// Pointers stay valid until the request is removed. Drafts of requests that are not asked about may lag behind.
  std::span<const Request* const> decoding;
  /// Requests of `decoding`, in the same order, about which plan() decides.
  std::span<const Request* const> asked;
  std::int64_t drafting = 0;             ///< others that draft, as was decided before
  double iteration_s = 0;                ///< estimate of an iteration's length
  double loads_each = 0;                 ///< what an iteration has for loads of full KV: FullKvLoads::loads_each()
  std::int64_t kv_capacity = 0;          ///< bytes of GPU memory for KV
  std::int64_t held_bytes = 0;           ///< of it, reserved other than for reloads
  std::int64_t draft_limit = 0;          ///< most positions a request may draft
  double tokens_per_draft = 1;           ///< mean that one drafting step adds: more than 1 with an auxiliary drafter
  const FullKvLoads* full_kv = nullptr;  ///< what verifications load
};

/// Decision about a request.
struct Decision {
  static constexpr std::int64_t kUntilItChanges = std::numeric_limits<std::int64_t>::max();

  Action action = Action::stall;
  bool late = false;  ///< its verification should have begun by now
  /// Iterations, the coming one included. Whatever it says, the policy is asked about a request again when it has
  /// drafted what its round asks for or all that it may (most_drafts), when its KV has arrived or, where a verification
  /// may begin before that, in each iteration while it comes, when a reload wished for could not start, and after it
  /// should have been verified.
  std::int64_t stands = 1;
  /// Neither a complete draft nor its KV changes it: about these the policy need not be asked.
  bool whatever_comes = false;
};

/// One iteration's decisions.
struct IterationPlan {
  struct ReloadStart {
    const Request* request;    ///< decoding
    bool replaces_compressed;  ///< the compressed KV leaves GPU memory while the full one is there
    /// As long as there is no memory for it the policy would wish for it in each iteration, and what it has decided
    /// stands as if it had started: it need not be asked before there is, or nobody drafts.
    bool until_it_starts = false;
  };
  std::vector<Decision> decisions;   ///< one for each of view.asked, to be written
  std::vector<ReloadStart> reloads;  ///< to start now, in this order, as far as memory allows
};

class SchedulePolicy {
 public:
  virtual ~SchedulePolicy() = default;

  /// May `request` enter now? Memory has been checked already; this is about the policy's belief. `first_load_bytes`
  /// cross the link before it can decode. On true the policy has made its reservations.
  virtual bool admit(const Request& /*request*/, std::int64_t /*first_load_bytes*/, const ReplicaView&) { return true; }

  /// Advances the policy by the iterations begun since the last call, or passed while idle; called before all else.
  virtual void pass(std::int64_t /*iterations*/) {}

  /// Decides the coming iteration. Asked where view.asked is not empty or, unless it decides_together(), nobody drafts
  /// as was decided before; plan.reloads is empty.
  virtual void plan(const ReplicaView& view, IterationPlan& plan) = 0;

  /// Whether the policy decides about all requests when it is asked about one, or when one was verified, came or left.
  [[nodiscard]] virtual bool decides_together() const { return false; }

  /// The request was verified and begins its next round (it has tokens left to generate). False: there is no place for
  /// that, and it waits to be admitted again; removed() follows.
  virtual bool verified(const Request& /*request*/, const ReplicaView&) { return true; }

  /// The request has finished or was preempted: withdraw what was reserved for it.
  virtual void removed(const Request& /*request*/) {}
};

struct SchedulePolicyEntry {
  std::string_view name;
  std::string_view description;
  int place = schema::kListedLast;  ///< in lists
  bool needs_verification = false;  ///< has a meaning only for decode policies that verify
  /// Asks for a reload when its draft is complete, and the request drafts on until it is there.
  bool drafts_while_reloading = false;
  /// The first verification of a prompt as it was found is not the policy's to ask for: its full KV is loaded as soon
  /// as there is memory (FullKvLoads::is_first).
  bool loads_first_at_once = false;
  schema::KeyFragment keys{};  ///< that it reads in ScheduleConfig::own
  std::unique_ptr<SchedulePolicy> (*make)(const ScheduleConfig& config) = nullptr;
};

/// All registered policies, in the order in which they are listed to users.
std::span<const SchedulePolicyEntry> schedule_policies();

/// The entry of this name, or null.
inline const SchedulePolicyEntry* find_schedule_policy(std::string_view name) {
  return schema::find_named(schedule_policies(), name);
}

/// Has the request drafted what this round asks for, wherever it drafts?
inline bool all_drafted(const Request& r) {
  return r.round.drafted >= r.round.target;
}

/// Whether its draft is complete where it is verified.
inline bool draft_complete(const Request& r) {
  return !r.round.away && all_drafted(r);
}

/// Is its full KV there to stay where it is verified, so that nothing has to be loaded?
inline bool keeps_full_kv(const Request& r) {
  return r.full_kv.resident || r.round.kept;
}

/// Can its drafts be verified in the coming iteration?
inline bool verifiable(const Request& r) {
  return !r.round.away && (keeps_full_kv(r) || r.round.arriving || r.round.reload == Reload::arrived);
}

/// Positions that the request may draft in its round, by its replica's limit and its own, and by what is left to
/// generate.
inline std::int64_t most_drafts(const Request& r, std::int64_t draft_limit) {
  return std::min({draft_limit, r.round.length->limit, r.remaining()});
}

/// Draft on, unless the request has nothing left to draft or has reached the limit.
inline Action draft_or_stall(const Request& r, const ReplicaView& view) {
  return r.round.away || r.round.drafted < most_drafts(r, view.draft_limit) ? Action::draft : Action::stall;
}

}  // namespace kvsim::serving
