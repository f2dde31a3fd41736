// A request's way from one stage to the next: what its path makes of the end of each.
#include <memory>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/pools/two_pools.h"

namespace kvsim::pools {

using engine::Callback;
using models::PathTraits;
using serving::Phase;
using serving::Work;

void TwoPools::on_assigned(PoolRequest& r, const Assignment& assignment) {
  serving::Request& q = *r.request;
  r.path = assignment.path;
  r.local = assignment.local;
  r.remote = assignment.remote;
  r.held = std::make_unique<HeldOnNodes>();
  if (decode_.verifies && !q.luck) serving::draw_acceptance(q, acceptance_, config_.run.seed, r.number);
  if (decode_.drafter && !q.drafter_luck) {
    serving::draw_drafter_acceptance(q, parts_.front().drafting.acceptance(), config_.run.seed, r.number);
  }
  stored_->hold(r);
  q.phase = Phase::loading;
  if (!r.counted) log_.started(r);
  if (r.stateless()) reloads_.join(r);
  const PathTraits& t = r.traits();
  r.found = r.stored;
  if (!t.drafts) find_on(t.on_local ? *r.local : *r.remote, r);
  q.prefill_done = r.found;
  const bool prefills = r.found < q.prefill_target;
  if (t.on_remote) {
    hold_on(*r.remote, r);
    r.remote_parts = t.drafts && prefills ? 2 : 1;
    t.drafts ? load(*r.remote, r) : r.remote->instance().submit(q);
  }
  if (t.on_local && (!r.stateless() || prefills)) {
    hold_on(*r.local, r);
    t.drafts && !prefills ? load(*r.local, r) : r.local->instance().submit(q);
  }
}

/// Looks in the site's own memory for KV of a prompt that is decoded there, beyond what is stored.
void TwoPools::find_on(Site& site, PoolRequest& r) {
  serving::Request& q = *r.request;
  if (config_.schedule.prefix_caching && memory_.block_tokens() > 0) {
    serving::KvHoldings::name_blocks(q.kv, r.blocks);
    const std::int64_t there =
        std::as_const(site).memory().there(q.kv, (q.prefill_target - 1) / memory_.block_tokens());
    if (there > std::ssize(r.held->chain)) {
      r.held->chain.assign(r.blocks.begin(), r.blocks.begin() + there);
      r.held->chain_tokens = there * memory_.block_tokens();
      r.found = std::max(r.found, r.held->chain_tokens);
    }
    if (!r.counted) serving::KvHoldings::note_found(q.kv, there * memory_.block_tokens());
  }
  if (std::exchange(r.preempted_at, nullptr) != &site || r.found > 0) return;
  const serving::KvGeometry& geometry = parts_of(site.pool()).geometry;
  r.found =
      geometry.tokens_of_full_blocks(site.memory().take_back(q.kv, geometry.bytes_of_full_blocks(q.prefill_done)));
}

void TwoPools::hold_on(Site& site, PoolRequest& r) {
  const bool local = r.local == &site;
  const memory::KvForm form = local ? memory_.local_form() : memory_.remote_form(r.path);
  const auto blocks = static_cast<std::int64_t>(r.held->chain.size());
  const std::int64_t own = local ? memory_.local_private(r, r.path, blocks) : memory_.remote_private(r, r.path, blocks);
  serving::Residence& kv = local ? r.local_kv() : r.request->kv;
  KVSIM_ALWAYS(site.memory().hold_chain(kv, r.held->chain, form, memory_.block_bytes(site.pool(), form), own),
               "memory that was available could not be reserved");
  site.count_requests(1);
  if (!r.counted && (!local || !r.traits().on_remote)) {  // each prompt once
    log_.loads(kv, tokens_to_load(r, kv), memory_.block_tokens());
  }
}

std::int64_t TwoPools::tokens_to_load(const PoolRequest& r, const serving::Residence& kv) const {
  return std::max<std::int64_t>(r.stored - r.held->chain_tokens, 0) + kv.missing() * memory_.block_tokens();
}

void TwoPools::load(Site& site, PoolRequest& r) {
  if (r.local == &site) {
    return stored_->load(r, site, Claim::local, memory_.local_transfer(r, tokens_to_load(r, r.local_kv())));
  }
  const std::int64_t tokens = tokens_to_load(r, r.request->kv);
  stored_->load(r, site, Claim::remote, memory_.transfer(r, memory_.remote_form(r.path), tokens));
}

void TwoPools::on_entered(serving::Instance& instance, serving::Request& q) {
  PoolRequest& r = *requests_.find(q.id);
  q.phase = Phase::loading;
  Site& site = site_of(r, instance);
  if (r.stored == 0 && !instance.admits_at_once()) {  // the step that it enters with computes its prompt
    return site.pool() == Pool::local ? on_local_complete(r) : on_remote_complete(r);
  }
  if (config_.schedule.blocking_loads) {
    r.awaited = true;
    instance.await_loads(1);
  }
  load(site, r);
}

void TwoPools::on_loaded(PoolRequest& r, Claim claim, bool wanted) {
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
        rounds_.reloaded(r);
        reloads_.changed(*r.local);
        settle_soon();
        break;
    }
  }
  forget_if_free(r);
}

