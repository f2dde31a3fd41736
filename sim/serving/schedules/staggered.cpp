// VeriCache's staggered schedule: every request's next verification is placed by ADMIT when its round begins, so that
// reloads hide behind other requests' drafting and GPU memory holds few full KVs at a time. The source of the full KV
// says what a load is counted in: seconds of links, or tokens of steps where prompts are computed whole.
//
// Belief and fact: rings count iterations, the link counts nanoseconds. When a reload has not arrived at its
// iteration, the request goes on drafting up to the draft limit, then stalls; it is verified as soon as the KV is
// there, and the round counts as late. A request for which ADMIT finds no place keeps its compressed KV, goes on
// drafting and asks again every iteration; or, where that is after a verification and schedule.unplaced says so, it
// gives up its memory and waits to be admitted again.
#include "sim/serving/schedules/staggered.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "models/schema/object_schema.h"
#include "sim/serving/admit.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::serving {
namespace {

class Staggered final : public SchedulePolicy {
 public:
  explicit Staggered(const ScheduleConfig& config)
      : rings_(config.window, config.own.of<StaggeredKeys>().slack(config)),
        unplaced_(config.own.of<StaggeredKeys>().unplaced) {}

  bool admit(const Request& request, std::int64_t first_load_bytes, const ReplicaView& view) override {
    // Its resident KV must not take the room that reloads already placed count on.
    if (rings_.memory_peak() > static_cast<double>(view.kv_capacity - view.held_bytes)) return false;
    const double first = view.full_kv->first_load(request, first_load_bytes);
    const auto load = rings_.admit_load(first, view.loads_each);
    // A load that no ring of this size could ever hold is not worth waiting for: it is asked for on demand.
    if (!load) return first > view.loads_each * static_cast<double>(rings_.windows());
    // A prompt that is prefilled here is placed when it is ready: how many iterations that takes nobody knows yet.
    if (request.full_kv.resident || request.moving.in_host_tokens < request.prompt) return true;
    const std::int64_t ready = load->last + 1;
    if (reserve(request, ready, true, view) || load->last + 1 >= rings_.windows() / 2) return true;
    rings_.withdraw(*load, 0);
    return false;
  }

  void pass(std::int64_t iterations) override {
    rings_.advance(iterations);
    now_ += iterations;
  }

  void plan(const ReplicaView& view, IterationPlan& plan) override {
    bool moving = view.drafting > 0;
    for (std::size_t i = 0; i < view.asked.size(); ++i) {
      plan.decisions[i] = decide(*view.asked[i], view, plan);
      moving = moving || plan.decisions[i].action != Action::stall;
    }
    if (moving || !plan.reloads.empty()) return;
    const bool link_busy = std::any_of(view.decoding.begin(), view.decoding.end(),
                                       [](const Request* r) { return r->round.reload == Reload::in_flight; });
    if (!link_busy) start_earliest(view, plan);
  }

  bool verified(const Request& request, const ReplicaView& view) override {
    forget(request);
    // The window now_ is the iteration that has just ended; drafting goes on in the next.
    if (keeps_full_kv(request) || request.full_kv.direct || reserve(request, 1, false, view)) return true;
    return unplaced_ == Unplaced::drafts_on || never_fits(request, view);
  }

  void removed(const Request& request) override {
    forget(request);
    reservations_.erase(request.id);
  }

 private:
  struct Reservation {
    AdmittedReload reload;
    std::int64_t made_at = 0;
    bool before_decoding = false;
    bool stands = false;
    [[nodiscard]] std::int64_t start() const { return made_at + reload.first; }
    [[nodiscard]] std::int64_t verify() const { return made_at + reload.verify; }
  };

  Decision decide(const Request& r, const ReplicaView& view, IterationPlan& plan) {
    if (r.full_kv.direct) return {Action::draft};
    const Action draft = draft_or_stall(r, view);
    if (keeps_full_kv(r)) return {draft_complete(r) ? Action::verify : draft, false, Decision::kUntilItChanges};
    Reservation* reserved = find(r);
    if (reserved && reserved->before_decoding) {
      reserved->before_decoding = false;
      if (misjudged(*reserved, r, view)) {
        forget(r);
        reserved = nullptr;
      }
    }
    if (!reserved) {
      if (r.round.reload == Reload::none && !reserve(r, 0, false, view)) {
        // A reload that no ring of this size could ever hold is not worth waiting for: it is asked for after drafting.
        const bool on_demand = draft == Action::stall && never_fits(r, view);
        if (on_demand) plan.reloads.push_back({&r, false});
        return {draft, on_demand};
      }
      reserved = find(r);
    }
    const bool due = !reserved || now_ >= reserved->verify();
    const bool awaits_kv = due || draft == Action::stall || view.full_kv->is_first(r);
    if (verifiable(r) && awaits_kv) return {Action::verify};
    const bool late = due && !r.round.away;
    // A request with nothing to draft may see its reload start early: start_earliest().
    const std::int64_t stands = due ? Decision::kUntilItChanges : reserved->verify() - now_;
    if (r.round.reload == Reload::none && reserved) {
      if (now_ < reserved->start()) return {draft, late, std::min(stands, reserved->start() - now_), !awaits_kv};
      plan.reloads.push_back({&r, false, true});
    }
    return {draft, late, stands, !awaits_kv};
  }

