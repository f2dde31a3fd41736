#include "sim/instance/reloads.h"

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

using engine::Callback;

Reloads::Reloads(const InstanceEnvironment& environment, KvHoldings& memory, const RequestQueues& queues,
                 Scheduling& scheduling, StepLoop& loop, transport::Link& from_host, MemoryUse& use)
    : env_(environment),
      memory_(memory),
      queues_(queues),
      scheduling_(scheduling),
      loop_(loop),
      from_host_(from_host),
      use_(use),
      full_kv_(make_full_kv_source({environment.config, environment.geometry, memory, from_host, environment.prompts,
                                    environment.measured, Callback::to<&Reloads::on_arrived>(this)},
                                   environment.decode)),
      by_layers_(full_kv_comes_by_layers(environment.config, environment.decode)) {
  scheduling.plans_loads_of(*full_kv_);
}

std::int64_t Reloads::largest() const {
  if (!env_.decode.verifies || largest_of_ == queues_.changes()) return largest_;
  largest_of_ = queues_.changes();
  largest_ = 0;
  queues_.for_each([&](const Request& r) {
    if (!r.full_kv.resident && !r.full_kv.direct) largest_ = std::max(largest_, full_kv_->reservation(r));
  });
  return largest_;
}

void Reloads::verified(Request& r) {
  full_kv_->verified(r, !queues_.anybody_waits());
  // Reloads of requests that go on drafting only grow.
  if (r.full_kv.direct) {
    largest_of_.reset();
  } else if (!r.full_kv.resident) {
    largest_ = std::max(largest_, full_kv_->reservation(r));
  }
}

/// In order of admission; later rounds ask when their drafts are complete, as the schedule says.
void Reloads::begin_step(std::span<Request* const> asked) {
  if (by_layers_) {
    for (Request* r : asked) mark_arriving(*r);
  }
  if (!env_.decode.as_found() || !scheduling_.loads_first_at_once()) return;
  for (Request* r : queues_.decoding()) {
    const bool first = !r->full_kv.direct && full_kv_->is_first(*r);
    if (first && r->round.reload == Reload::none && !start(*r, false)) return;
  }
}

void Reloads::mark_arriving(Request& r) const {
  r.round.arriving = false;
  if (r.round.reload != Reload::in_flight) return;
  const auto left = from_host_.time_left(r.moving.transfer);
  const std::int64_t layers = env_.config.model.layers;
  const double pass_s = loop_.gpus().iteration_s();
  if (!left || left->seconds() > most_left_s(pass_s, pass_s, layers)) return;  // whatever the transfer takes
  const double transfer_s =
      static_cast<double>(env_.geometry.reload_transfer(r.prompt, r.generated)) / from_host_.bandwidth();
  r.round.arriving = left->seconds() <= most_left_s(transfer_s, pass_s, layers);
}

void Reloads::start(const IterationPlan& plan) {
  lacks_memory_ = false;
  for (const IterationPlan::ReloadStart& wish : plan.reloads) {
    Request& r = env_.requests[wish.request->id];
    const bool lacked = std::exchange(lacks_memory_, false);
    if (start(r, wish.replaces_compressed)) {
      scheduling_.reload_started(r);
    } else if (lacks_memory_ && !wish.replaces_compressed) {
      scheduling_.reload_found_no_memory(r, full_kv_->reservation(r), wish.until_it_starts);
    } else {
      scheduling_.ask(r);
    }
    lacks_memory_ = lacks_memory_ || lacked;
  }
}

bool Reloads::start(Request& r, bool replaces_compressed) {
  if (r.round.reload != Reload::none || r.moving.writebacks > 0) return false;  // the host copy must be complete
  const std::int64_t bytes = full_kv_->reservation(r);
  const std::int64_t freed = replaces_compressed ? full_kv_->replaceable(r) : 0;
  if (!memory_.stage(r.kv, bytes, freed)) {
    lacks_memory_ = true;
    return false;
  }
  r.round.reload = Reload::in_flight;
  r.round.length.edit().reload_at = env_.simulator.now();
  full_kv_->bring(r);
  return true;
}

bool Reloads::under_way() const {
  return std::any_of(queues_.decoding().begin(), queues_.decoding().end(),
                     [](const Request* r) { return r->round.reload == Reload::in_flight; });
}

void Reloads::on_arrived(std::uint64_t id) {
  Request& r = env_.requests[id];
  if (r.moving.stale_reloads > 0) {  // of an admission that is over
    --r.moving.stale_reloads;
    env_.requests.release_if_over(r);
    return;
  }
  use_.note();
  r.moving.transfer = {};
  r.round.reload = Reload::arrived;
  full_kv_->arrived(r);
  scheduling_.kv_arrived(r);
  loop_.arrived(r);
  loop_.gpus().wake();
}

void Reloads::abandon(Request& r) {
  if (r.round.reload != Reload::in_flight) return;
  if (r.moving.transfer.value != 0) from_host_.cancel(r.moving.transfer);
  r.moving.transfer = {};
  full_kv_->abandoned(r);
  loop_.arrived(r);
}

}  // namespace kvsim::serving
