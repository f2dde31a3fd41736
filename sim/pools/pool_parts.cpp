#include "sim/pools/pool_parts.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "sim/engine/invariant.h"
#include "sim/pools/configuration.h"
#include "sim/serving/configuration_error.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::pools {
namespace {

/// Planned weights come after a configuration was checked.
const DispatcherEntry& dispatcher_of(const serving::DispatchConfig& dispatch) {
  const DispatcherEntry& entry = *find_dispatcher(dispatch.policy);
  const auto& weights = dispatch.weights;
  if (entry.needs_weights && std::all_of(weights.begin(), weights.end(), [](double w) { return w <= 0; })) {
    throw serving::ConfigurationError("dispatch.policy", fmt::format("{} has no weights to follow", dispatch.policy));
  }
  return entry;
}

std::deque<serving::GroupParts> parts_by_kind(const serving::ServingConfig& config,
                                              const serving::DecodePolicy& decode) {
  const serving::GroupConfig &local = group_of(config.cluster, Pool::local),
                             &remote = group_of(config.cluster, Pool::remote);
  std::deque<serving::GroupParts> parts;
  parts.emplace_back(config, local, decode);
  if (remote.kind != local.kind) parts.emplace_back(config, remote, decode);
  return parts;
}

serving::InstanceEnvironment environment_of(PoolGroups& groups, serving::GroupParts& parts, Pool pool) {
  const serving::RunEnvironment& env = groups.env;
  return {{env.simulator, groups.config, group_of(groups.config.cluster, pool), groups.decode, parts.geometry,
           parts.timer, parts.step_times, parts.drafting, env.measured, env.trace, env.gpus(parts.timer)},
          groups.acceptance,
          env.fabric,
          {env.requests, env.on_finished, env.on_released},
          groups.nothing_stored,
          groups.config.schedule.prefix_caching ? env.prefix_block_tokens : 0};
}

}  // namespace

PoolGroups::PoolGroups(const serving::RunEnvironment& environment)
    : env(environment),
      config(environment.config),
      decode(*serving::find_decode_policy(config.decode.policy)),
      pools(*config.cluster.pools),
      parts(parts_by_kind(config, decode)),
      acceptance(serving::acceptance_of(
          config, std::max(serving::draft_limit(config.decode), config.decode.draft_lengths.maximum))),
      environments{environment_of(*this, parts.front(), Pool::local),
                   environment_of(*this, parts.back(), Pool::remote)} {}

PoolParts::PoolParts(const serving::RunEnvironment& environment, std::unique_ptr<serving::PromptStore> placed_prompts,
                     const PoolListeners& owners)
    : groups(environment),
      paths(usable_paths(groups.config)),
      log(environment.simulator, groups.config, environment.measured),
      network(environment.simulator, environment.fabric, groups.config.cluster, groups.pools.storage),
      memory(groups.config, groups.decode, groups.of(Pool::local).geometry, groups.of(Pool::remote).geometry,
             environment.prefix_block_tokens),
      dispatcher(dispatcher_of(groups.pools.dispatch).make(groups.config, paths)),
      queues(environment.simulator, environment.trace, *dispatcher, estimator, reloads, owners.queues),
      sites(groups.environments, owners.sites, changed_sites, network),
      loads(environment.simulator, groups.config.cluster, network, requests, owners.loads),
      placed(std::move(placed_prompts)),
      stored(make_stored_prompts({groups.config, groups.pools.storage, memory, network, requests, loads, owners.stored},
                                 placed.get())),
      reloads(environment.simulator, groups.config, memory, network, sites.local, loads),
      lengths({groups.config, group_of(groups.config.cluster, Pool::remote), groups.decode,
               groups.of(Pool::remote).geometry, groups.of(Pool::remote).timer, groups.acceptance,
               groups.pools.message_latency_s},
              environment.measured),
      estimator({environment.simulator, groups.config, groups.pools, paths, sites, memory, network, *stored, reloads,
                 lengths, *dispatcher, changed_sites}),
      rounds({environment.simulator, groups.config, groups.pools.message_latency_s, groups.acceptance, requests,
              *stored, *dispatcher, estimator, reloads, memory, lengths, log, owners.rounds},
             groups.environments.front(), sites.local) {}

