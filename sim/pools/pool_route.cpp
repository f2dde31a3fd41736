#include "sim/pools/pool_route.h"

#include <memory>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

using engine::Callback;
using models::PathTraits;
using serving::Phase;
using serving::Work;

namespace {

Site& site_of(PoolRequest& r, const serving::Instance& instance) {
  const bool local = r.remote == nullptr || (r.local != nullptr && &r.local->instance() == &instance);
  return local ? *r.local : *r.remote;
}

}  // namespace

PoolRoute::PoolRoute(const serving::RunEnvironment& environment, std::unique_ptr<serving::PromptStore> placed)
    : parts_(environment, std::move(placed), {*this, *this, *this, *this, *this}) {}

void PoolRoute::on_assigned(PoolRequest& r, const Assignment& assignment) {
  serving::Request& q = *r.request;
  r.path = assignment.path;
  r.local = assignment.local;
  r.remote = assignment.remote;
  r.held = std::make_unique<HeldOnNodes>();
  if (parts_.groups.decode.verifies && !q.samplers.drafts)
    serving::draw_acceptance(q, parts_.groups.acceptance, parts_.groups.config.run.seed, r.number);
  if (parts_.groups.decode.drafter && !q.samplers.drafter) {
    serving::draw_drafter_acceptance(q, parts_.groups.parts.front().drafting.acceptance(),
                                     parts_.groups.config.run.seed, r.number);
  }
  parts_.stored->hold(r);
  q.phase = Phase::loading;
  if (!q.full_kv.had_prompt) parts_.log.started(r);
  if (r.stateless()) parts_.reloads.join(r);
  const PathTraits& t = r.traits();
  r.found = r.stored;
  if (!t.drafts) parts_.find_on(t.on_local ? *r.local : *r.remote, r);
  q.prefill.done = r.found;
  const bool prefills = r.found < q.prefill.target;
  if (t.on_remote) {
    parts_.hold_on(*r.remote, r);
    r.remote_parts = t.drafts && prefills ? 2 : 1;
    t.drafts ? parts_.load(*r.remote, r) : r.remote->instance().submit(q);
  }
  if (t.on_local && (!r.stateless() || prefills)) {
    parts_.hold_on(*r.local, r);
    t.drafts && !prefills ? parts_.load(*r.local, r) : r.local->instance().submit(q);
  }
}

void PoolRoute::on_entered(serving::Instance& instance, serving::Request& q) {
  PoolRequest& r = *parts_.requests.find(q.id);
  q.phase = Phase::loading;
  Site& site = site_of(r, instance);
  if (r.stored == 0 && !instance.admits_at_once()) {  // the step that it enters with computes its prompt
    return site.pool() == Pool::local ? on_local_complete(r) : on_remote_complete(r);
  }
  if (parts_.groups.config.schedule.blocking_loads) {
    r.awaited = true;
    instance.await_loads(1);
  }
  parts_.load(site, r);
}

void PoolRoute::on_loaded(PoolRequest& r, Claim claim, bool wanted) {
  if (r.awaited && claim == (r.traits().on_local ? Claim::local : Claim::remote)) {
    r.awaited = false;
    (claim == Claim::local ? r.local : r.remote)->instance().await_loads(-1);
  }
  if (wanted) {
    switch (claim) {
      case Claim::local:
        on_local_complete(r);
        break;
      case Claim::remote:
        on_remote_complete(r);
        break;
      case Claim::reload:
        parts_.rounds.reloaded(r);
        parts_.reloads.changed(*r.local);
        settle_soon();
        break;
    }
  }
  parts_.forget_if_free(r);
}

void PoolRoute::on_released(PoolRequest& r, Claim claim, Site& node) {
  if (claim == Claim::reload) parts_.reloads.released(r);
  if (node.pool() == Pool::local) {
    parts_.reloads.changed(node);
    parts_.rounds.room_changed(node);
  }
  settle_soon();
}

/// When it is prefilled: for drafts on it elsewhere, or because its tokens are decoded with less than its full KV. KV
/// came whole if it came as a placement stores it.
std::int64_t PoolRoute::compressed(const serving::Request& q) const {
  const PoolRequest& r = *parts_.requests.find(q.id);
  const bool online = parts_.groups.config.decode.compressor.mode == models::CompressionMode::online;
  if (!(r.traits().drafts && online) && parts_.groups.decode.lossless()) return 0;
  return q.prefill.target - (parts_.placed ? 0 : r.found);
}

