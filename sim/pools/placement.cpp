// From arrival to placement: which path and nodes a request gets, and when.
#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "sim/engine/invariant.h"
#include "sim/pools/pool_system.h"
#include "sim/serving/drafting.h"

namespace kvsim::pools {

using engine::Callback;
using engine::SimTime;
using models::Path;
using models::PathTraits;

namespace {

constexpr std::size_t kUndecided = models::kPaths;  // place of the queue without a path

/// Who has been the first of a queue for longer than this goes before whoever came later.
constexpr double kPatience_s = 10;

}  // namespace

std::string PoolSystem::submit(serving::Request& q, const models::RequestSpec& spec) {
  auto owned = std::make_unique<PoolRequest>();
  PoolRequest& r = *owned;
  r.request = &q;
  const std::int64_t tokens = q.prompt + q.output;
  if (tokens > config_.model.max_context) {
    return fmt::format("needs a context of {} tokens, {} allows {}", tokens, config_.model.name,
                       config_.model.max_context);
  }
  fit_blocks(r, spec);
  std::optional<Path> path = dispatcher_->on_arrival(r, *this);
  const auto runs_on = [&](Path p) { return could_ever_run(r, p); };
  if (path && !runs_on(*path)) {  // another one that it may have been given
    const auto other = std::find_if(paths_.begin(), paths_.end(), [&](Path p) {
      return runs_on(p) && pools_.dispatch.weights.at(models::index_of(p)) > 0;
    });
    if (other != paths_.end()) path = *other;
  }
  if (path ? !runs_on(*path) : std::none_of(paths_.begin(), paths_.end(), runs_on)) {
    const Path tried = path.value_or(paths_.front());
    const std::int64_t need =
        models::traits(tried).on_local ? memory_.local_private(r, tried, 0) : memory_.remote_private(r, tried, 0);
    return fmt::format("needs {} bytes of KV memory on path {}, a node has {}", need, path_name(tried),
                       (local_.empty() ? remote_ : local_).front()->memory().capacity());
  }
  if (path) r.path = *path;
  r.path_given = path.has_value();
  q.phase = serving::Phase::queued;
  q.prefill_target = q.prompt;
  serving::draw_acceptance(q, acceptance_, config_.run.seed, spec.id);
  if (requests_.size() <= q.id) requests_.resize(q.id + 1);
  requests_[q.id] = std::move(owned);
  enqueue(r);
  return {};
}

/// Only whole blocks can be shared.
void PoolSystem::fit_blocks(PoolRequest& r, const models::RequestSpec& spec) const {
  if (memory_.block_tokens() == 0 || config_.prefill == serving::PrefillKind::recompute) return;
  const auto whole = static_cast<std::size_t>(r.request->prompt / memory_.block_tokens());
  r.blocks.assign(spec.prefix_blocks.begin(),
                  spec.prefix_blocks.begin() + static_cast<std::ptrdiff_t>(std::min(whole, spec.prefix_blocks.size())));
}

bool PoolSystem::could_ever_run(const PoolRequest& r, Path path) const {
  const PathTraits& t = models::traits(path);
  const bool local = !t.on_local || memory_.local_private(r, path, 0) <= local_.front()->memory().capacity();
  const bool remote = !t.on_remote || memory_.remote_private(r, path, 0) <= remote_.front()->memory().capacity();
  return local && remote;
}

void PoolSystem::enqueue(PoolRequest& r) {
  Queue& queue = queues_.at(r.path_given ? models::index_of(r.path) : kUndecided);
  if (queue.waiting.empty()) queue.head_since = now();
  queue.waiting.push_back(&r);
  count_queued(1);
  settle_soon();
}

void PoolSystem::count_queued(std::int64_t change) {
  queued_ += change;
  if (env_.trace) env_.trace->counter(queue_counter_, now(), static_cast<double>(queued_));
}

void PoolSystem::changed(Node& node) {
  node.changed = true;
  settle_soon();
}

void PoolSystem::settle_soon() {
  if (std::exchange(settle_pending_, true)) return;
  env_.simulator.schedule_in({}, Callback::to<&PoolSystem::settle>(this));
}

/// Once for everything that happens at this instant.
void PoolSystem::settle() {
  settle_pending_ = false;
  for (const auto& node : local_) {
    if (std::exchange(node->changed, false)) start_reloads(*node);
  }
  for (const auto& node : remote_) node->changed = false;
  place_waiting();
}

bool PoolSystem::out_of_patience(const Queue& queue) const {
  return (now() - queue.head_since).seconds() > kPatience_s;
}

/// The first of every queue, in order of arrival. Where one has waited for too long, nobody who came later takes memory
/// that it needs, and reloads of the local pool take turns, so that its room adds up.
void PoolSystem::place_waiting() {
  bool again = true;
  while (again) {
    again = false;
    local_drains_ = false;
    bool keep_local = false, keep_remote = false;
    heads_.clear();
    for (Queue& queue : queues_) {
      if (!queue.waiting.empty()) heads_.push_back(&queue);
    }
    std::sort(heads_.begin(), heads_.end(), [](const Queue* a, const Queue* b) {
      return a->waiting.front()->request->id < b->waiting.front()->request->id;
    });
    for (Queue* queue : heads_) {
      const PoolRequest& head = *queue->waiting.front();
      const bool needs_local = !head.path_given || head.traits().on_local;
      const bool needs_remote = !head.path_given || head.traits().on_remote;
      if ((keep_local && needs_local) || (keep_remote && needs_remote)) continue;
      const bool late = out_of_patience(*queue);
      local_drains_ = late && needs_local;
      if (place_head(*queue)) {
        again = true;
        break;
      }
      keep_local = keep_local || (late && needs_local);
      keep_remote = keep_remote || (late && needs_remote);
    }
    local_drains_ = keep_local;
  }
  const bool waiting = std::any_of(queues_.begin(), queues_.end(), [](const Queue& q) { return !q.waiting.empty(); });
  if (const auto after = dispatcher_->retry_after(); after && waiting && !env_.simulator.pending(retry_)) {
    retry_ = env_.simulator.schedule_in(*after, Callback::to<&PoolSystem::place_waiting>(this));
  }
}

bool PoolSystem::place_head(Queue& queue) {
  PoolRequest& r = *queue.waiting.front();
  const auto placement = dispatcher_->place(r, *this);
  if (!placement) return false;
  queue.waiting.pop_front();
  count_queued(-1);
  queue.head_since = now();
  start(r, *placement);
  return true;
}

std::optional<Placement> PoolSystem::room(const PoolRequest& r, Path path) const {
  if (!could_ever_run(r, path)) return std::nullopt;
  const PathTraits& t = models::traits(path);
  Placement placement{path, nullptr, nullptr};
  if (t.on_local) placement.local = local_room(r, path);
  if (t.on_remote) placement.remote = remote_room(r, path);
  if ((t.on_local && !placement.local) || (t.on_remote && !placement.remote)) return std::nullopt;
  return placement;
}

/// Of the nodes with room, the one whose link is free first, then the one with most memory. Stateless requests go where
/// the fewest are.
Node* PoolSystem::local_room(const PoolRequest& r, Path path) const {
  const PathTraits& t = models::traits(path);
  const bool stateless = t.drafts && !t.cached;
  // A stateless request holds memory for good only while what is not stored of its prompt is prefilled.
  const bool holds = !stateless || stored_tokens(r) < r.request->prompt;
  const bool keeps_room = holds && expects_stateless(r);
  Node* best = nullptr;
  std::tuple<std::size_t, double, std::int64_t> best_rank;
  for (const auto& node : local_) {
    if (stateless && !room_for_reloads(r, *node)) continue;
    if (holds && !room_for_good(r, path, *node, keeps_room)) continue;
    const std::tuple rank(stateless ? node->stateless.size() : 0, backlog_s(*node), -node->memory().available());
    if (best && rank >= best_rank) continue;
    best = node.get();
    best_rank = rank;
  }
  return best;
}

Node* PoolSystem::remote_room(const PoolRequest& r, Path path) const {
  const memory::KvForm form = memory_.remote_form(path);
  const std::size_t hits = stored_blocks(r);
  const std::span<const std::uint64_t> chain(r.blocks.data(), hits);
  const std::int64_t block = memory_.block_bytes(form);
  const std::int64_t own = memory_.remote_private(r, path, static_cast<std::int64_t>(hits));
  Node* best = nullptr;
  double best_s = 0;
  for (const auto& node : remote_) {
    if (node->requests >= config_.schedule.max_requests) continue;
    if (!node->memory().fits(chain, form, block, own)) continue;
    // Its link is free, and has brought what is not there yet.
    const std::int64_t missing = chain.empty() ? 0 : node->memory().need(chain, form, block, 0);
    const double s = backlog_s(*node) + network_.read_s(Pool::remote, node->index(), missing);
    if (best && (s > best_s || (s == best_s && node->memory().available() <= best->memory().available()))) continue;
    best = node.get();
    best_s = s;
  }
  return best;
}

bool PoolSystem::room_for_good(const PoolRequest& r, Path path, const Node& node, bool keeps_room) const {
  if (node.requests >= config_.schedule.max_requests) return false;
  if (node.reload_starved && !local_drains_) return false;  // what falls free is for the reload that waits
  const std::size_t hits = stored_blocks(r);
  const std::int64_t own = memory_.local_private(r, path, static_cast<std::int64_t>(hits));
  // On a node that serves nobody, whoever fits: one that fills it would else never be served.
  const bool others = node.requests > 0 && keeps_room;
  const std::int64_t reload = std::max(node.largest_reload, others ? memory_.largest_reload(r) : 0);
  const memory::KvForm form = memory_.local_form();
  return node.memory().fits({r.blocks.data(), hits}, form, memory_.block_bytes(form), own,
                            std::max<std::int64_t>(0, reload - node.reload_bytes));
}

/// Where stateless requests may come, room for one reload is kept, or they never could. Where they may and need not,
/// they come when the remote pool's links are what everybody waits for: drafting saves nothing else.
bool PoolSystem::expects_stateless(const PoolRequest& r) const {
  if (!may_be_stateless_) return false;
  if (find_dispatcher(pools_.dispatch.policy)->needs_weights) return true;
  // Nothing else for the remote pool to do.
  if (std::find(paths_.begin(), paths_.end(), Path::B2) == paths_.end()) return true;
  return std::all_of(remote_.begin(), remote_.end(), [this](const auto& node) { return backlog_s(*node) > 0; }) &&
         dispatcher_->wants_reload_room(r, *this);
}

Node* PoolSystem::local_for_reloads() const {
  const auto fewest = std::min_element(local_.begin(), local_.end(), [](const auto& a, const auto& b) {
    return a->stateless.size() < b->stateless.size();
  });
  return fewest == local_.end() ? nullptr : fewest->get();
}

/// Beside what is held for good, one reload must always find room, whoever's it is.
bool PoolSystem::room_for_reloads(const PoolRequest& r, const Node& node) const {
  const std::int64_t held = node.memory().reserved() - node.reload_bytes;
  return held + std::max(node.largest_reload, memory_.largest_reload(r)) <= node.memory().capacity();
}

std::size_t PoolSystem::stored_blocks(const PoolRequest& r) const {
  return store_ ? store_->leading_hits(r.blocks) : r.blocks.size();
}

std::int64_t PoolSystem::stored_tokens(const PoolRequest& r) const {
  if (config_.prefill == serving::PrefillKind::stored) return r.request->prompt;
  return static_cast<std::int64_t>(stored_blocks(r)) * memory_.block_tokens();
}

void PoolSystem::start(PoolRequest& r, const Placement& placement) {
  serving::Request& q = *r.request;
  r.path = placement.path;
  r.local = placement.local;
  r.remote = placement.remote;
  const PathTraits& t = r.traits();
  const std::size_t hits = stored_blocks(r);
  r.stored = stored_tokens(r);
  r.chain.assign(r.blocks.begin(), r.blocks.begin() + static_cast<std::ptrdiff_t>(hits));
  r.chain_tokens = static_cast<std::int64_t>(hits) * memory_.block_tokens();
  if (store_) {
    store_->touch(r.chain);
    store_->pin(r.chain);
    store_hits_ += hits;
    store_misses_ += r.blocks.size() - hits;
  }
  q.phase = serving::Phase::loading;
  q.prefill_done = r.stored;
  path_sums(r).started += 1;
  if (r.stateless()) {
    r.local->add_stateless(r);
    r.local->largest_reload = std::max(r.local->largest_reload, memory_.largest_reload(r));
  }
  const auto blocks = static_cast<std::int64_t>(hits);
  const bool tail = r.stored < q.prompt;
  if (t.on_remote) {
    const memory::KvForm form = memory_.remote_form(r.path);
    KVSIM_ALWAYS(r.remote->memory().try_claim(r.remote_claim, r.chain, form, memory_.block_bytes(form),
                                              memory_.remote_private(r, r.path, blocks)),
                 "memory that was available could not be reserved");
    r.remote->count_requests(1);
    r.remote_parts = t.drafts && tail ? 2 : 1;
    const std::int64_t tokens = r.stored - r.chain_tokens + r.remote_claim.missing * memory_.block_tokens();
    count_loads(r.remote_claim, tokens);
    load(r, *r.remote, Claim::remote, memory_.transfer(r, form, tokens), "first load");
  }
  if (t.on_local && (!r.stateless() || tail)) {
    const memory::KvForm form = memory_.local_form();
    KVSIM_ALWAYS(r.local->memory().try_claim(r.local_claim, r.chain, form, memory_.block_bytes(form),
                                             memory_.local_private(r, r.path, blocks)),
                 "memory that was available could not be reserved");
    r.local->count_requests(1);
    const std::int64_t tokens = r.stored - r.chain_tokens + r.local_claim.missing * memory_.block_tokens();
    if (!t.on_remote) count_loads(r.local_claim, tokens);  // each prompt once
    load(r, *r.local, Claim::local, memory_.transfer(r, form, tokens), "first load");
  }
}

void PoolSystem::count_loads(const memory::MemoryClaim& claim, std::int64_t tokens) {
  serving::PrefixMeasurement& prefix = env_.measured.prefix;
  prefix.loaded_tokens += tokens;
  prefix.on_node_tokens += claim.present * memory_.block_tokens();
  prefix.joined_tokens += claim.joined * memory_.block_tokens();
}

double PoolSystem::backlog_s(const Node& node) const {
  return network_.backlog_s(node.pool(), node.index());
}

double PoolSystem::first_load_s(const PoolRequest& r, const Placement& placement) const {
  const std::int64_t tokens = stored_tokens(r);
  if (placement.remote == nullptr) {
    return network_.read_s(Pool::local, placement.local->index(), memory_.transfer(r, memory_.local_form(), tokens));
  }
  const std::int64_t bytes = memory_.transfer(r, memory_.remote_form(placement.path), tokens);
  return network_.read_s(Pool::remote, placement.remote->index(), bytes);
}

double PoolSystem::reload_s(const PoolRequest& r, const Node& local) const {
  return network_.read_s(Pool::local, local.index(), memory_.full_transfer(r.request->context()));
}

double PoolSystem::reload_bytes(const PoolRequest& r) const {
  return static_cast<double>(memory_.largest_reload(r));
}

double PoolSystem::reload_room(const Node& node) const {
  return static_cast<double>(node.memory().capacity() - node.memory().reserved() + node.reload_bytes);
}

/// As things are now: links serve what is queued first, iterations stay as long as they are, and stateless requests of
/// a local node share its link evenly. What must be prefilled takes its iterations.
double PoolSystem::expected_s(const PoolRequest& r, const Placement& p) const {
  const serving::Request& q = *r.request;
  const auto output = static_cast<double>(q.output);
  const double chunks = std::ceil(static_cast<double>(q.prompt - stored_tokens(r)) /
                                  static_cast<double>(config_.schedule.max_batched_tokens));
  const PathTraits& t = models::traits(p.path);
  if (!t.drafts) {
    const Node& node = p.local != nullptr ? *p.local : *p.remote;
    return backlog_s(node) + first_load_s(r, p) + (chunks + output) * node.gpus().iteration_s();
  }
  const double drafting = static_cast<double>(config_.decode.draft_length) * p.remote->gpus().iteration_s();
  double cycle = drafting;
  if (!t.cached) {
    cycle = std::max(cycle, static_cast<double>(p.local->drafting + 1) * reload_s(r, *p.local));
  }
  cycle +=
      p.local->gpus().iteration_s() * 1.5 + 2 * pools_.message_latency_s;  // half an iteration until the next begins
  const double drafting_s = expected_rounds(r, p.path) * cycle;
  return backlog_s(*p.remote) + first_load_s(r, p) + chunks * p.local->gpus().iteration_s() + drafting_s;
}

double PoolSystem::reload_load(const PoolRequest& r, const Placement& p) const {
  if (p.local->drafting == 0) return 0;  // somebody must be the first, whatever the link
  const double cycle_s = static_cast<double>(config_.decode.draft_length) * p.remote->gpus().iteration_s() +
                         p.local->gpus().iteration_s() + 2 * pools_.message_latency_s;
  return static_cast<double>(p.local->drafting + 1) * reload_s(r, *p.local) / cycle_s;
}

double PoolSystem::expected_rounds(const PoolRequest& r, Path path) const {
  if (!models::traits(path).drafts) return 0;
  return std::ceil(static_cast<double>(r.request->output) / accepted_per_round_);
}

double PoolSystem::late_reloads_s(const PoolRequest& r, const Node& local) const {
  const auto late = std::count_if(local.reloads_due.begin(), local.reloads_due.end(),
                                  [](const PoolRequest* other) { return other->drafts_here; });
  return static_cast<double>(late) * reload_s(r, local);
}

}  // namespace kvsim::pools
