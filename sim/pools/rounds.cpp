#include "sim/pools/rounds.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

namespace {

/// Else a request is verified as soon as it can be, and its full KV is read just in time for that.
bool by_schedule(const serving::ServingConfig& config) {
  return config.schedule.policy != "fcfs" && serving::find_decode_policy(config.decode.policy)->verifies;
}

}  // namespace

using engine::Callback;

Rounds::Rounds(const RoundParts& parts, const serving::InstanceEnvironment& environment, std::span<Site> local)
    : parts_(parts), guests_(by_schedule(parts.config) ? local.size() : 0) {
  if (!by_schedule(parts.config)) return;
  const auto& policy = *serving::find_schedule_policy(parts.config.schedule.policy);
  for (Site& site : local) {
    guests_.add(environment, policy, site, parts.lengths.tokens_per_step(), static_cast<GuestsListener&>(*this));
  }
}

void Rounds::start(PoolRequest& r) {
  parts_.lengths.join(r);
  begin(r);
}

void Rounds::begin(PoolRequest& r) {
  serving::Request& q = *r.request;
  q.round.drafted = 0;
  parts_.lengths.begin(r);
  q.round.late = false;
  r.round = Round::drafting;
  r.held->begun = parts_.simulator.now();
  expect_drafts(r, parts_.message_s);
  q.full_kv.direct = q.full_kv.resident = false;
  r.remote->instance().begin(q, serving::Phase::decoding);
  if (guests_of(r)) {
    join_guests(r);
  } else if (r.stateless()) {
    parts_.reloads.wish(r, parts_.dispatcher.reload_start(r, q.round.due, parts_.view));
  }
}

/// When they were drafted, and so long after that.
void Rounds::expect_drafts(PoolRequest& r, double after_s) {
  serving::DraftRound& round = r.request->round;
  const double steps = static_cast<double>(round.target) / parts_.lengths.tokens_per_step();
  const double drafting_s = steps * r.remote->gpus().iteration_s() + after_s;
  round.away = true;
  round.due = parts_.simulator.now() + engine::from_seconds(drafting_s);
}

/// Full KV that stays is no guest's before it is there.
void Rounds::join_guests(PoolRequest& r) {
  serving::DraftRound& round = r.request->round;
  round.kept = r.traits().cached && r.local_ready;
  if ((round.kept || r.stateless()) && !guests_of(r)->has(*r.request)) guests_of(r)->join(*r.request);
}

void Rounds::end(PoolRequest& r) {
  if (r.round == Round::drafting) r.remote->instance().stop(*r.request);
  if (r.round != Round::none && guests_of(r)) guests_of(r)->leave(*r.request);
  r.round = Round::none;
  parts_.simulator.cancel(r.held->reload.look);
  parts_.lengths.leave(r);
}

void Rounds::drafted(PoolRequest& r) {
  r.round = Round::sent;
  parts_.simulator.schedule_in(engine::from_seconds(parts_.message_s),
                               Callback::to<&Rounds::on_drafts_here>(this, r.request->id));
}

void Rounds::on_drafts_here(std::uint64_t id) {
  PoolRequest* r = parts_.requests.find(id);
  if (r == nullptr || r->round != Round::sent) return;  // it went on alone meanwhile
  serving::DraftRound& round = r->request->round;
  round.away = false;
  round.due = std::min(round.due, parts_.simulator.now());
  if (Guests* guests = guests_of(*r)) {
    round.length.edit().limit = round.drafted;
    return guests->drafted(*r->request);
  }
  verify_if_ready(*r);
  if (r->round != Round::sent) return;
  r->request->round.late = true;
  parts_.reloads.drafts_wait(*r);
}

void Rounds::verify_if_ready(PoolRequest& r) {
  if (r.round != Round::none && guests_of(r)) {
    join_guests(r);
    return guests_of(r)->look();
  }
  if (r.round != Round::sent || r.request->round.away) return;
  if (full_kv_there(r) || in_time(r)) verify(r);
}

void Rounds::verify(PoolRequest& r) {
  r.round = Round::verifying;
  parts_.simulator.cancel(r.held->reload.look);
  serving::Instance& local = r.local->instance();
  full_kv_there(r) ? local.once(*r.request, serving::Work::verify) : local.verify_as_it_arrives(*r.request);
}

void Rounds::reloaded(PoolRequest& r) {
  r.request->round.reload = serving::Reload::arrived;
  r.local->instance().arrived(*r.request);
  guests_of(r) ? guests_of(r)->kv_arrived(*r.request) : verify_if_ready(r);
}

void Rounds::room_changed(const Site& site) {
  if (!guests_.made().empty() && site.pool() == Pool::local) guests_.made()[site.index()].look();
}

bool Rounds::arrives_in_time(const serving::Request& q) const {
  const std::optional<engine::SimTime> from = parts_.reloads.in_time_from(*parts_.requests.find(q.id));
  return from && *from <= parts_.simulator.now();
}

bool Rounds::start_reload(const serving::Request& q) {
  return parts_.reloads.start_now(*parts_.requests.find(q.id));
}

std::int64_t Rounds::reservation(const serving::Request& q) const {
  return parts_.memory.reload_private(*parts_.requests.find(q.id));
}

double Rounds::load(const serving::Request& q) const {
  const PoolRequest& r = *parts_.requests.find(q.id);
  return parts_.reloads.length_s(r, *r.local);
}

void Rounds::verify(const serving::Request& q) {
  PoolRequest& r = *parts_.requests.find(q.id);
  if (r.round == Round::sent) verify(r);
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
      parts_.acceptance.accepted(q.round.drafted, q.samplers.drafts->stream.uniform(), q.samplers.drafts->acceptance);
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
  if (done) parts_.listener.on_finished(r);
  if (Guests* guests = guests_of(r)) {
    expect_drafts(r, 2 * parts_.message_s);
    done ? guests->leave(*r.request) : guests->verified(*r.request);
  }
  parts_.simulator.schedule_in(engine::from_seconds(parts_.message_s),
                               Callback::to<&Rounds::on_verdict>(this, r.request->id));
}

void Rounds::on_verdict(std::uint64_t id) {
  PoolRequest& r = *parts_.requests.find(id);
  parts_.lengths.ended(r, (parts_.simulator.now() - r.held->begun).seconds());
  parts_.listener.on_verdict(r);
}

}  // namespace kvsim::pools