void PoolRoute::prefill_or_decode(PoolRequest& r, Site& site) {
  if (r.request->prefill.done < r.request->prefill.target) {
    site.instance().begin(*r.request, Phase::prefilling);
  } else {
    start_decoding(site, r);
  }
}

void PoolRoute::on_local_complete(PoolRequest& r) {
  if (!r.traits().drafts || r.request->prefill.done < r.request->prefill.target) {
    prefill_or_decode(r, *r.local);
  } else {
    r.local_ready = true;
    parts_.rounds.verify_if_ready(r);
  }
}

void PoolRoute::on_remote_complete(PoolRequest& r) {
  if (!r.traits().drafts) {
    prefill_or_decode(r, *r.remote);
    return;
  }
  r.remote_parts -= 1;
  if (r.remote_parts > 0 || r.request->remaining() == 0) return;
  const serving::GroupParts& remote = parts_.groups.of(Pool::remote);
  if (serving::decompression_s(parts_.groups.config, remote.group, remote.geometry, remote.timer, r.request->prompt) >
      0) {
    r.remote->instance().once(*r.request, Work::decompress);
  } else {
    start_drafting(r);
  }
}

/// The prompt was prefilled here for a request that drafts elsewhere.
void PoolRoute::on_stored(PoolRequest& r) {
  if (r.stateless()) {  // its memory was for the prefill
    parts_.loads.drop(r, *r.local, Claim::local);
    r.local->count_requests(-1);
  }
  const std::int64_t tail = r.request->prompt - r.stored;
  parts_.loads.load(r, *r.remote, Claim::remote, parts_.memory.transfer(r, parts_.memory.remote_form(r.path), tail),
                    "first load");
}

void PoolRoute::on_done(serving::Instance&, serving::Request& q, Work work) {
  PoolRequest& r = *parts_.requests.find(q.id);
  if (work == Work::verify) return parts_.rounds.verified(r);
  work == Work::catch_up ? on_caught_up(r) : start_drafting(r);
}

/// It goes its path again, and what it has generated is computed with its prompt.
void PoolRoute::on_preempted(serving::Instance& instance, serving::Request& q) {
  PoolRequest& r = *parts_.requests.find(q.id);
  Site& site = site_of(r, instance);
  const bool findable = parts_.groups.config.schedule.caches_preempted() && !parts_.groups.decode.fetches() &&
                        !parts_.groups.decode.holds_part();
  findable ? site.memory().push_out(q.kv) : site.memory().leave_gpu(q.kv);
  site.count_requests(-1);
  if (site.pool() == Pool::local) {
    parts_.reloads.changed(site);
    parts_.rounds.room_changed(site);
  }
  parts_.stored->preempted(r);
  r.preempted_at = findable ? &site : nullptr;
  q.prefill.done = q.context() - 1;  // the last token is new
  q.prefill.target = q.context();
  q.phase = Phase::queued;
  r.local = r.remote = nullptr;
  r.held.reset();
  parts_.queues.put_back(r);
  settle_soon();
}

void PoolRoute::on_finished(serving::Instance&, serving::Request& q) {
  PoolRequest& r = *parts_.requests.find(q.id);
  on_finished(r);
  parts_.leave(r);
}

/// The last prompt position's logits give the first token, by the full KV.
void PoolRoute::on_prefilled(serving::Instance& instance, serving::Request& q) {
  PoolRequest& r = *parts_.requests.find(q.id);
  Site& site = site_of(r, instance);
  const bool first = !q.full_kv.had_prompt;  // else it was preempted
  if (first) parts_.log.prefilled(r);
  parts_.log.decodes(r);
  parts_.log.emitted_directly(r);
  const bool done = q.remaining() == 0;
  const bool elsewhere = r.traits().drafts && !done;
  if (!parts_.groups.decode.fetches() && first) parts_.stored->upload(r, site, elsewhere);
  if (done) {
    on_finished(r);
    parts_.leave(r);
  } else if (elsewhere) {
    r.local_ready = r.traits().cached;
  }
  if (parts_.groups.decode.fetches()) {
    q.full_kv.offload_pending = true;
    if (q.moving.writebacks == 0) on_all_offloaded(site, r);
  } else if (!done && !elsewhere) {
    start_decoding(site, r);
  }
}

