#include "sim/pools/pool_system.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/engine/invariant.h"
#include "sim/pools/configuration.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/drafting.h"
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

bool may_be_stateless(const serving::DispatchConfig& dispatch, const std::vector<models::Path>& paths) {
  const bool weighted = find_dispatcher(dispatch.policy)->needs_weights;
  return std::any_of(paths.begin(), paths.end(), [&](models::Path path) {
    const models::PathTraits& t = models::traits(path);
    return t.drafts && !t.cached && (!weighted || dispatch.weights.at(models::index_of(path)) > 0);
  });
}

}  // namespace

PoolSystem::PoolSystem(const serving::RunEnvironment& environment)
    : env_(environment),
      config_(environment.config),
      pools_(*environment.config.cluster.pools),
      decode_(*serving::find_decode_policy(config_.decode.policy)),
      geometry_(serving::configured_geometry(config_)),
      timer_(config_.cluster.gpu, config_.cluster.peer_link, config_.cluster.profile, config_.model,
             config_.cluster.tensor_parallel),
      acceptance_(serving::acceptance_of(config_, config_.decode.draft_length)),
      accepted_per_round_(acceptance_.expected_accepted(config_.decode.draft_length) + 1),
      paths_(usable_paths(config_)),
      may_be_stateless_(may_be_stateless(pools_.dispatch, paths_)),
      log_(environment.simulator, config_, environment.measured),
      network_(environment.simulator, environment.fabric, pools_),
      memory_(config_, decode_, geometry_, environment.prefix_block_tokens),
      node_environment_{
          environment.simulator,   config_, decode_, geometry_, timer_, environment.measured, environment.trace,
          environment.gpus(timer_)},
      dispatcher_(dispatcher_of(pools_.dispatch).make(config_, paths_)) {
  if (env_.trace) queue_counter_ = env_.trace->add_counter("dispatch", "queued requests");
  const std::int64_t kv_bytes = serving::kv_capacity_bytes(config_, geometry_);
  for (const Pool pool : {Pool::local, Pool::remote}) {
    const auto count = static_cast<std::size_t>((pool == Pool::local ? pools_.local : pools_.remote).nodes);
    for (std::size_t i = 0; i < count; ++i) {
      nodes_of(pool).push_back(
          std::make_unique<Node>(node_environment_, static_cast<StepListener&>(*this), pool, i, kv_bytes));
    }
  }
  if (config_.prefill == serving::PrefillKind::prefix_cache && memory_.block_tokens() > 0) {
    store_.emplace(pools_.storage.capacity_bytes, memory_.full_transfer(memory_.block_tokens()));
  }
}

void PoolSystem::start_measuring() {
  log_.start_measuring();
  for (const Pool pool : {Pool::local, Pool::remote}) {
    for (const auto& node : nodes_of(pool)) node->start_measuring();
  }
  if (store_) store_->reset_statistics();
  store_hits_ = store_misses_ = 0;
}

void PoolSystem::finish_measuring() {
  for (const Pool pool : {Pool::local, Pool::remote}) {
    for (const auto& node : nodes_of(pool)) node->finish_measuring();
  }
  if (!store_) return;
  serving::TierMeasurement& tier = env_.measured.tiers["storage"];
  tier.hits += store_hits_;
  tier.misses += store_misses_;
  tier.evictions += store_->evictions();
  tier.bytes_peak = std::max(tier.bytes_peak, store_->peak_bytes());
}

void PoolSystem::check_conservation() const {
  if (store_) store_->check_conservation();
  std::int64_t placed = 0;
  for (const auto& r : requests_) placed += r && !r->left && (r->local || r->remote) ? 1 : 0;
  for (const auto* nodes : {&local_, &remote_}) {
    for (const auto& node : *nodes) {
      node->check_conservation();
      std::int64_t bytes = 0;
      for (const auto& r : requests_) {
        if (r && r->local == node.get()) bytes += r->local_claim.private_bytes + r->reload_claim.private_bytes;
        if (r && r->remote == node.get()) bytes += r->remote_claim.private_bytes;
      }
      KVSIM_ALWAYS(bytes == node->memory().private_bytes(), "a node's memory differs from what its requests hold");
      KVSIM_ALWAYS(placed > 0 || node->requests == 0, "a node counts requests that are gone");
    }
  }
}

serving::LoadSample PoolSystem::load() {
  serving::LoadSample sample;
  sample.waiting = queued_;
  const serving::Measurements& m = env_.measured;
  sample.running = static_cast<std::int64_t>(m.arrived - m.completed - m.refused) - sample.waiting;
  for (const auto* nodes : {&local_, &remote_}) {
    for (const auto& node : *nodes) {
      sample.kv_bytes += node->memory().reserved();
      sample.kv_streaming_bytes += node->reload_bytes;
      sample.gpu += node->gpus().time();
    }
  }
  return sample;
}

std::int64_t PoolSystem::kv_capacity() const {
  std::int64_t bytes = 0;
  for (const auto* nodes : {&local_, &remote_}) {
    for (const auto& node : *nodes) bytes += node->memory().capacity();
  }
  return bytes;
}

}  // namespace kvsim::pools
