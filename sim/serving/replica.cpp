#include "sim/serving/replica.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/engine/invariant.h"
#include "sim/engine/trace.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {
namespace {

std::string name_of_replica(int index) {
  return fmt::format("replica {}", index);
}

}  // namespace

Replica::Replica(const ReplicaEnvironment& environment, int index, const SchedulePolicyEntry& schedule)
    : env_(environment),
      config_(environment.config),
      decode_(environment.decode),
      geometry_(environment.geometry),
      demand_(config_, decode_, geometry_),
      gpus_(environment.gpus, *this, name_of_replica(index)),
      memory_(environment.simulator, name_of_replica(index),
              kv_capacity_bytes(environment.config, environment.geometry), environment.config.cluster.host_memory_bytes,
              environment.trace),
      parts_(config_, decode_, geometry_, environment.timer,
             decode_.as_found ? memory::KvForm::full : memory::KvForm::compressed),
      fetching_(environment.config, environment.decode, environment.geometry, environment.timer),
      drafting_(environment.config, environment.decode),
      schedule_(schedule.make(environment.config.schedule)),
      draft_lengths_({environment.config, environment.decode, environment.geometry, environment.timer,
                      environment.decode.proposes() ? drafting_.acceptance() : environment.acceptance, drafting_},
                     environment.measured),
      profiling_(config_.schedule, geometry_, memory_, environment.prompts, environment.measured),
      assembly_(environment.simulator, config_, geometry_, environment.prompts, gpus_, environment.measured, *this),
      steady_(environment.decode, geometry_, memory_, environment.trace != nullptr),
      draft_limit_(draft_limit(environment.config.decode)),
      log_(environment.simulator, environment.config, environment.measured),
      weights_bytes_(replica_weights(environment.config)) {
  make_links(index);
  full_kv_ = make_full_kv_source({config_, geometry_, memory_, *h2d_, environment.prompts, environment.measured,
                                  engine::Callback::to<&Replica::on_reload>(this)},
                                 decode_);
  if (env_.trace) queue_counter_ = env_.trace->add_counter(name_of_replica(index), "queued requests");
}

/// The group has a link per GPU and moves its shards over all of them in parallel.
void Replica::make_links(int index) {
  const models::LinkSpec& spec = config_.cluster.host_link;
  const std::string owner = name_of_replica(index);
  const auto gpus = static_cast<double>(config_.cluster.tensor_parallel);
  const bool planned = decode_.fetch != Fetch::none && !config_.run.layer_events;
  const auto config = [&](const char* name) {
    return transport::LaneConfig{owner,
                                 name,
                                 {},
                                 engine::from_seconds(spec.latency_s.value),
                                 engine::from_seconds(spec.setup_s.value),
                                 config_.cluster.host_link_discipline};
  };
  transport::LaneConfig to_gpu = config("host link, to the GPU"), to_host = config("host link, from the GPU");
  const double read = spec.read_bytes_per_s.value * gpus, write = spec.write_bytes_per_s.value * gpus;
  if (planned) {
    transport::PlannedLink& h2d = env_.fabric.add_planned("host_to_gpu", read, to_gpu);
    transport::PlannedLink& d2h = env_.fabric.add_planned("gpu_to_host", write, to_host);
    layers_ = make_planned_layers(env_.simulator, fetching_.pipeline(), h2d, d2h);
    h2d_ = &h2d;
    d2h_ = &d2h;
    return;
  }
  to_gpu.route = {env_.fabric.link("host_to_gpu", owner, read)};
  to_host.route = {env_.fabric.link("gpu_to_host", owner, write)};
  h2d_ = &env_.fabric.add_lane(std::move(to_gpu));
  d2h_ = &env_.fabric.add_lane(std::move(to_host));
  if (decode_.fetch != Fetch::none) layers_ = make_simulated_layers(env_.simulator, fetching_.pipeline(), *h2d_, *d2h_);
}

std::string Replica::refusal(const Request& r) const {
  const std::int64_t tokens = r.prompt + r.output;
  if (tokens > config_.model.max_context) {
    return fmt::format("needs a context of {} tokens, {} allows {}", tokens, config_.model.name,
                       config_.model.max_context);
  }
  const std::int64_t need = demand_.most(r, full_kv_->most_beside(tokens));
  if (need > memory_.capacity()) {
    return fmt::format("needs {} bytes of KV memory, a replica has {}", need, memory_.capacity());
  }
  const bool in_host = config_.prefill == PrefillKind::stored || decode_.offloads();
  if (in_host && demand_.in_host(r) > memory_.host_capacity()) {
    return fmt::format("needs {} bytes of host memory, a replica has {}", demand_.in_host(r), memory_.host_capacity());
  }
  return {};
}

void Replica::submit(Request& r) {
  r.prefill_target = r.prompt;
  r.in_host_tokens = config_.prefill == PrefillKind::stored ? r.prompt : 0;
  draft_lengths_.begin_round(r, roster_.decoding(), decode_.offloads());
  outstanding_tokens_ += r.prompt + r.output;
  roster_.arrive(r);
  gpus_.wake();
}

ReplicaView Replica::view() const {
  ReplicaView v;
  v.decoding = roster_.decoding();
  v.iteration_s = gpus_.iteration_s();
  v.link_bytes_per_s = h2d_->bandwidth();
  v.kv_capacity = memory_.capacity();
  v.held_bytes = memory_.held();
  v.draft_limit = draft_limit_;
  v.tokens_per_draft = drafting_.tokens_per_step();
  v.geometry = &geometry_;
  return v;
}

void Replica::update_requests() {
  for (Request* r : roster_.decoding()) steady_.update(*r);
}

void Replica::start_measuring() {
  log_.start_measuring();
  memory_.start_measuring();
  note_memory();
  gpus_.start_measuring();
  memory_short_.reset(env_.simulator.now());
  host_tier_ = {};
}

void Replica::finish_measuring() {
  const engine::SimTime now = env_.simulator.now();
  note_memory();
  Measurements& m = env_.measured;
  add_group(m, gpus_, {weights_bytes_, memory_.reserved_peak(), config_.cluster.replicas});
  m.memory_short_s += memory_short_.integral(now);
  const auto replicas = static_cast<double>(config_.cluster.replicas);
  m.kv_reserved_mean_bytes += memory_.reserved_mean() / replicas;
  m.kv_streaming_mean_bytes += memory_.staged_mean() / replicas;
  m.kv_reserved_peak_bytes = std::max(m.kv_reserved_peak_bytes, memory_.reserved_peak());
  m.kv_streaming_peak_bytes = std::max(m.kv_streaming_peak_bytes, memory_.staged_peak());
  if (env_.prompts) return;  // it says what was in host memory
  TierMeasurement& tier = m.tiers["host"];
  tier.hits += host_tier_.hits;
  tier.misses += host_tier_.misses;
  tier.bytes_peak = std::max(tier.bytes_peak, memory_.host_peak());
}

void Replica::check_conservation() const {
  std::int64_t held = 0, staged = 0;
  roster_.for_each([&](const Request& r) {
    held += steady_.held(r);
    staged += r.kv.staged();
  });
  memory_.check_conservation(held, staged);
}

}  // namespace kvsim::serving