void TwoPools::on_released(PoolRequest& r, Claim claim, Site& node) {
  if (claim == Claim::reload) reloads_.released(r);
  if (node.pool() == Pool::local) {
    reloads_.changed(node);
    rounds_.room_changed(node);
  }
  settle_soon();
}

/// When it is prefilled: for drafts on it elsewhere, or because its tokens are decoded with less than its full KV. What
/// came as a placement stores it came whole.
std::int64_t TwoPools::compressed(const serving::Request& q) const {
  const PoolRequest& r = *requests_.find(q.id);
  const bool online = config_.decode.compressor.mode == models::CompressionMode::online;
  if (!(r.traits().drafts && online) && decode_.lossless()) return 0;
  return q.prefill_target - (prompts_ ? 0 : r.found);
}

void TwoPools::prefill_or_decode(PoolRequest& r, Site& site) {
  if (r.request->prefill_done < r.request->prefill_target) {
    site.instance().begin(*r.request, Phase::prefilling);
  } else {
    start_decoding(site, r);
  }
}

void TwoPools::on_local_complete(PoolRequest& r) {
  if (!r.traits().drafts || r.request->prefill_done < r.request->prefill_target) {
    prefill_or_decode(r, *r.local);
  } else {
    r.local_ready = true;
    rounds_.verify_if_ready(r);
  }
}

void TwoPools::on_remote_complete(PoolRequest& r) {
  if (!r.traits().drafts) {
    prefill_or_decode(r, *r.remote);
    return;
  }
  r.remote_parts -= 1;
  if (r.remote_parts > 0 || r.request->remaining() == 0) return;
  const serving::GroupParts& remote = parts_of(Pool::remote);
  if (serving::decompression_s(config_, remote.group, remote.geometry, remote.timer, r.request->prompt) > 0) {
    r.remote->instance().once(*r.request, Work::decompress);
  } else {
    start_drafting(r);
  }
}

/// What was prefilled for a request that drafts elsewhere.
void TwoPools::on_stored(PoolRequest& r) {
  if (r.stateless()) {  // its memory was for the prefill
    loads_.drop(r, *r.local, Claim::local);
    r.local->count_requests(-1);
  }
  const std::int64_t tail = r.request->prompt - r.stored;
  loads_.load(r, *r.remote, Claim::remote, memory_.transfer(r, memory_.remote_form(r.path), tail), "first load");
}

Site& TwoPools::site_of(PoolRequest& r, const serving::Instance& instance) {
  const bool local = r.remote == nullptr || (r.local != nullptr && &r.local->instance() == &instance);
  return local ? *r.local : *r.remote;
}

void TwoPools::on_done(serving::Instance&, serving::Request& q, Work work) {
  PoolRequest& r = *requests_.find(q.id);
  if (work == Work::verify) return rounds_.verified(r);
  work == Work::catch_up ? on_caught_up(r) : start_drafting(r);
}

/// It goes its path again, and what it has generated is computed with its prompt.
void TwoPools::on_preempted(serving::Instance& instance, serving::Request& q) {
  PoolRequest& r = *requests_.find(q.id);
  Site& site = site_of(r, instance);
  const bool findable = config_.schedule.caches_preempted() && !decode_.fetches() && !decode_.holds_part();
  findable ? site.memory().push_out(q.kv) : site.memory().leave_gpu(q.kv);
  site.count_requests(-1);
  if (site.pool() == Pool::local) {
    reloads_.changed(site);
    rounds_.room_changed(site);
  }
  stored_->preempted(r);
  r.preempted_at = findable ? &site : nullptr;
  q.prefill_done = q.context() - 1;  // the last token is new
  q.prefill_target = q.context();
  q.phase = Phase::queued;
  r.local = r.remote = nullptr;
  r.held.reset();
  queues_.put_back(r);
  settle_soon();
}

void TwoPools::on_finished(serving::Instance&, serving::Request& q) {
  PoolRequest& r = *requests_.find(q.id);
  on_finished(r);
  leave(r);
}

/// The last prompt position's logits give the first token, by the full KV.
void TwoPools::on_prefilled(serving::Instance& instance, serving::Request& q) {
  PoolRequest& r = *requests_.find(q.id);
  Site& site = site_of(r, instance);
  const bool first = !r.counted;  // else it was preempted
  if (first) log_.prefilled(r);
  log_.decodes(r);
  log_.emitted_directly(r);
  const bool done = q.remaining() == 0;
  const bool elsewhere = r.traits().drafts && !done;
  if (!decode_.fetches() && first) stored_->upload(r, site, elsewhere);
  if (done) {
    on_finished(r);
    leave(r);
  } else if (elsewhere) {
    r.local_ready = r.traits().cached;
  }
  if (decode_.fetches()) {
    q.settling = true;
    if (q.moving.writebacks == 0) on_all_offloaded(site, r);
  } else if (!done && !elsewhere) {
    start_decoding(site, r);
  }
}