void PoolParts::find_on(Site& site, PoolRequest& r) {
  serving::Request& q = *r.request;
  if (groups.config.schedule.prefix_caching && memory.block_tokens() > 0) {
    q.kv.name_blocks(*r.blocks);
    const std::int64_t there = std::as_const(site).memory().there(q.kv, (q.prefill.target - 1) / memory.block_tokens());
    if (there > std::ssize(r.held->chain)) {
      r.held->chain.assign(r.blocks->begin(), r.blocks->begin() + there);
      r.held->chain_tokens = there * memory.block_tokens();
      r.found = std::max(r.found, r.held->chain_tokens);
    }
    if (!q.full_kv.had_prompt) q.kv.note_found(there * memory.block_tokens());
  }
  if (std::exchange(r.preempted_at, nullptr) != &site || r.found > 0) return;
  const serving::KvGeometry& geometry = groups.of(site.pool()).geometry;
  r.found =
      geometry.tokens_of_full_blocks(site.memory().take_back(q.kv, geometry.bytes_of_full_blocks(q.prefill.done)));
}

void PoolParts::hold_on(Site& site, PoolRequest& r) {
  const bool local = r.local == &site;
  const memory::KvForm form = local ? memory.local_form() : memory.remote_form(r.path);
  const auto blocks = static_cast<std::int64_t>(r.held->chain.size());
  const std::int64_t own = local ? memory.local_private(r, r.path, blocks) : memory.remote_private(r, r.path, blocks);
  serving::Residence& kv = local ? r.local_kv() : r.request->kv;
  KVSIM_ALWAYS(site.memory().hold_chain(kv, r.held->chain, form, memory.block_bytes(site.pool(), form), own),
               "memory that was available could not be reserved");
  site.count_requests(1);
  if (!r.request->full_kv.had_prompt && (!local || !r.traits().on_remote)) {  // each prompt once
    log.loads(kv, tokens_to_load(r, kv), memory.block_tokens());
  }
}

std::int64_t PoolParts::tokens_to_load(const PoolRequest& r, const serving::Residence& kv) const {
  return std::max<std::int64_t>(r.stored - r.held->chain_tokens, 0) + kv.chain().missing * memory.block_tokens();
}

void PoolParts::load(Site& site, PoolRequest& r) {
  if (r.local == &site) {
    return stored->load(r, site, Claim::local, memory.local_transfer(r, tokens_to_load(r, r.local_kv())));
  }
  const std::int64_t tokens = tokens_to_load(r, r.request->kv);
  stored->load(r, site, Claim::remote, memory.transfer(r, memory.remote_form(r.path), tokens));
}

void PoolParts::leave_local(PoolRequest& r) {
  if (r.local == nullptr || std::exchange(r.local_left, true)) return;
  if (r.stateless()) {
    reloads.leave(r);
    dispatcher->leaves(r);
  }
  if (r.local_kv().empty()) return;
  r.local->count_requests(-1);
  loads.drop(r, *r.local, Claim::local);
}

void PoolParts::leave(PoolRequest& r) {
  if (r.traits().drafts) rounds.end(r);
  loads.cancel_rest(r);
  leave_local(r);
  if (r.remote != nullptr) {
    r.remote->count_requests(-1);
    loads.drop(r, *r.remote, Claim::remote);
  }
  stored->release(r);
  r.left = true;
  forget_if_free(r);
}

/// Deferred: nodes still hold pointers to it within this iteration.
void PoolParts::forget_if_free(PoolRequest& r) {
  if (!r.left || r.in_transit > 0 || r.request->referred_to()) return;
  groups.env.simulator.schedule_in({}, engine::Callback::to<&PoolParts::forget>(this, r.request->id));
}

void PoolParts::forget(std::uint64_t id) {
  if (requests.find(id) == nullptr) return;
  requests.erase(id);
  engine::Callback released = groups.env.on_released;
  released.word = id;
  released();
}

}  // namespace kvsim::pools
