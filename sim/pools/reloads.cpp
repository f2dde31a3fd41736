#include "sim/pools/reloads.h"

#include <algorithm>
#include <utility>

#include "sim/serving/step_parts.h"

namespace kvsim::pools {

using engine::Callback;
using engine::SimTime;
using serving::Reload;

namespace {

/// One moves, the next is set up: more would only hold memory.
constexpr std::int64_t kMostMoving = 2;

/// Reloads start this many of their own lengths before their drafts are due, beside what is queued.
constexpr double kLead = 2;

/// And are looked at this often, in their own lengths, but not more seldom than this: a link may be down for now.
constexpr double kLook = 0.02;
constexpr double kLongestLook_s = 0.1;

}  // namespace

Reloads::Reloads(engine::Simulator& simulator, const serving::ServingConfig& config, const RequestMemory& memory,
                 const StorageNetwork& network, std::span<Site> local, Loads& loads)
    : simulator_(simulator), config_(config), memory_(memory), network_(network), loads_(loads), nodes_(local.size()) {
  for (std::size_t i = 0; i < local.size(); ++i) nodes_[i].node = &local[i];
}

void Reloads::join(PoolRequest& r) {
  NodeReloads& node = of(*r.local);
  node.stateless.push_back(&r);
  r.local->count_stateless(1);
  std::int64_t& largest = node.largest;
  largest = std::max(largest, memory_.largest_reload(r));
}

void Reloads::drafts(PoolRequest& r) {
  r.loaded = true;
  of(*r.local).drafting += 1;
}

void Reloads::leave(PoolRequest& r) {
  withdraw(r);
  NodeReloads& node = of(*r.local);
  std::erase(node.stateless, &r);
  r.local->count_stateless(-1);
  node.drafting -= std::exchange(r.loaded, false) ? 1 : 0;
  if (memory_.largest_reload(r) != node.largest) return;
  node.largest = 0;  // the largest of those who stay
  for (const PoolRequest* other : node.stateless) {
    node.largest = std::max(node.largest, memory_.largest_reload(*other));
  }
}

void Reloads::wish(PoolRequest& r, std::optional<SimTime> from) {
  r.request->round.reload = Reload::wished;
  of(*r.local).due.push_back(
      {&r, r.request->id, memory_.full_transfer(r.request->context()), from, r.request->round.due});
  start(*r.local);
}

void Reloads::withdraw(PoolRequest& r) {
  const Reload state = std::exchange(r.request->round.reload, Reload::none);
  if (state == Reload::none) return;
  state == Reload::wished ? forget(of(*r.local), r) : loads_.drop(r, *r.local, Claim::reload);
}

void Reloads::released(PoolRequest& r) {
  of(*r.local).bytes -= std::exchange(r.held->reload.bytes, 0);
}

double Reloads::length_s(const PoolRequest& r, const Site& local) const {
  return network_.read_s(Pool::local, local.index(), memory_.full_transfer(r.request->context()));
}

std::optional<SimTime> Reloads::in_time_from(const PoolRequest& r) const {
  if (config_.schedule.arrival != serving::ReloadArrival::layerwise) return std::nullopt;
  if (r.request->round.reload != Reload::in_flight) return std::nullopt;
  const std::optional<Loads::Coming> coming = loads_.coming(r);
  if (!coming) return std::nullopt;
  const double pass_s = r.local->gpus().iteration_s();
  const engine::Duration may_be_left =
      engine::from_seconds(serving::most_left_s(coming->all_s, pass_s, config_.model.layers));
  return simulator_.now() + std::max(coming->left - may_be_left, engine::Duration{});
}

void Reloads::forget(NodeReloads& node, const PoolRequest& r) {
  std::erase_if(node.due, [&r](const Due& due) { return due.request == &r; });
}

std::int64_t Reloads::late(const Site& local) const {
  const std::vector<PoolRequest*>& all = of(local).stateless;
  return std::count_if(all.begin(), all.end(), [](const PoolRequest* r) {
    const serving::DraftRound& round = r->request->round;
    return r->round == Round::sent && !round.away && round.reload <= Reload::wished;
  });
}

/// `read` and `backlog_s`: of its node's link.
SimTime Reloads::start_of(const Due& due, const StorageNetwork::ReadTime& read, double backlog_s) const {
  if (due.drafts_wait) return simulator_.now();
  if (due.from) return *due.from;
  const double lead = kLead * read.of(due.bytes) + backlog_s;
  return due.due - engine::from_seconds(std::min(lead, due.due.seconds()));
}

void Reloads::start_changed() {
  looked_at_.swap(changed_);
  std::sort(looked_at_.begin(), looked_at_.end());
  for (const std::size_t index : looked_at_) {
    nodes_[index].changed = false;
    start(*nodes_[index].node);
  }
  looked_at_.clear();
}

void Reloads::start(Site& local) {
  NodeReloads& node = of(local);
  const SimTime now = simulator_.now();
  if (std::exchange(node.starved, false)) local.touch();
  simulator_.cancel(node.timer);
  while (!node.due.empty() && loads_.reloads(local) < kMostMoving) {
    const Due* first = nullptr;
    SimTime soonest{};
    const double backlog_s = network_.backlog_s(Pool::local, local.index());
    const StorageNetwork::ReadTime read = network_.read_time(Pool::local, local.index());
    for (const Due& due : node.due) {
      const SimTime from = start_of(due, read, backlog_s);
      if (from > now) {
        if (soonest.ns == 0 || from < soonest) soonest = from;
      } else if (first == nullptr || std::pair(due.due, due.id) < std::pair(first->due, first->id)) {
        first = &due;
      }
    }
    if (first == nullptr) {
      // As the link's queue drains, the time moves on with the clock: look again after a while, not at once.
      const double look_s = std::min(kLook * read.of(node.due.front().bytes), kLongestLook_s);
      soonest = std::max(soonest, now + engine::from_seconds(look_s));
      node.timer = simulator_.schedule_at(soonest, Callback::to<&Reloads::on_timer>(this, local.index()));
      return;
    }
    if (!start_now(*first->request)) return;
  }
}

void Reloads::drafts_wait(const PoolRequest& r) {
  std::vector<Due>& all = of(*r.local).due;
  const auto mine = std::find_if(all.begin(), all.end(), [&r](const Due& due) { return due.request == &r; });
  if (mine == all.end()) return;
  mine->due = r.request->round.due;
  mine->drafts_wait = true;
  start(*r.local);
}

void Reloads::on_timer(std::uint64_t node) {
  start(*nodes_[node].node);
}

bool Reloads::start_now(PoolRequest& r) {
  Site& local = *r.local;
  NodeReloads& node = of(local);
  if (turns_ && node.bytes > 0) return false;
  const std::int64_t before = local.memory().gpu().reserved();
  constexpr memory::KvForm kFull = memory::KvForm::full;
  if (!local.memory().hold_chain(r.held->reload.kv, r.held->chain, kFull, memory_.block_bytes(Pool::local, kFull),
                                 memory_.reload_private(r))) {
    node.starved = true;
    return false;
  }
  r.held->reload.bytes = local.memory().gpu().reserved() - before;
  node.bytes += r.held->reload.bytes;
  forget(node, r);
  forget(node, r);
  r.request->round.reload = Reload::in_flight;
  const std::int64_t tokens =
      r.request->context() - r.held->chain_tokens + r.held->reload.kv.chain().missing * memory_.block_tokens();
  loads_.load(r, local, Claim::reload, memory_.full_transfer(tokens), "reload");
  return true;
}

}  // namespace kvsim::pools
