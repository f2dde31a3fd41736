// What crosses the links for a request: its first loads, what was prefilled on its way back, the rest of its KV.
#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/pools/pool_system.h"

namespace kvsim::pools {

using engine::Callback;

namespace {

constexpr std::uint64_t kClaims = 4;

std::uint64_t word_of(const PoolRequest& r, Claim claim) {
  return r.request->id * kClaims + static_cast<std::uint64_t>(claim);
}

memory::MemoryClaim& claim_of(PoolRequest& r, Claim claim) {
  return claim == Claim::local ? r.local_claim : claim == Claim::remote ? r.remote_claim : r.reload_claim;
}

Node& node_of(PoolRequest& r, Claim claim) {
  return claim == Claim::remote ? *r.remote : *r.local;
}

}  // namespace

void PoolSystem::load(PoolRequest& r, Node& node, Claim claim, std::int64_t bytes, const char* kind) {
  node.loads.push_back({&r, claim, false});
  r.in_transit += 1;
  const Callback arrived = Callback::to<&PoolSystem::on_arrival>(this, word_of(r, claim));
  if (bytes == 0) {  // all of it is there, or on its way for somebody else
    env_.simulator.schedule_in({}, arrived);
    return;
  }
  network_.lane(node.pool(), node.index(), Direction::read)
      .submit({.bytes = bytes, .on_complete = arrived, .owner = r.request->id, .kind = kind});
}

void PoolSystem::on_arrival(std::uint64_t word) {
  PoolRequest& r = *find(word / kClaims);
  const auto claim = static_cast<Claim>(word % kClaims);
  Node& node = node_of(r, claim);
  const auto mine = std::find_if(node.loads.begin(), node.loads.end(), [&](const Load& load) {
    return load.request == &r && load.claim == claim && !load.arrived;
  });
  KVSIM_ALWAYS(mine != node.loads.end(), "a transfer arrived for which nobody waits");
  mine->arrived = true;
  memory::MemoryClaim& held = claim_of(r, claim);
  if (held.loading != 0) node.memory().loaded(held);
  sweep(node);
}

/// Whoever has everything goes on, also those who waited for blocks that another one loaded.
void PoolSystem::sweep(Node& node) {
  for (std::size_t i = 0; i < node.loads.size();) {
    const Load load = node.loads[i];
    if (!load.arrived || !node.memory().complete(claim_of(*load.request, load.claim))) {
      ++i;
      continue;
    }
    node.loads.erase(node.loads.begin() + static_cast<std::ptrdiff_t>(i));
    load.request->in_transit -= 1;
    if (load.claim == Claim::reload) node.reloads_moving -= 1;
    if (load.leaves) {
      drop(*load.request, node, load.claim);
    } else {
      on_complete(*load.request, load.claim);
    }
    forget_if_free(*load.request);
    i = 0;  // more may have changed
  }
}

void PoolSystem::on_complete(PoolRequest& r, Claim claim) {
  switch (claim) {
    case Claim::local:
      on_local_complete(r);
      break;
    case Claim::remote:
      on_remote_complete(r);
      break;
    case Claim::reload:
      r.reload = Reload::arrived;
      verify_if_ready(r);
      changed(*r.local);
      break;
  }
}

/// Releases a claim, now or when what is on its way for it has arrived.
void PoolSystem::drop(PoolRequest& r, Node& node, Claim claim) {
  for (Load& load : node.loads) {
    if (load.request != &r || load.claim != claim) continue;
    load.leaves = true;
    return;
  }
  if (claim == Claim::reload) node.reload_bytes -= std::exchange(r.reload_bytes, 0);
  memory::MemoryClaim& held = claim_of(r, claim);
  if (held.empty()) return;
  node.memory().release(held);
  changed(node);
}

void PoolSystem::on_local_complete(PoolRequest& r) {
  if (r.request->prefill_done < r.request->prompt) {
    r.request->phase = serving::Phase::prefilling;
    r.local->enqueue(r, Work::prefill);
  } else if (r.traits().drafts) {
    r.local_ready = true;
    verify_if_ready(r);
  } else {
    start_decoding(*r.local, r);
  }
}

void PoolSystem::on_remote_complete(PoolRequest& r) {
  if (!r.traits().drafts) {
    if (r.request->prefill_done < r.request->prompt) {
      r.request->phase = serving::Phase::prefilling;
      r.remote->enqueue(r, Work::prefill);
    } else {
      start_decoding(*r.remote, r);
    }
    return;
  }
  r.remote_parts -= 1;
  if (r.remote_parts > 0 || r.request->remaining() == 0) return;
  const models::CompressorSpec& compressor = config_.decode.compressor;
  if (compressor.kind != models::CompressionKind::token_dropping && compressor.decompress_bytes_per_s.value > 0) {
    r.remote->enqueue(r, Work::decompress);
  } else {
    start_drafting(r);
  }
}

/// What was prefilled goes to the storage node: others may read it (prefix_cache), and a request that drafts elsewhere
/// goes on when it is there.
void PoolSystem::upload(PoolRequest& r, Node& node, std::int64_t tokens, bool resumes) {
  Upload upload{store_ ? r.blocks : std::vector<std::uint64_t>{}, r.request->id, resumes};
  if (resumes) r.in_transit += 1;
  uploads_.emplace(next_upload_, std::move(upload));
  network_.lane(node.pool(), node.index(), Direction::write)
      .submit({.bytes = memory_.full_transfer(tokens),
               .on_complete = Callback::to<&PoolSystem::on_uploaded>(this, next_upload_),
               .owner = r.request->id,
               .kind = "store"});
  ++next_upload_;
}

void PoolSystem::on_uploaded(std::uint64_t id) {
  const auto node = uploads_.extract(id);
  const Upload& upload = node.mapped();
  if (store_) store_->insert(upload.blocks);
  if (!upload.resumes) return;
  PoolRequest& r = *find(upload.request);
  r.in_transit -= 1;
  if (r.stateless()) {  // its memory was for the prefill
    drop(r, *r.local, Claim::local);
    r.local->count_requests(-1);
  }
  const std::int64_t tail = r.request->prompt - r.stored;
  load(r, *r.remote, Claim::remote, memory_.transfer(r, memory_.remote_form(r.path), tail), "first load");
}

/// P2: after the compressed KV, layer by layer, when nothing more urgent waits. One layer moves, the next is set up.
void PoolSystem::load_rest(PoolRequest& r) {
  transport::Lane& lane = network_.lane(Pool::remote, r.remote->index(), Direction::read);
  for (transport::TransferId& part : r.rest) {
    const std::int64_t layers = config_.model.layers - r.rest_layers;
    if (part.value != 0 || layers == 0) continue;
    const std::int64_t bytes = r.rest_left / layers;
    r.rest_left -= bytes;
    r.rest_layers += 1;
    part = lane.submit({.bytes = bytes,
                        .priority = kDeferrable,
                        .on_complete = Callback::to<&PoolSystem::on_rest>(this, r.request->id),
                        .owner = r.request->id,
                        .kind = "rest"});
  }
}

void PoolSystem::on_rest(std::uint64_t id) {
  PoolRequest* r = find(id);
  if (r == nullptr || r->left) return;  // finished while the last bytes were on their way
  r->rest = {r->rest[1], {}};
  load_rest(*r);
  if (r->rest[0].value != 0) return;
  r->whole = true;
  if (r->round == Round::drafting || r->round == Round::sent) go_alone(*r);
}

// Full KV read anew for every verification (stateless paths): when a reload starts, and with which memory.

using engine::SimTime;

namespace {

/// One moves, the next is set up: more would only hold memory.
constexpr std::int64_t kMostMoving = 2;

/// Reloads start this many of their own lengths before their drafts are due, beside what is queued.
constexpr double kLead = 2;

/// And are looked at this often, in their own lengths, but not more seldom than this: a link may be down for now.
constexpr double kLook = 0.02;
constexpr double kLongestLook_s = 0.1;

}  // namespace

void PoolSystem::wish_reload(PoolRequest& r) {
  r.reload = Reload::wished;
  r.reload_from = dispatcher_->reload_start(r, r.due, *this);
  r.local->reloads_due.push_back(&r);
  start_reloads(*r.local);
}

/// It is not wanted any more, or has been used.
void PoolSystem::withdraw_reload(PoolRequest& r) {
  if (r.reload == Reload::none) return;
  if (r.reload == Reload::wished) {
    std::erase(r.local->reloads_due, &r);
  } else {
    drop(r, *r.local, Claim::reload);
  }
  r.reload = Reload::none;
}

SimTime PoolSystem::reload_start(const PoolRequest& r) const {
  if (r.drafts_here) return now();
  if (r.reload_from) return *r.reload_from;
  const double lead = kLead * reload_s(r, *r.local) + backlog_s(*r.local);
  return r.due - engine::from_seconds(std::min(lead, r.due.seconds()));
}

/// Those whose time has come, in the order in which their drafts are due, as far as the link and the memory allow.
void PoolSystem::start_reloads(Node& node) {
  node.reload_starved = false;
  env_.simulator.cancel(node.reload_timer);
  while (!node.reloads_due.empty() && node.reloads_moving < kMostMoving) {
    PoolRequest* first = nullptr;
    SimTime soonest{};
    for (PoolRequest* r : node.reloads_due) {
      const SimTime from = reload_start(*r);
      if (from > now()) {
        if (soonest.ns == 0 || from < soonest) soonest = from;
      } else if (first == nullptr || std::pair(r->due, r->request->id) < std::pair(first->due, first->request->id)) {
        first = r;
      }
    }
    if (first == nullptr) {
      // As the link's queue drains, the time moves on with the clock: look again after a while, not at once.
      const double look_s = std::min(kLook * reload_s(*node.reloads_due.front(), node), kLongestLook_s);
      soonest = std::max(soonest, now() + engine::from_seconds(look_s));
      node.reload_timer =
          env_.simulator.schedule_at(soonest, Callback::to<&PoolSystem::on_reload_timer>(this, node.index()));
      return;
    }
    // While somebody's turn for memory is overdue, one reload at a time.
    if (local_drains_ && node.reload_bytes > 0) return;
    if (!start_reload(*first)) {
      node.reload_starved = true;
      return;
    }
  }
}

void PoolSystem::on_reload_timer(std::uint64_t node) {
  start_reloads(*local_[node]);
}

bool PoolSystem::start_reload(PoolRequest& r) {
  Node& node = *r.local;
  const std::int64_t before = node.memory().reserved();
  if (!node.memory().try_claim(r.reload_claim, r.chain, memory::KvForm::full, memory_.block_bytes(memory::KvForm::full),
                               memory_.reload_private(r))) {
    return false;
  }
  r.reload_bytes = node.memory().reserved() - before;
  node.reload_bytes += r.reload_bytes;
  node.reloads_moving += 1;
  std::erase(node.reloads_due, &r);
  r.reload = Reload::in_flight;
  const std::int64_t tokens = r.request->context() - r.chain_tokens + r.reload_claim.missing * memory_.block_tokens();
  load(r, node, Claim::reload, memory_.full_transfer(tokens), "reload");
  return true;
}

}  // namespace kvsim::pools
