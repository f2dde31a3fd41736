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
  r.path = assignment.path;
  r.local = assignment.local;
  r.remote = assignment.remote;
  r.held = std::make_unique<HeldOnNodes>();
  if (decode_.verifies) serving::draw_acceptance(*r.request, acceptance_, config_.run.seed, r.number);
  if (decode_.drafter) serving::draw_drafter_acceptance(*r.request, drafting_.acceptance(), config_.run.seed, r.number);
  stored_->hold(r);
  r.request->phase = Phase::loading;
  r.request->prefill_done = r.stored;
  log_.started(r);
  if (r.stateless()) reloads_.join(r);
  const PathTraits& t = r.traits();
  if (t.on_remote) load_to_remote(r);
  if (t.on_local && (!r.stateless() || r.stored < r.request->prompt)) load_to_local(r);
}

void TwoPools::load_to_remote(PoolRequest& r) {
  const memory::KvForm form = memory_.remote_form(r.path);
  const auto blocks = static_cast<std::int64_t>(r.held->chain.size());
  KVSIM_ALWAYS(r.remote->memory().try_claim(r.held->remote, r.held->chain, form, memory_.block_bytes(form),
                                            memory_.remote_private(r, r.path, blocks)),
               "memory that was available could not be reserved");
  r.remote->count_requests(1);
  r.remote_parts = r.traits().drafts && r.stored < r.request->prompt ? 2 : 1;
  const std::int64_t tokens = r.stored - r.held->chain_tokens + r.held->remote.missing * memory_.block_tokens();
  log_.loads(r.held->remote, tokens, memory_.block_tokens());
  stored_->load(r, *r.remote, Claim::remote, memory_.transfer(r, form, tokens));
}

void TwoPools::load_to_local(PoolRequest& r) {
  const memory::KvForm form = memory_.local_form();
  const auto blocks = static_cast<std::int64_t>(r.held->chain.size());
  KVSIM_ALWAYS(r.local->memory().try_claim(r.held->local, r.held->chain, form, memory_.block_bytes(form),
                                           memory_.local_private(r, r.path, blocks)),
               "memory that was available could not be reserved");
  r.local->count_requests(1);
  const std::int64_t tokens = r.stored - r.held->chain_tokens + r.held->local.missing * memory_.block_tokens();
  if (!r.traits().on_remote) log_.loads(r.held->local, tokens, memory_.block_tokens());  // each prompt once
  stored_->load(r, *r.local, Claim::local, memory_.local_transfer(r, tokens));
}

void TwoPools::on_loaded(PoolRequest& r, Claim claim, bool wanted) {
  if (wanted) {
    switch (claim) {
      case Claim::local:
        on_local_complete(r);
        break;
      case Claim::remote:
        on_remote_complete(r);
        break;
      case Claim::reload:
        r.held->reload.state = ReloadWish::State::arrived;
        r.local->instance().arrived(*r.request);
        rounds_.verify_if_ready(r);
        reloads_.changed(*r.local);
        settle_soon();
        break;
    }
  }
  forget_if_free(r);
}

void TwoPools::on_released(PoolRequest& r, Claim claim, Site& node) {
  if (claim == Claim::reload) reloads_.released(r);
  if (node.pool() == Pool::local) reloads_.changed(node);
  settle_soon();
}

/// When it is prefilled: for drafts on it elsewhere, or because its tokens are decoded with less than its full KV. What
/// came as a placement stores it came whole.
std::int64_t TwoPools::compressed(const serving::Request& q) const {
  const PoolRequest& r = *requests_.find(q.id);
  const bool online = config_.decode.compressor.mode == models::CompressionMode::online;
  if (!(r.traits().drafts && online) && decode_.lossless()) return 0;
  return q.prompt - (prompts_ ? 0 : r.stored);
}

void TwoPools::prefill_or_decode(PoolRequest& r, Site& site) {
  if (r.request->prefill_done < r.request->prompt) {
    site.instance().begin(*r.request, Phase::prefilling);
  } else {
    start_decoding(site, r);
  }
}

void TwoPools::on_local_complete(PoolRequest& r) {
  if (!r.traits().drafts || r.request->prefill_done < r.request->prompt) {
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
  if (serving::decompression_s(config_, geometry_, timer_, r.request->prompt) > 0) {
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
  return r.local != nullptr && &r.local->instance() == &instance ? *r.local : *r.remote;
}

void TwoPools::on_entered(serving::Instance&, serving::Request&) {}

void TwoPools::on_done(serving::Instance&, serving::Request& q, Work work) {
  PoolRequest& r = *requests_.find(q.id);
  if (work == Work::verify) return rounds_.verified(r);
  work == Work::catch_up ? on_caught_up(r) : start_drafting(r);
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
  log_.prefilled(r);
  log_.decodes(r);
  log_.emitted_directly(r);
  const bool done = q.remaining() == 0;
  const bool elsewhere = r.traits().drafts && !done;
  if (!decode_.fetches()) stored_->upload(r, site, elsewhere);
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
  memory::MemoryClaim& claim = r.local == &site ? r.held->local : r.held->remote;
  const auto blocks = static_cast<std::int64_t>(r.held->chain.size());
  if (const std::int64_t kept = memory_.decoding_private(r, r.path, blocks); kept < claim.private_bytes) {
    site.memory().shrink(claim, kept);
    settle_soon();
  }
  decode_on(site, r);
}

/// Token by token with the KV that is there, whatever others draft.
void TwoPools::decode_on(Site& site, PoolRequest& r) {
  r.request->direct = r.request->resident = decode_.verifies;
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
  log_.finished(r, serving::output_fidelity(config_, decode_, geometry_, *r.request));
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
  if (r.held->local.empty()) return;
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