void TwoPools::on_offloaded(serving::Instance& instance, serving::Request& q) {
  PoolRequest& r = *requests_.find(q.id);
  q.moving.writebacks -= 1;
  if (q.moving.writebacks == 0 && q.settling) on_all_offloaded(site_of(r, instance), r);
}

/// What was prefilled has left layer by layer, beside its steps, and can be fetched.
void TwoPools::on_all_offloaded(Site& site, PoolRequest& r) {
  r.request->settling = false;
  stored_->offloaded(r);
  r.left ? forget_if_free(r) : start_decoding(site, r);
}

void TwoPools::start_decoding(Site& site, PoolRequest& r) {
  log_.decodes(r);
  serving::Residence& kv = r.request->kv;
  const auto blocks = static_cast<std::int64_t>(r.held->chain.size());
  if (const std::int64_t kept = memory_.decoding_private(r, site.pool(), r.path, blocks) + kv.shared();
      kept < kv.held()) {
    KVSIM_ALWAYS(site.memory().resize(kv, kept), "memory could not be given back");
    rounds_.room_changed(site);
    settle_soon();
  }
  decode_on(site, r);
}

/// Token by token with the KV that is there, whatever others draft.
void TwoPools::decode_on(Site& site, PoolRequest& r) {
  r.request->direct = decode_.verifies;
  r.request->resident = decode_.verifies && !r.traits().drafts;
  site.instance().begin(*r.request, Phase::decoding);
}

void TwoPools::start_drafting(PoolRequest& r) {
  log_.decodes(r);
  if (r.traits().streams_rest) loads_.load_rest(r, memory_.rest_transfer(r), config_.model.layers);
  if (r.stateless()) reloads_.drafts(r);
  rounds_.start(r);
}

void TwoPools::on_verdict(PoolRequest& r) {
  if (r.request->remaining() == 0) {
    leave(r);
  } else if (r.held->rest.there) {
    go_alone(r);
  } else {
    rounds_.begin(r);
  }
}

void TwoPools::on_whole(PoolRequest& r) {
  if (r.round == Round::drafting || r.round == Round::sent) go_alone(r);
}

/// P2: the full KV is here. The remote node computes its generated tokens' KV anew over it, verifies what it has
/// drafted in the same pass, and decodes from then on.
void TwoPools::go_alone(PoolRequest& r) {
  rounds_.end(r);
  leave_local(r);
  if (r.request->generated + r.request->round.drafted > 0) {
    r.remote->instance().once(*r.request, Work::catch_up);
  } else {
    decode_on(*r.remote, r);
  }
}

void TwoPools::on_caught_up(PoolRequest& r) {
  if (r.request->round.drafted > 0) {
    rounds_.settle(r);
  } else {
    log_.emitted_directly(r);
  }
  if (r.request->remaining() > 0) {
    decode_on(*r.remote, r);
    return;
  }
  on_finished(r);
  leave(r);
}

std::string_view TwoPools::path_of(const serving::Request& request) const {
  return models::path_name(requests_.find(request.id)->path);
}

void TwoPools::on_finished(PoolRequest& r) {
  log_.finished(r, serving::output_fidelity(config_, decode_, parts_of(Pool::local).geometry, *r.request));
  if (!config_.placement) r.request->prefix.tokens = r.stored;  // for whoever watches requests
  Callback finished = env_.on_finished;
  finished.word = r.request->id;
  finished();
}

/// The local node has done its part.
void TwoPools::leave_local(PoolRequest& r) {
  if (r.local == nullptr || std::exchange(r.local_left, true)) return;
  if (r.stateless()) {
    reloads_.leave(r);
    dispatcher_->leaves(r);
  }
  if (r.local_kv().empty()) return;
  r.local->count_requests(-1);
  loads_.drop(r, *r.local, Claim::local);
}

void TwoPools::leave(PoolRequest& r) {
  if (r.traits().drafts) rounds_.end(r);
  loads_.cancel_rest(r);
  leave_local(r);
  if (r.remote != nullptr) {
    r.remote->count_requests(-1);
    loads_.drop(r, *r.remote, Claim::remote);
  }
  stored_->release(r);
  r.left = true;
  forget_if_free(r);
}

/// Deferred: nodes still hold pointers to it within this iteration.
void TwoPools::forget_if_free(PoolRequest& r) {
  if (!r.left || r.in_transit > 0 || r.request->referred_to()) return;
  env_.simulator.schedule_in({}, Callback::to<&TwoPools::forget>(this, r.request->id));
}

void TwoPools::forget(std::uint64_t id) {
  if (requests_.find(id) == nullptr) return;
  requests_.erase(id);
  Callback released = env_.on_released;
  released.word = id;
  released();
}

}  // namespace kvsim::pools