void PoolRoute::on_offloaded(serving::Instance& instance, serving::Request& q) {
  PoolRequest& r = *parts_.requests.find(q.id);
  q.moving.writebacks -= 1;
  if (q.moving.writebacks == 0 && q.full_kv.offload_pending) on_all_offloaded(site_of(r, instance), r);
}

/// The prefilled KV has left layer by layer, beside its steps, and can be fetched.
void PoolRoute::on_all_offloaded(Site& site, PoolRequest& r) {
  r.request->full_kv.offload_pending = false;
  parts_.stored->offloaded(r);
  r.left ? parts_.forget_if_free(r) : start_decoding(site, r);
}

void PoolRoute::start_decoding(Site& site, PoolRequest& r) {
  parts_.log.decodes(r);
  serving::Residence& kv = r.request->kv;
  const auto blocks = static_cast<std::int64_t>(r.held->chain.size());
  if (const std::int64_t kept = parts_.memory.decoding_private(r, site.pool(), r.path, blocks) + kv.shared();
      kept < kv.held()) {
    KVSIM_ALWAYS(site.memory().resize(kv, kept), "memory could not be given back");
    parts_.rounds.room_changed(site);
    settle_soon();
  }
  decode_on(site, r);
}

/// Token by token with the KV that is there, whatever others draft.
void PoolRoute::decode_on(Site& site, PoolRequest& r) {
  r.request->full_kv.direct = parts_.groups.decode.verifies;
  r.request->full_kv.resident = parts_.groups.decode.verifies && !r.traits().drafts;
  site.instance().begin(*r.request, Phase::decoding);
}

void PoolRoute::start_drafting(PoolRequest& r) {
  parts_.log.decodes(r);
  if (r.traits().streams_rest)
    parts_.loads.load_rest(r, parts_.memory.rest_transfer(r), parts_.groups.config.model.layers);
  if (r.stateless()) parts_.reloads.drafts(r);
  parts_.rounds.start(r);
}

void PoolRoute::on_verdict(PoolRequest& r) {
  if (r.request->remaining() == 0) {
    parts_.leave(r);
  } else if (r.held->rest.there) {
    go_alone(r);
  } else {
    parts_.rounds.begin(r);
  }
}

void PoolRoute::on_whole(PoolRequest& r) {
  if (r.round == Round::drafting || r.round == Round::sent) go_alone(r);
}

/// P2: the full KV is here. The remote node computes its generated tokens' KV anew over it, verifies what it has
/// drafted in the same pass, and decodes from then on.
void PoolRoute::go_alone(PoolRequest& r) {
  parts_.rounds.end(r);
  parts_.leave_local(r);
  if (r.request->generated + r.request->round.drafted > 0) {
    r.remote->instance().once(*r.request, Work::catch_up);
  } else {
    decode_on(*r.remote, r);
  }
}

void PoolRoute::on_caught_up(PoolRequest& r) {
  if (r.request->round.drafted > 0) {
    parts_.rounds.settle(r);
  } else {
    parts_.log.emitted_directly(r);
  }
  if (r.request->remaining() > 0) {
    decode_on(*r.remote, r);
    return;
  }
  on_finished(r);
  parts_.leave(r);
}

void PoolRoute::on_finished(PoolRequest& r) {
  parts_.log.finished(r, serving::output_fidelity(parts_.groups.config, parts_.groups.decode,
                                                  parts_.groups.of(Pool::local).geometry, *r.request));
  if (!parts_.groups.config.placement) r.request->prefix.edit().tokens = r.stored;  // for whoever watches requests
  Callback finished = parts_.groups.env.on_finished;
  finished.word = r.request->id;
  finished();
}

void PoolRoute::settle_soon() {
  if (std::exchange(settle_pending_, true)) return;
  parts_.groups.env.simulator.schedule_in({}, engine::Callback::to<&PoolRoute::settle>(this));
}

/// Once for everything that happens at this instant.
void PoolRoute::settle() {
  settle_pending_ = false;
  parts_.reloads.start_changed();
  parts_.queues.assign();
}

}  // namespace kvsim::pools
