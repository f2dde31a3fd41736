#include "sim/pools/cost_estimator.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

namespace kvsim::pools {

using models::Path;
using models::PathTraits;

Sites::Sites(const std::array<serving::InstanceEnvironment, 2>& environments, serving::Route& route,
             std::vector<Site*>& changed, const StorageNetwork& network)
    : all(static_cast<std::size_t>(serving::instances(environments.front().config.cluster))) {
  const auto add = [&](Pool pool) {
    const serving::InstanceEnvironment& environment = environments.at(static_cast<std::size_t>(pool));
    const std::size_t before = all.made().size();
    for (std::size_t i = 0; i < static_cast<std::size_t>(environment.group.count); ++i) {
      all.add(environment, route, changed, pool, i, network);
    }
    return all.made().subspan(before);
  };
  local = add(Pool::local);
  remote = add(Pool::remote);
}

void NodeBounds::take_better(const NodeBounds& other) {
  room = std::max(room, other.room);
  room_in_turn = std::max(room_in_turn, other.room_in_turn);
  beside = std::max(beside, other.beside);
  reload = std::max(reload, other.reload);
  available = std::max(available, other.available);
  stateless = std::min(stateless, other.stateless);
  backlog_until_s = std::min(backlog_until_s, other.backlog_until_s);
}

CostEstimator::CostEstimator(const CostEstimatorParts& parts)
    : parts_(parts),
      bounds_{engine::BoundTree<NodeBounds>(parts.nodes.local.size()),
              engine::BoundTree<NodeBounds>(parts.nodes.remote.size())},
      weighted_(find_dispatcher(parts.pools.dispatch.policy)->needs_weights) {
  const auto& weights = parts.pools.dispatch.weights;
  may_be_stateless_ = std::any_of(parts.paths.begin(), parts.paths.end(), [&](Path path) {
    const PathTraits& t = models::traits(path);
    return t.drafts && !t.cached && (!weighted_ || weights.at(models::index_of(path)) > 0);
  });
}

NodeBounds CostEstimator::bounds_of(const Site& node) const {
  const std::int64_t available = node.memory().available();
  NodeBounds bounds;
  bounds.available = available;
  bounds.stateless = node.stateless();
  bounds.backlog_until_s = parts_.network.backlog_until_s(node.pool(), node.index());
  if (node.requests() < parts_.config.schedule.max_requests) bounds.room = available;
  if (node.pool() == Pool::remote) return bounds;
  const std::int64_t largest = parts_.reloads.largest(node), bytes = parts_.reloads.bytes(node);
  bounds.room -= std::max<std::int64_t>(0, largest - bytes);
  bounds.room_in_turn = parts_.reloads.starved(node) ? -1 : bounds.room;
  bounds.beside = node.requests() > 0 ? available + bytes : std::numeric_limits<std::int64_t>::max();
  if (largest <= available + bytes) bounds.reload = available + bytes;
  return bounds;
}

void CostEstimator::renew_bounds() const {
  for (Site* node : parts_.changed) {
    node->looked_at();
    bounds_.at(static_cast<std::size_t>(node->pool())).set(node->index(), bounds_of(*node));
  }
  parts_.changed.clear();
}

namespace {

constexpr double kRounding_s = 1e-6;  // far more than sums of seconds are rounded by

}  // namespace

double NodeBounds::least_backlog_s(double now_s) const {
  return std::max(0.0, backlog_until_s - now_s - kRounding_s);
}

double CostEstimator::seen_backlog_s(Site& node) const {
  const double s = backlog_s(node);
  const auto& bounds = bounds_.at(static_cast<std::size_t>(node.pool())).of(node.index());
  if (s > bounds.least_backlog_s(now().seconds()) + 2 * kRounding_s) node.touch();
  return s;
}

bool CostEstimator::could_ever_run(const PoolRequest& r, Path path) const {
  const PathTraits& t = models::traits(path);
  const auto fits = [&](const Site& site) {
    const std::int64_t ranks = group_of(parts_.config.cluster, site.pool()).parallel.attention_data;
    return parts_.memory.most_private(r, path, site.pool()) <= site.memory().gpu().capacity() / ranks;
  };
  return (!t.on_local || fits(parts_.nodes.local.front())) && (!t.on_remote || fits(parts_.nodes.remote.front()));
}

std::optional<Assignment> CostEstimator::room(const PoolRequest& r, Path path) const {
  if (!could_ever_run(r, path)) return std::nullopt;
  const PathTraits& t = models::traits(path);
  if (t.on_local && holds_for_good(r, path)) (void)expects_stateless(r);  // dispatchers remember what they answered
  Assignment assignment{path, nullptr, nullptr};
  if (t.on_remote && (assignment.remote = remote_room(r, path)) == nullptr) return std::nullopt;
  if (t.on_local && (assignment.local = local_room(r, path)) == nullptr) return std::nullopt;
  return assignment;
}

void CostEstimator::look_anew() {
  found_.local.clear();
  found_.remote.clear();
  found_.expects_stateless.reset();
}

namespace {

template <class Places, class Search>
Site* find_once(Places& found, bool kind, std::int64_t own, const Search& search) {
  for (const auto& place : found) {
    if (place.kind == kind && place.own == own) return place.node;
  }
  Site* node = search();
  found.push_back({kind, own, node});
  return node;
}

bool is_stateless(Path path) {
  const PathTraits& t = models::traits(path);
  return t.drafts && !t.cached;
}

}  // namespace

/// A stateless request holds memory for good only while what is not stored of its prompt is prefilled.
bool CostEstimator::holds_for_good(const PoolRequest& r, Path path) const {
  return !is_stateless(path) || parts_.stored.tokens(r) < r.request->prompt;
}

Site* CostEstimator::local_room(const PoolRequest& r, Path path) const {
  const auto hits = static_cast<std::int64_t>(parts_.stored.blocks(r));
  const std::int64_t own = parts_.memory.local_private(r, path, hits);
  return find_once(found_.local, is_stateless(path), own, [&] { return best_local(r, path, own); });
}

/// Best node with room: the one whose link is free first, then the one with most memory. Stateless requests go where
/// the fewest are.
Site* CostEstimator::best_local(const PoolRequest& r, Path path, std::int64_t own) const {
  const bool stateless = is_stateless(path), holds = holds_for_good(r, path);
  const bool keeps_room = holds && expects_stateless(r);
  const std::int64_t reload = parts_.memory.largest_reload(r);
  const double now_s = now().seconds();
  renew_bounds();
  using Rank = std::tuple<std::int64_t, double, std::int64_t>;
  const auto best = bounds_.front().best(
      [&](const NodeBounds& b) {
        if (stateless && reload > b.reload) return false;
        return !holds || (own <= (parts_.reloads.taking_turns() ? b.room : b.room_in_turn) &&
                          own + (keeps_room ? reload : 0) <= b.beside);
      },
      [&](const NodeBounds& b) { return Rank(stateless ? b.stateless : 0, b.least_backlog_s(now_s), -b.available); },
      [&](std::size_t index) -> std::optional<Rank> {
        Site& node = parts_.nodes.local[index];
        if (stateless && !room_for_reloads(r, node)) return std::nullopt;
        if (holds && !room_for_good(r, node, own, keeps_room)) return std::nullopt;
        return Rank(stateless ? node.stateless() : 0, seen_backlog_s(node), -std::as_const(node).memory().available());
      });
  return best ? &parts_.nodes.local[*best] : nullptr;
}

Site* CostEstimator::remote_room(const PoolRequest& r, Path path) const {
  const auto hits = static_cast<std::int64_t>(parts_.stored.blocks(r));
  const std::int64_t own = parts_.memory.remote_private(r, path, hits);
  const bool compressed = parts_.memory.remote_form(path) == memory::KvForm::compressed;
  return find_once(found_.remote, compressed, own, [&] { return best_remote(r, path, own); });
}

Site* CostEstimator::best_remote(const PoolRequest& r, Path path, std::int64_t own) const {
  const memory::KvForm form = parts_.memory.remote_form(path);
  const std::span<const std::uint64_t> chain(r.blocks->data(), parts_.stored.blocks(r));
  const std::int64_t block = parts_.memory.block_bytes(Pool::remote, form);
  const double link_s = parts_.network.read_s(Pool::remote, 0, 0), now_s = now().seconds();
  renew_bounds();
  using Rank = std::pair<double, std::int64_t>;
  const auto best = bounds_.back().best(
      [&](const NodeBounds& b) { return own <= b.room; },
      [&](const NodeBounds& b) { return Rank(b.least_backlog_s(now_s) + link_s, -b.available); },
      [&](std::size_t index) -> std::optional<Rank> {
        Site& node = parts_.nodes.remote[index];
        const serving::KvHoldings& held = std::as_const(node).memory();
        if (node.requests() >= parts_.config.schedule.max_requests) return std::nullopt;
        if (!held.gpu().fits(chain, form, block, own)) return std::nullopt;
        // Time until its link is free and has loaded the missing blocks.
        const std::int64_t missing = held.gpu().need(chain, form, block, 0);
        return Rank(seen_backlog_s(node) + parts_.network.read_s(Pool::remote, index, missing), -held.available());
      });
  return best ? &parts_.nodes.remote[*best] : nullptr;
}

bool CostEstimator::room_for_good(const PoolRequest& r, const Site& node, std::int64_t own, bool keeps_room) const {
  if (node.requests() >= parts_.config.schedule.max_requests) return false;
  if (parts_.reloads.starved(node) && !parts_.reloads.taking_turns())
    return false;  // what falls free is for the reload that waits
  const std::size_t hits = parts_.stored.blocks(r);
  // On a node that serves nobody, whoever fits: one that fills it would else never be served.
  const bool others = node.requests() > 0 && keeps_room;
  const std::int64_t reload = std::max(parts_.reloads.largest(node), others ? parts_.memory.largest_reload(r) : 0);
  const memory::KvForm form = parts_.memory.local_form();
  return node.memory().gpu().fits({r.blocks->data(), hits}, form, parts_.memory.block_bytes(node.pool(), form), own,
                                  std::max<std::int64_t>(0, reload - parts_.reloads.bytes(node)));
}

/// Where stateless requests may come, room for one reload is kept, or they never could. Where they may and need not,
/// they come when the remote pool's links are what everybody waits for: drafting saves nothing else.
bool CostEstimator::expects_stateless(const PoolRequest& r) const {
  if (!may_be_stateless_) return false;
  if (weighted_) return true;
  if (!found_.expects_stateless) found_.expects_stateless = look_for_stateless(r);
  return *found_.expects_stateless;
}

bool CostEstimator::look_for_stateless(const PoolRequest& r) const {
  // Nothing else for the remote pool to do.
  if (std::find(parts_.paths.begin(), parts_.paths.end(), Path::B2) == parts_.paths.end()) return true;
  const double now_s = now().seconds();
  renew_bounds();
  const auto free = bounds_.back().best(
      [now_s](const NodeBounds& b) { return b.least_backlog_s(now_s) <= 0; }, [](const NodeBounds&) { return 0; },
      [this](std::size_t index) {
        return seen_backlog_s(parts_.nodes.remote[index]) > 0 ? std::nullopt : std::optional(0);
      });
  return !free && parts_.dispatcher.wants_reload_room(r, *this);
}

Site* CostEstimator::local_for_reloads() const {
  renew_bounds();
  const auto fewest =
      bounds_.front().best([](const NodeBounds& b) { return b.stateless < std::numeric_limits<std::int64_t>::max(); },
                           [](const NodeBounds& b) { return b.stateless; },
                           [this](std::size_t index) { return std::optional(parts_.nodes.local[index].stateless()); });
  return fewest ? &parts_.nodes.local[*fewest] : nullptr;
}

/// Beside what is held for good, one reload must always find room, whoever's it is.
bool CostEstimator::room_for_reloads(const PoolRequest& r, const Site& node) const {
  const std::int64_t held = node.memory().gpu().reserved() - parts_.reloads.bytes(node);
  return held + std::max(parts_.reloads.largest(node), parts_.memory.largest_reload(r)) <=
         node.memory().gpu().capacity();
}

double CostEstimator::backlog_s(const Site& node) const {
  return parts_.network.backlog_s(node.pool(), node.index());
}

double CostEstimator::first_load_s(const PoolRequest& r, const Assignment& assignment) const {
  const std::int64_t tokens = parts_.stored.tokens(r);
  if (assignment.remote == nullptr) {
    return parts_.network.read_s(Pool::local, assignment.local->index(),
                                 parts_.memory.transfer(r, parts_.memory.local_form(), tokens));
  }
  const std::int64_t bytes = parts_.memory.transfer(r, parts_.memory.remote_form(assignment.path), tokens);
  return parts_.network.read_s(Pool::remote, assignment.remote->index(), bytes);
}

double CostEstimator::reload_s(const PoolRequest& r, const Site& local) const {
  return parts_.reloads.length_s(r, local);
}

double CostEstimator::reload_bytes(const PoolRequest& r) const {
  return static_cast<double>(parts_.memory.largest_reload(r));
}

double CostEstimator::reload_room(const Site& node) const {
  return static_cast<double>(node.memory().gpu().capacity() - node.memory().gpu().reserved() +
                             parts_.reloads.bytes(node));
}

/// As things are now: links serve what is queued first, iterations stay as long as they are, and stateless requests of
/// a local node share its link evenly. Tokens to be prefilled take their iterations.
double CostEstimator::expected_s(const PoolRequest& r, const Assignment& p) const {
  const serving::Request& q = *r.request;
  const auto output = static_cast<double>(q.output);
  const double chunks = std::ceil(static_cast<double>(q.prefill.target - parts_.stored.tokens(r)) /
                                  static_cast<double>(parts_.config.schedule.max_batched_tokens));
  const PathTraits& t = models::traits(p.path);
  if (!t.drafts) {
    const Site& node = p.local != nullptr ? *p.local : *p.remote;
    return backlog_s(node) + first_load_s(r, p) +
           (chunks + output / parts_.lengths.tokens_per_step()) * node.gpus().iteration_s();
  }
  double cycle = drafting_s(*p.remote);
  if (!t.cached) {
    cycle = std::max(cycle, static_cast<double>(parts_.reloads.drafting(*p.local) + 1) * reload_s(r, *p.local));
  }
  cycle += p.local->gpus().iteration_s() * 1.5 + messages_s();  // half an iteration until the next begins
  const double drafting_s = expected_rounds(r, p.path) * cycle;
  return backlog_s(*p.remote) + first_load_s(r, p) + chunks * p.local->gpus().iteration_s() + drafting_s;
}

double CostEstimator::reload_load(const PoolRequest& r, const Assignment& p) const {
  if (parts_.reloads.drafting(*p.local) == 0) return 0;  // somebody must be the first, whatever the link
  const double cycle_s = drafting_s(*p.remote) + p.local->gpus().iteration_s() + messages_s();
  return static_cast<double>(parts_.reloads.drafting(*p.local) + 1) * reload_s(r, *p.local) / cycle_s;
}

double CostEstimator::expected_rounds(const PoolRequest& r, Path path) const {
  if (!models::traits(path).drafts) return 0;
  return std::ceil(static_cast<double>(r.request->output) / parts_.lengths.usual_tokens());
}

double CostEstimator::late_reloads_s(const PoolRequest& r, const Site& local) const {
  return static_cast<double>(parts_.reloads.late(local)) * reload_s(r, local);
}

}  // namespace kvsim::pools
