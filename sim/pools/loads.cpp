#include "sim/pools/loads.h"

#include <algorithm>

#include "sim/engine/invariant.h"

namespace kvsim::pools {

using engine::Callback;

namespace {

constexpr std::uint64_t kClaims = 4;

std::uint64_t word_of(const PoolRequest& r, Claim claim) {
  return r.request->id * kClaims + static_cast<std::uint64_t>(claim);
}

serving::Residence& held_for(PoolRequest& r, Claim claim) {
  if (claim == Claim::reload) return r.held->reload.kv;
  return claim == Claim::local ? r.local_kv() : r.request->kv;
}

Site& node_of(PoolRequest& r, Claim claim) {
  return claim == Claim::remote ? *r.remote : *r.local;
}

}  // namespace

Loads::Loads(engine::Simulator& simulator, const serving::ClusterConfig& cluster, const StorageNetwork& network,
             const RequestTable& requests, LoadsListener& listener)
    : simulator_(simulator), network_(network), requests_(requests), listener_(listener) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    nodes_.at(i).resize(static_cast<std::size_t>(group_of(cluster, static_cast<Pool>(i)).count));
  }
}

Callback Loads::expect(PoolRequest& r, Site& node, Claim claim, std::int64_t bytes) {
  NodeLoads& loads = of(node);
  loads.all.push_back({&r, claim, bytes});
  loads.reloads += claim == Claim::reload ? 1 : 0;
  r.in_transit += 1;
  return Callback::to<&Loads::on_arrival>(this, word_of(r, claim));
}

void Loads::load(PoolRequest& r, Site& node, Claim claim, std::int64_t bytes, const char* kind) {
  const Callback arrived = expect(r, node, claim, bytes);
  if (bytes == 0) {  // all of it is there, or on its way for somebody else
    simulator_.schedule_in({}, arrived);
    return;
  }
  of(node).all.back().transfer =
      network_.lane(node.pool(), node.index(), Direction::read)
          .submit({.bytes = bytes, .on_complete = arrived, .owner = r.request->id, .kind = kind});
  if (claim == Claim::reload) listener_.on_nearer(r);
}

void Loads::on_arrival(std::uint64_t word) {
  PoolRequest& r = *requests_.find(word / kClaims);
  const auto claim = static_cast<Claim>(word % kClaims);
  Site& node = node_of(r, claim);
  std::vector<Load>& loads = of(node).all;
  const auto mine = std::find_if(loads.begin(), loads.end(), [&](const Load& load) {
    return load.request == &r && load.claim == claim && !load.arrived;
  });
  KVSIM_ALWAYS(mine != loads.end(), "a transfer arrived for which nobody waits");
  mine->arrived = true;
  node.memory().loaded(held_for(r, claim));
  sweep(node);
  tell_reloads(node);
}

/// The link has begun with the next one; and blocks that somebody waited for may be there.
void Loads::tell_reloads(const Site& node) {
  for (const Load& load : of(node).all) {
    if (load.claim == Claim::reload && !load.arrived) listener_.on_nearer(*load.request);
  }
}

std::optional<Loads::Coming> Loads::coming(const PoolRequest& r) const {
  const std::vector<Load>& loads = of(*r.local).all;
  const auto mine = std::find_if(loads.begin(), loads.end(),
                                 [&](const Load& load) { return load.request == &r && load.claim == Claim::reload; });
  if (mine == loads.end() || mine->arrived || !r.local->memory().gpu().complete_but_own(r.held->reload.kv.chain()))
    return std::nullopt;
  transport::Lane& lane = network_.lane(Pool::local, r.local->index(), Direction::read);
  const auto left = lane.time_left(mine->transfer);
  if (!left) return std::nullopt;
  return Coming{*left, static_cast<double>(mine->bytes) / lane.bandwidth()};
}

/// Each request that has everything goes on, also where it waited for blocks that another one loaded.
void Loads::sweep(Site& node) {
  NodeLoads& loads = of(node);
  for (std::size_t i = 0; i < loads.all.size();) {
    const Load load = loads.all[i];
    PoolRequest& r = *load.request;
    if (!load.arrived || !std::as_const(node).memory().gpu().complete(held_for(r, load.claim).chain())) {
      ++i;
      continue;
    }
    loads.all.erase(loads.all.begin() + static_cast<std::ptrdiff_t>(i));
    loads.reloads -= load.claim == Claim::reload ? 1 : 0;
    r.in_transit -= 1;
    if (load.leaves) drop(r, node, load.claim);
    listener_.on_loaded(r, load.claim, !load.leaves);
    i = 0;  // more may have changed
  }
}

void Loads::drop(PoolRequest& r, Site& node, Claim claim) {
  for (Load& load : of(node).all) {
    if (load.request != &r || load.claim != claim) continue;
    load.leaves = true;
    return;
  }
  serving::Residence& held = held_for(r, claim);
  if (held.empty()) return;
  node.memory().leave_gpu(held);
  listener_.on_released(r, claim, node);
}

void Loads::load_rest(PoolRequest& r, std::int64_t bytes, std::int64_t layers) {
  r.held->rest.bytes_left = bytes;
  r.held->rest.layers_left = layers;
  send_rest(r);
}

/// One layer moves, the next is set up.
void Loads::send_rest(PoolRequest& r) {
  transport::Lane& lane = network_.lane(Pool::remote, r.remote->index(), Direction::read);
  for (transport::TransferId& part : r.held->rest.transfers) {
    if (part.value != 0 || r.held->rest.layers_left == 0) continue;
    const std::int64_t bytes = r.held->rest.bytes_left / r.held->rest.layers_left;
    r.held->rest.bytes_left -= bytes;
    r.held->rest.layers_left -= 1;
    part = lane.submit({.bytes = bytes,
                        .priority = kDeferrable,
                        .on_complete = Callback::to<&Loads::on_rest>(this, r.request->id),
                        .owner = r.request->id,
                        .kind = "rest"});
  }
}

void Loads::on_rest(std::uint64_t id) {
  PoolRequest* r = requests_.find(id);
  if (r == nullptr || r->left) return;  // finished while the last bytes were on their way
  r->held->rest.transfers = {r->held->rest.transfers[1], {}};
  send_rest(*r);
  if (r->held->rest.transfers[0].value != 0) return;
  r->held->rest.there = true;
  listener_.on_whole(*r);
}

void Loads::cancel_rest(PoolRequest& r) {
  for (auto part = r.held->rest.transfers.rbegin(); part != r.held->rest.transfers.rend(); ++part) {
    if (part->value != 0) network_.lane(Pool::remote, r.remote->index(), Direction::read).cancel(*part);
  }
  r.held->rest.transfers = {};
}

}  // namespace kvsim::pools
