// Full KV read anew for every verification (stateless paths): when a reload starts, and with which memory.
#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/pools/pool_system.h"

namespace kvsim::pools {

using engine::Callback;
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
  if (!node.memory().try_claim(r.reload_claim, r.chain, KvForm::full, memory_.block_bytes(KvForm::full),
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
