#include "sim/pools/two_pools.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "sim/engine/invariant.h"
#include "sim/pools/configuration.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/drafting.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::pools {

using models::Path;

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

}  // namespace

TwoPools::TwoPools(const serving::RunEnvironment& environment, std::unique_ptr<serving::PromptStore> prompts)
    : env_(environment),
      config_(environment.config),
      decode_(*serving::find_decode_policy(config_.decode.policy)),
      pools_(*config_.cluster.pools),
      parts_(parts_by_kind(config_, decode_)),
      acceptance_(serving::acceptance_of(
          config_, std::max(serving::draft_limit(config_.decode), config_.decode.draft_lengths.maximum))),
      paths_(usable_paths(config_)),
      log_(environment.simulator, config_, environment.measured),
      network_(environment.simulator, environment.fabric, config_.cluster, pools_.storage),
      memory_(config_, decode_, parts_of(Pool::local).geometry, parts_of(Pool::remote).geometry,
              environment.prefix_block_tokens),
      environments_{environment_of(Pool::local), environment_of(Pool::remote)},
      dispatcher_(dispatcher_of(pools_.dispatch).make(config_, paths_)),
      queues_(environment.simulator, environment.trace, *dispatcher_, outlook_, reloads_, *this),
      sites_(environments_, *this, changed_sites_, network_),
      loads_(environment.simulator, config_.cluster, network_, requests_, *this),
      prompts_(std::move(prompts)),
      stored_(
          make_stored_prompts({config_, pools_.storage, memory_, network_, requests_, loads_, *this}, prompts_.get())),
      reloads_(environment.simulator, config_, memory_, network_, sites_.local, loads_),
      lengths_({config_, group_of(config_.cluster, Pool::remote), decode_, parts_.back().geometry, parts_.back().timer,
                acceptance_, pools_.message_latency_s},
               environment.measured),
      outlook_({environment.simulator, config_, pools_, paths_, sites_, memory_, network_, *stored_, reloads_, lengths_,
                *dispatcher_, changed_sites_}),
      rounds_({environment.simulator, config_, pools_.message_latency_s, acceptance_, requests_, *stored_, *dispatcher_,
               outlook_, reloads_, memory_, lengths_, log_, *this},
              environments_.front(), sites_.local) {}

serving::InstanceEnvironment TwoPools::environment_of(Pool pool) {
  serving::GroupParts& parts = parts_of(pool);
  return {{env_.simulator, config_, group_of(config_.cluster, pool), decode_, parts.geometry, parts.timer,
           parts.step_times, parts.drafting, env_.measured, env_.trace, env_.gpus(parts.timer)},
          acceptance_,
          env_.fabric,
          {env_.requests, env_.on_finished, env_.on_released},
          nothing_stored_,
          config_.schedule.prefix_caching ? env_.prefix_block_tokens : 0};
}

std::vector<std::string> TwoPools::fallbacks() const {
  std::vector<std::string> said;
  for (const serving::InstanceEnvironment& environment : environments_) {
    if (environment.group.count == 0) continue;
    for (const std::string& more : environment.timer.fallbacks()) {
      if (std::find(said.begin(), said.end(), more) == said.end()) said.push_back(more);
    }
  }
  if (!prompts_) return said;
  for (std::string& more : prompts_->fallbacks()) said.push_back(std::move(more));
  return said;
}

void TwoPools::start_measuring() {
  update_requests();
  log_.start_measuring();
  requests_.for_each([](PoolRequest& r) { PathLog::forget(r); });
  sites_.each([](Site& node) { node.start_measuring(); });
  stored_->start_measuring();
}

void TwoPools::update_requests() {
  requests_.for_each([](const PoolRequest& r) {
    for (Site* site : {r.local, r.remote}) {
      if (site) site->instance().update(*r.request);
    }
  });
}

void TwoPools::finish_measuring() {
  requests_.for_each([this](PoolRequest& r) { log_.count_tokens(r); });
  for (const std::span<Site> pool : {sites_.local, sites_.remote}) {
    for (Site& site : pool) site.finish_measuring(env_.measured.pools[name_of(site.pool())], std::ssize(pool));
  }
  stored_->finish_measuring(env_.measured);
}

