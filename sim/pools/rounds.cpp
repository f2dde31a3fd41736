// Tokens: decoding alone, or drafting on the remote node and verifying on the local one.
#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/pools/pool_system.h"

namespace kvsim::pools {

using engine::Callback;
using serving::Phase;

void PoolSystem::on_step(Node& node, const StepEntry& entry) {
  PoolRequest& r = *entry.request;
  serving::Request& q = *r.request;
  switch (entry.work) {
    case Work::decode:
      emit_directly(r);
      if (q.remaining() > 0) return;
      node.stop(r);
      finish(r);
      leave(r);
      return;
    case Work::draft:
      if (r.round != Round::drafting) return;  // it went on alone while the token was drafted
      q.drafted += 1;
      if (q.drafted >= q.draft_target) on_drafted(r);
      return;
    case Work::prefill:
      q.prefill_done += entry.tokens;
      if (q.prefill_done >= q.prompt) on_prefilled(node, r);
      return;
    case Work::verify:
      on_verified(r);
      return;
    case Work::catch_up:
      on_caught_up(r);
      return;
    case Work::decompress:
      start_drafting(r);
      return;
  }
}

void PoolSystem::count_prompt(PoolRequest& r) {
  r.request->phase = Phase::decoding;
  if (std::exchange(r.counted, true)) return;
  env_.measured.prompt_tokens += r.request->prompt;
}

/// The last prompt position's logits give the first token, by the full KV.
void PoolSystem::on_prefilled(Node& node, PoolRequest& r) {
  env_.measured.prefix.prefilled_tokens += r.request->prompt - r.stored;
  count_prompt(r);
  emit_directly(r);
  const bool done = r.request->remaining() == 0;
  const bool elsewhere = r.traits().drafts && !done;
  if (store_ || elsewhere) upload(r, node, r.request->prompt - r.stored, elsewhere);
  if (done) {
    finish(r);
    leave(r);
  } else if (elsewhere) {
    r.local_ready = r.traits().cached;
  } else {
    start_decoding(node, r);
  }
}

void PoolSystem::start_decoding(Node& node, PoolRequest& r) {
  count_prompt(r);
  node.start(r, Work::decode);
}

void PoolSystem::start_drafting(PoolRequest& r) {
  count_prompt(r);
  if (r.traits().streams_rest) {
    r.rest_left = memory_.rest_transfer(r);
    load_rest(r);
  }
  if (r.stateless()) {
    r.loaded = true;
    r.local->drafting += 1;
  }
  begin_round(r);
}

void PoolSystem::begin_round(PoolRequest& r) {
  serving::Request& q = *r.request;
  q.drafted = 0;
  q.draft_target = std::min(config_.decode.draft_length, q.remaining());
  q.late = false;
  r.drafts_here = false;
  r.round = Round::drafting;
  const double drafting_s =
      static_cast<double>(q.draft_target) * r.remote->gpus().iteration_s() + pools_.message_latency_s;
  r.due = now() + engine::from_seconds(drafting_s);
  r.remote->start(r, Work::draft);
  if (r.stateless()) wish_reload(r);
}

void PoolSystem::on_drafted(PoolRequest& r) {
  r.remote->stop(r);
  r.round = Round::sent;
  env_.simulator.schedule_in(engine::from_seconds(pools_.message_latency_s),
                             Callback::to<&PoolSystem::on_drafts_here>(this, r.request->id));
}

void PoolSystem::on_drafts_here(std::uint64_t id) {
  PoolRequest* r = find(id);
  if (r == nullptr || r->round != Round::sent) return;  // it went on alone meanwhile
  r->drafts_here = true;
  r->due = std::min(r->due, now());
  verify_if_ready(*r);
  if (r->round != Round::sent) return;
  r->request->late = true;
  if (r->reload == Reload::wished) start_reloads(*r->local);
}

void PoolSystem::verify_if_ready(PoolRequest& r) {
  if (r.round != Round::sent || !r.drafts_here) return;
  if (r.traits().cached ? !r.local_ready : r.reload != Reload::arrived) return;
  r.round = Round::verifying;
  r.local->enqueue(r, Work::verify);
}

/// A verification's outcome, in the request and the measurements; returns the tokens that became final.
std::int64_t PoolSystem::settle_round(PoolRequest& r) {
  serving::Request& q = *r.request;
  const std::int64_t accepted = acceptance_.accepted(q.drafted, q.accept_stream.uniform(), q.acceptance);
  const std::int64_t emitted = log_.verified(q, q.drafted, accepted);
  path_sums(r).output_tokens += emitted;
  q.drafted = 0;
  return emitted;
}

void PoolSystem::emit_directly(PoolRequest& r) {
  log_.emitted_directly(*r.request);
  path_sums(r).output_tokens += 1;
}

void PoolSystem::on_verified(PoolRequest& r) {
  KVSIM_ALWAYS(r.traits().cached ? r.local_ready : r.reload == Reload::arrived,
               "a request was verified without its full KV");
  const std::int64_t emitted = settle_round(r);
  if (r.stateless()) {
    withdraw_reload(r);
    // The new tokens' KV, for the next reload.
    if (r.request->remaining() > 0) {
      network_.lane(Pool::local, r.local->index(), Direction::write)
          .submit({.bytes = memory_.full_transfer(emitted), .owner = r.request->id, .kind = "write back"});
    }
  }
  if (r.request->remaining() == 0) finish(r);
  env_.simulator.schedule_in(engine::from_seconds(pools_.message_latency_s),
                             Callback::to<&PoolSystem::on_verdict>(this, r.request->id));
}

/// The remote node hears of it.
void PoolSystem::on_verdict(std::uint64_t id) {
  PoolRequest& r = *find(id);
  if (r.request->remaining() == 0) {
    leave(r);
  } else if (r.whole) {
    go_alone(r);
  } else {
    begin_round(r);
  }
}

/// P2: the full KV is here. The remote node computes its generated tokens' KV anew over it, verifies what it has
/// drafted in the same pass, and decodes from then on.
void PoolSystem::go_alone(PoolRequest& r) {
  if (r.round == Round::drafting) r.remote->stop(r);
  r.round = Round::none;
  leave_local(r);
  if (r.request->generated + r.request->drafted > 0) {
    r.remote->enqueue(r, Work::catch_up);
  } else {
    r.remote->start(r, Work::decode);
  }
}

void PoolSystem::on_caught_up(PoolRequest& r) {
  if (r.request->drafted > 0) {
    settle_round(r);
  } else {
    emit_directly(r);
  }
  if (r.request->remaining() > 0) {
    r.remote->start(r, Work::decode);
    return;
  }
  finish(r);
  leave(r);
}

void PoolSystem::finish(PoolRequest& r) {
  log_.finished(*r.request, serving::decoding_fidelity(config_, decode_, geometry_, r.request->context()));
  path_sums(r).completed += 1;
  Callback finished = env_.on_finished;
  finished.word = r.request->id;
  finished();
}

/// The local node has done its part.
void PoolSystem::leave_local(PoolRequest& r) {
  if (r.local == nullptr || std::exchange(r.local_left, true)) return;
  if (r.stateless()) {
    withdraw_reload(r);
    Node& local = *r.local;
    local.remove_stateless(r);
    local.drafting -= std::exchange(r.loaded, false) ? 1 : 0;
    if (memory_.largest_reload(r) == local.largest_reload) {  // the largest of those who stay
      local.largest_reload = 0;
      for (const PoolRequest* other : local.stateless) {
        local.largest_reload = std::max(local.largest_reload, memory_.largest_reload(*other));
      }
    }
    dispatcher_->leaves(r);
  }
  if (r.local_claim.empty()) return;
  r.local->count_requests(-1);
  drop(r, *r.local, Claim::local);
}

void PoolSystem::leave(PoolRequest& r) {
  for (auto part = r.rest.rbegin(); part != r.rest.rend(); ++part) {
    if (part->value != 0) network_.lane(Pool::remote, r.remote->index(), Direction::read).cancel(*part);
  }
  r.rest = {};
  leave_local(r);
  if (r.remote != nullptr) {
    r.remote->count_requests(-1);
    drop(r, *r.remote, Claim::remote);
  }
  if (store_) store_->unpin(r.chain);
  r.left = true;
  forget_if_free(r);
}

/// Deferred: nodes still hold pointers to it within this iteration.
void PoolSystem::forget_if_free(PoolRequest& r) {
  if (!r.left || r.in_transit > 0) return;
  env_.simulator.schedule_in({}, Callback::to<&PoolSystem::forget>(this, r.request->id));
}

void PoolSystem::forget(std::uint64_t id) {
  if (!requests_[id]) return;
  requests_[id].reset();
  Callback released = env_.on_released;
  released.word = id;
  released();
}

}  // namespace kvsim::pools
