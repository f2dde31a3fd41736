#include "sim/pools/rounds.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

using engine::Callback;

void Rounds::start(PoolRequest& r) {
  parts_.lengths.join(r);
  begin(r);
}

void Rounds::begin(PoolRequest& r) {
  serving::Request& q = *r.request;
  q.round.drafted = 0;
  parts_.lengths.begin(r);
  q.round.late = false;
  r.drafts_here = false;
  r.round = Round::drafting;
  const double steps = static_cast<double>(q.round.target) / parts_.lengths.tokens_per_step();
  const double drafting_s = steps * r.remote->gpus().iteration_s() + message_s();
  r.held->begun = parts_.simulator.now();
  r.held->due = r.held->begun + engine::from_seconds(drafting_s);
  q.direct = q.resident = false;
  r.remote->instance().begin(q, serving::Phase::decoding);
  if (r.stateless()) parts_.reloads.wish(r, parts_.dispatcher.reload_start(r, r.held->due, parts_.view));
}

void Rounds::end(PoolRequest& r) {
  if (r.round == Round::drafting) r.remote->instance().stop(*r.request);
  r.round = Round::none;
  parts_.simulator.cancel(r.held->reload.look);
  parts_.lengths.leave(r);
}

void Rounds::drafted(PoolRequest& r) {
  r.round = Round::sent;
  parts_.simulator.schedule_in(engine::from_seconds(message_s()),
                               Callback::to<&Rounds::on_drafts_here>(this, r.request->id));
}

void Rounds::on_drafts_here(std::uint64_t id) {
  PoolRequest* r = parts_.requests.find(id);
  if (r == nullptr || r->round != Round::sent) return;  // it went on alone meanwhile
  r->drafts_here = true;
  r->held->due = std::min(r->held->due, parts_.simulator.now());
  verify_if_ready(*r);
  if (r->round != Round::sent) return;
  r->request->round.late = true;
  parts_.reloads.drafts_wait(*r);
}

void Rounds::verify_if_ready(PoolRequest& r) {
  if (r.round != Round::sent || !r.drafts_here) return;
  const bool there = full_kv_there(r);
  if (!there && !in_time(r)) return;
  r.round = Round::verifying;
  parts_.simulator.cancel(r.held->reload.look);
  serving::Instance& local = r.local->instance();
  there ? local.once(*r.request, serving::Work::verify) : local.verify_as_it_arrives(*r.request);
}

/// Its last layers are. If they will be, it is looked at again then: what is expected of a shared link changes.
bool Rounds::in_time(PoolRequest& r) {
  const std::optional<engine::SimTime> from = parts_.reloads.in_time_from(r);
  if (!from) return false;
  if (*from == parts_.simulator.now()) return true;
  parts_.simulator.cancel(r.held->reload.look);
  r.held->reload.look = parts_.simulator.schedule_at(*from, Callback::to<&Rounds::on_look>(this, r.request->id));
  return false;
}

void Rounds::on_look(std::uint64_t id) {
  if (PoolRequest* r = parts_.requests.find(id)) verify_if_ready(*r);
}

std::int64_t Rounds::settle(PoolRequest& r) {
  serving::Request& q = *r.request;
  const std::int64_t accepted =
      parts_.acceptance.accepted(q.round.drafted, q.luck->stream.uniform(), q.luck->acceptance);
  parts_.lengths.verified(r, accepted);
  const std::int64_t emitted = parts_.log.verified(r, q.round.drafted, accepted);
  q.round.unseen = 1;
  q.round.drafted = 0;
  return emitted;
}

void Rounds::verified(PoolRequest& r) {
  KVSIM_ALWAYS(full_kv_there(r), "a request was verified without its full KV");
  const std::int64_t emitted = settle(r);
  const bool done = r.request->remaining() == 0;
  if (r.stateless()) {
    parts_.reloads.withdraw(r);
    if (!done) parts_.stored.write_back(r, *r.local, emitted);
  }
  if (done) parts_.owner.on_finished(r);
  parts_.simulator.schedule_in(engine::from_seconds(message_s()),
                               Callback::to<&Rounds::on_verdict>(this, r.request->id));
}

void Rounds::on_verdict(std::uint64_t id) {
  PoolRequest& r = *parts_.requests.find(id);
  parts_.lengths.ended(r, (parts_.simulator.now() - r.held->begun).seconds());
  parts_.owner.on_verdict(r);
}

}  // namespace kvsim::pools