  /// The request became ready long before or after the time for which its first verification was placed.
  [[nodiscard]] bool misjudged(const Reservation& reservation, const Request& r, const ReplicaView& view) const {
    const std::int64_t ahead = reservation.verify() - now_, round = drafting_steps(r.round.target, view);
    return ahead < round / 2 || ahead > 2 * round;
  }

  /// Iterations in which a request drafts so many tokens.
  [[nodiscard]] static std::int64_t drafting_steps(std::int64_t tokens, const ReplicaView& view) {
    return static_cast<std::int64_t>(std::ceil(static_cast<double>(tokens) / view.tokens_per_draft));
  }

  /// Iterations until its draft is complete.
  [[nodiscard]] static std::int64_t iterations_left(const Request& r, const ReplicaView& view) {
    if (!r.round.away) return drafting_steps(std::max<std::int64_t>(0, r.round.target - r.round.drafted), view);
    const double left_s = (std::max(r.round.due, view.now) - view.now).seconds();
    return static_cast<std::int64_t>(std::ceil(left_s / view.iteration_s));
  }

  [[nodiscard]] bool never_fits(const Request& r, const ReplicaView& view) const {
    return view.full_kv->load(r) > view.loads_each * static_cast<double>(rings_.windows());
  }

  /// `ready`: windows from now until the request drafts.
  bool reserve(const Request& r, std::int64_t ready, bool before_decoding, const ReplicaView& view) {
    ReloadDemand demand;
    demand.transfer_s = view.full_kv->load(r);
    demand.bytes = static_cast<double>(view.full_kv->reservation(r));
    demand.anchor = ready + (view.full_kv->is_first(r) ? 0 : iterations_left(r, view));
    demand.earliest = ready;
    const auto limit = static_cast<double>(view.kv_capacity - view.held_bytes);
    const auto admitted = rings_.admit(demand, view.loads_each, limit);
    if (!admitted) return false;
    reservations_[r.id] = {*admitted, now_, before_decoding, true};
    return true;
  }

  /// Null where nothing is reserved for it.
  Reservation* find(const Request& r) {
    const auto it = reservations_.find(r.id);
    return it != reservations_.end() && it->second.stands ? &it->second : nullptr;
  }

  void forget(const Request& r) {
    Reservation* reserved = find(r);
    if (!reserved) return;
    rings_.withdraw(reserved->reload, now_ - reserved->made_at);
    reserved->stands = false;
  }

  /// No request can move and nothing is on its way: the belief holds up the facts. Start the earliest reload now.
  void start_earliest(const ReplicaView& view, IterationPlan& plan) {
    const Request* earliest = nullptr;
    std::int64_t at = 0;
    for (const Request* r : view.decoding) {
      if (keeps_full_kv(*r) || r->round.reload != Reload::none) continue;
      const Reservation* reserved = find(*r);
      const std::int64_t start = reserved ? reserved->start() : now_;
      if (!earliest || start < at) {
        earliest = r;
        at = start;
      }
    }
    if (earliest) plan.reloads.push_back({earliest, false});
  }

  AdmissionRings rings_;
  Unplaced unplaced_;
  std::int64_t now_ = 0;                                         // iterations since the start
  std::unordered_map<std::uint64_t, Reservation> reservations_;  // of requests, as long as they run
};

}  // namespace

SchedulePolicyEntry schedule_staggered() {
  schema::ObjectSchema<StaggeredKeys> keys("staggered", "How the staggered schedule places verifications.");
  keys.optional(
      "arrival_slack", &StaggeredKeys::arrival_slack, schema::integer().non_negative().at_most(64),
      "staggered: iterations between the end of a reload's link reservation and its verification; by default 0 "
      "(as published) for layerwise arrival, 1 for whole");
  keys.optional(
      "unplaced", &StaggeredKeys::unplaced,
      schema::choice<Unplaced>(
          {{"drafts_on", Unplaced::drafts_on, "it keeps its KV and asks again in every iteration"},
           {"waits", Unplaced::waits, "it gives up its GPU memory and waits to be admitted again, as published"}}),
      "staggered: what becomes of a request whose next verification finds no place after it was verified");
  return {.name = "staggered",
          .description = "ADMIT: verifications spread over iterations by link and HBM rings",
          .needs_verification = true,
          .keys = keys.fragment("does not look ahead"),
          .make = [](const ScheduleConfig& config) -> std::unique_ptr<SchedulePolicy> {
            return std::make_unique<Staggered>(config);
          }};
}

}  // namespace kvsim::serving