void TwoPools::check_conservation() const {
  stored_->check_conservation();
  std::int64_t assigned = 0;
  std::array<std::vector<std::int64_t>, 2> held{std::vector<std::int64_t>(sites_.local.size()),
                                                std::vector<std::int64_t>(sites_.remote.size())};
  const auto held_on = [&](const Site& node) -> std::int64_t& {
    return held.at(static_cast<std::size_t>(node.pool())).at(node.index());
  };
  requests_.for_each([&](const PoolRequest& r) {
    assigned += !r.left && (r.local || r.remote) ? 1 : 0;
    if (r.local) held_on(*r.local) += r.local_kv().held() + r.held->reload.kv.held();
    if (r.remote) held_on(*r.remote) += r.request->kv.held();
  });
  sites_.each([&](const Site& node) {
    node.memory().check_conservation(held_on(node), 0);
    KVSIM_ALWAYS(assigned > 0 || node.requests() == 0, "a node counts requests that are gone");
  });
}

serving::LoadSample TwoPools::load() {
  serving::LoadSample sample;
  sample.waiting = queues_.waiting();
  sites_.each([&](const Site& node) {
    sample.kv_bytes += node.memory().reserved();
    sample.waiting += node.requests_waiting();
    sample.gpu += node.gpus().time();
  });
  const serving::Measurements& m = env_.measured;
  sample.running = static_cast<std::int64_t>(m.arrived - m.completed - m.refused) - sample.waiting;
  for (const Site& node : sites_.local) sample.kv_streaming_bytes += reloads_.bytes(node);
  if (prompts_) prompts_->add_to(sample);
  return sample;
}

std::int64_t TwoPools::kv_capacity() const {
  std::int64_t bytes = 0;
  sites_.each([&](const Site& node) { bytes += node.memory().capacity(); });
  return bytes;
}

std::string TwoPools::submit(serving::Request& q, const models::RequestSpec& spec) {
  PoolRequest& r = requests_.add(q.id);
  r.request = &q;
  std::string refused = take(r, spec);
  if (refused.empty()) return refused;
  stored_->refused(r);
  requests_.erase(q.id);
  return refused;
}

std::string TwoPools::take(PoolRequest& r, const models::RequestSpec& spec) {
  serving::Request& q = *r.request;
  const std::int64_t tokens = q.prompt + q.output;
  if (tokens > config_.model.max_context) {
    return fmt::format(
        "needs a context of {} tokens, {} allows {}: where YaRN or the like makes more of it, give "
        "model.max_context",
        tokens, config_.model.name, config_.model.max_context);
  }
  q.prefill_target = q.prompt;
  stored_->arrived(r, spec);
  stored_->look(r);
  std::optional<Path> path = dispatcher_->on_arrival(r, outlook_);
  const auto runs_on = [&](Path p) { return outlook_.could_ever_run(r, p); };
  if (path && !runs_on(*path)) {  // another one that it may have been given
    const auto& weights = pools_.dispatch.weights;
    const auto other = std::find_if(paths_.begin(), paths_.end(),
                                    [&](Path p) { return runs_on(p) && weights.at(models::index_of(p)) > 0; });
    if (other != paths_.end()) path = *other;
  }
  if (path ? !runs_on(*path) : std::none_of(paths_.begin(), paths_.end(), runs_on)) {
    const Path tried = path.value_or(paths_.front());
    const Site& site = models::traits(tried).on_local ? sites_.local.front() : sites_.remote.front();
    const std::int64_t need = memory_.most_private(r, tried, site.pool());
    return fmt::format("needs {} bytes of KV memory on path {}, a node has {}", need, path_name(tried),
                       site.memory().capacity());
  }
  if (path) r.path = *path;
  r.path_given = path.has_value();
  q.phase = serving::Phase::queued;
  r.number = spec.id;
  queues_.enqueue(r);
  settle_soon();
  return {};
}

void TwoPools::settle_soon() {
  if (std::exchange(settle_pending_, true)) return;
  env_.simulator.schedule_in({}, engine::Callback::to<&TwoPools::settle>(this));
}

/// Once for everything that happens at this instant.
void TwoPools::settle() {
  settle_pending_ = false;
  reloads_.start_changed();
  queues_.assign();
}

}  // namespace kvsim::pools
