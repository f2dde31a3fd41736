#include "sim/serving/replica.h"

#include <algorithm>

#include <fmt/format.h>

#include "sim/engine/invariant.h"
#include "sim/engine/trace_name.h"
#include "sim/serving/capacity.h"

namespace kvsim::serving {
namespace {

std::string name_of_replica(int index) {
  return fmt::format("replica {}", index);
}

engine::LinkConfig link_config(const ServingConfig& config, int replica, const char* direction, double per_gpu) {
  engine::LinkConfig link;
  link.name = fmt::format("{}/{}", name_of_replica(replica), direction);
  link.bytes_per_s = per_gpu * static_cast<double>(config.cluster.tensor_parallel);
  link.latency = engine::from_seconds(config.cluster.host_link.latency_s.value);
  link.setup = engine::from_seconds(config.cluster.host_link.setup_s.value);
  link.discipline = config.cluster.host_link_discipline;
  return link;
}

}  // namespace

Replica::Replica(const ReplicaEnvironment& environment, int index, const SchedulePolicyEntry& schedule)
    : env_(environment),
      config_(environment.config),
      decode_(environment.decode),
      geometry_(environment.geometry),
      hbm_(environment.simulator, name_of_replica(index) + "/KV memory",
           kv_capacity_bytes(environment.config, environment.geometry), environment.trace),
      host_(environment.simulator, name_of_replica(index) + "/host memory",
            environment.config.cluster.host_memory_bytes, environment.trace),
      fetching_(environment.config, environment.decode, environment.geometry, environment.timer),
      drafting_(environment.config, environment.decode),
      schedule_(schedule.make(environment.config.schedule)),
      draft_lengths_({environment.config, environment.decode, environment.geometry, environment.timer,
                      environment.decode.proposes() ? drafting_.acceptance() : environment.acceptance, drafting_},
                     environment.measured),
      draft_limit_(draft_limit(environment.config.decode)),
      whole_(whole_kv(environment.config)),
      drafts_as_loaded_(drafts_as_loaded(environment.config, environment.decode)),
      log_(environment.simulator, environment.config, environment.measured),
      weights_bytes_(replica_weights(environment.config)) {
  make_links(index);
  models::StepWork one_token;
  one_token.decode.query_tokens = 1;
  one_token.logit_tokens = 1;
  iteration_estimate_s_ = env_.timer.time(one_token).total_s;
  if (env_.trace) {
    const std::string group = name_of_replica(index);
    gpu_track_ = env_.trace->add_track(group, engine::kGpuRow);
    queue_counter_ = env_.trace->add_counter(group, "queued requests");
    running_counter_ = env_.trace->add_counter(group, "running requests");
  }
}

void Replica::make_links(int index) {
  const models::LinkSpec& link = config_.cluster.host_link;
  const engine::LinkConfig to_gpu = link_config(config_, index, "host link, to the GPU", link.read_bytes_per_s.value);
  const engine::LinkConfig to_host =
      link_config(config_, index, "host link, from the GPU", link.write_bytes_per_s.value);
  engine::Simulator& simulator = env_.simulator;
  if (decode_.fetch == Fetch::none || config_.run.layer_events) {
    h2d_ = engine::make_link(simulator, to_gpu, env_.trace);
    d2h_ = engine::make_link(simulator, to_host, env_.trace);
    if (decode_.fetch != Fetch::none) layers_ = make_simulated_layers(simulator, fetching_.pipeline(), *h2d_, *d2h_);
    return;
  }
  auto planned_to_gpu = std::make_unique<engine::PlannedLink>(simulator, to_gpu, env_.trace);
  auto planned_to_host = std::make_unique<engine::PlannedLink>(simulator, to_host, env_.trace);
  layers_ = make_planned_layers(simulator, fetching_.pipeline(), *planned_to_gpu, *planned_to_host);
  h2d_ = std::move(planned_to_gpu);
  d2h_ = std::move(planned_to_host);
}

std::int64_t Replica::draft_room() const {
  return serving::draft_room(config_.decode, decode_);
}

std::string Replica::refusal(const Request& r) const {
  const std::int64_t tokens = r.prompt + r.output;
  if (tokens > config_.model.max_context) {
    return fmt::format("needs a context of {} tokens, {} allows {}", tokens, config_.model.name,
                       config_.model.max_context);
  }
  const std::int64_t whole = geometry_.full_reservation(tokens + draft_room());
  std::int64_t need = whole;
  if (drafts_as_loaded_) {
    // Beside what drafts read: what was dropped of it, or all of it once more.
    need += whole_ == WholeKv::recomputed ? geometry_.full_reservation(tokens) : geometry_.block_bytes();
  } else if (decode_.holds_part()) {
    need = geometry_.compressed_reservation(r.prompt, r.output, draft_room());
    if (decode_.verifies) need += geometry_.reload_reservation(r.prompt, r.output);
    if (config_.prefill == PrefillKind::recompute) need = std::max(need, whole);
  }
  if (need > hbm_.capacity()) {
    return fmt::format("needs {} bytes of KV memory, a replica has {}", need, hbm_.capacity());
  }
  const bool in_host = config_.prefill == PrefillKind::stored || (decode_.offloads() && !drafts_as_loaded_);
  if (in_host && host_reservation(r) > host_.capacity()) {
    return fmt::format("needs {} bytes of host memory, a replica has {}", host_reservation(r), host_.capacity());
  }
  return {};
}

std::int64_t Replica::host_reservation(const Request& r) const {
  return serving::host_reservation(config_, decode_, geometry_, r.prompt, r.output);
}

void Replica::submit(Request& r) {
  r.phase = Phase::queued;
  r.prefill_target = r.prompt;
  r.in_host_tokens = config_.prefill == PrefillKind::stored ? r.prompt : 0;
  draft_lengths_.begin_round(r, decoding_, decode_.offloads());
  outstanding_tokens_ += r.prompt + r.output;
  queue_.push_back(&r);
  wake();
}

ReplicaView Replica::view() const {
  ReplicaView v;
  v.decoding = decoding_;
  v.iteration_s = iteration_estimate_s_;
  v.link_bytes_per_s = h2d_->bandwidth();
  v.kv_capacity = hbm_.capacity();
  v.held_bytes = held_total_;
  v.draft_limit = draft_limit_;
  v.tokens_per_draft = drafting_.tokens_per_step();
  v.geometry = &geometry_;
  return v;
}

void Replica::start_measuring() {
  log_.start_measuring();
  hbm_.reset_statistics();
  host_.reset_statistics();
  used_peak_ = 0;
  note_memory();
  used_.reset(env_.simulator.now());
  memory_short_.reset(env_.simulator.now());
  streaming_peak_ = staged_total_;
  streaming_.reset(env_.simulator.now());
  h2d_before_ = h2d_->statistics();
  d2h_before_ = d2h_->statistics();
  host_tier_ = {};
}

void Replica::finish_measuring() {
  const engine::SimTime now = env_.simulator.now();
  note_memory();
  if (iterating_) {
    account_step(step_begin_, now);
  } else {
    account_idle();
  }
  Measurements& m = env_.measured;
  const double measured_s = (now - log_.measure_begin()).seconds();
  m.capacity_s += measured_s;
  m.memory_short_s += memory_short_.integral(now);
  m.hbm_peak_bytes = std::max(m.hbm_peak_bytes, weights_bytes_ + used_peak_);
  m.hbm_reserved_peak_bytes = std::max(m.hbm_reserved_peak_bytes, weights_bytes_ + hbm_.high_water());
  const auto replicas = static_cast<double>(config_.cluster.replicas);
  m.hbm_mean_bytes += (static_cast<double>(weights_bytes_) + used_.mean(now)) / replicas;
  m.kv_reserved_mean_bytes += hbm_.mean_reserved() / replicas;
  m.kv_streaming_mean_bytes += streaming_.mean(now) / replicas;
  m.kv_reserved_peak_bytes = std::max(m.kv_reserved_peak_bytes, hbm_.high_water());
  m.kv_streaming_peak_bytes = std::max(m.kv_streaming_peak_bytes, streaming_peak_);
  const auto add_link = [&](const char* name, const engine::Link& link, const engine::LinkStatistics& before) {
    const engine::LinkStatistics s = link.statistics();
    LinkMeasurement& l = m.links[name];
    l.busy_s += s.busy_s - before.busy_s;
    l.capacity_s += measured_s;
    l.bytes += s.bytes_delivered - before.bytes_delivered;
    l.wait_s += s.total_wait_s - before.total_wait_s;
    l.transfers += s.transfers_started - before.transfers_started;
  };
  if (env_.prompts) return;  // it has the links, and says what was in host memory
  add_link("host_to_gpu", *h2d_, h2d_before_);
  add_link("gpu_to_host", *d2h_, d2h_before_);
  TierMeasurement& tier = m.tiers["host"];
  tier.hits += host_tier_.hits;
  tier.misses += host_tier_.misses;
  tier.bytes_peak = std::max(tier.bytes_peak, host_.high_water());
}

void Replica::check_conservation() const {
  hbm_.check_conservation();
  host_.check_conservation();
  h2d_->check_conservation();
  d2h_->check_conservation();
  std::int64_t held = 0, staged = 0;
  for (const auto* list : {&decoding_, &prefilling_, &loading_}) {
    for (const Request* r : *list) {
      held += r->held;
      staged += r->staged;
    }
  }
  KVSIM_ALWAYS(held == held_total_, "KV memory held differs from the sum over requests");
  KVSIM_ALWAYS(staged == staged_total_, "KV memory of reloads differs from the sum over requests");
  KVSIM_ALWAYS(held + staged + profiling_held_ == hbm_.reserved(),
               "KV memory reserved differs from the sum over requests");
}

}  // namespace kvsim::serving
