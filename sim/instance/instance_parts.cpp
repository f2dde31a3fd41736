#include "sim/instance/instance_parts.h"

#include <algorithm>

#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::serving {
namespace {

/// In which form what drafts read is held. `own`: what arrives is not decompressed first.
memory::KvForm drafts_read(const InstanceEnvironment& env, bool own) {
  if (own) return env.decode.as_found() ? memory::KvForm::full : memory::KvForm::compressed;
  const bool drops = env.config.decode.compressor.kind == models::CompressionKind::token_dropping;
  return drops ? memory::KvForm::compressed : memory::KvForm::full;
}

}  // namespace

InstanceParts::InstanceParts(const InstanceEnvironment& environment, const InstanceSpec& spec,
                             const SchedulePolicyEntry& schedule, Instance& of, StepLoopListener& listener)
    : instance(of),
      env(environment),
      route(spec.route),
      own(spec.route == nullptr),
      grows(spec.grows),
      demand(env.config, env.decode, env.geometry, env.prefix_tokens),
      loop(env, listener, spec.name, grows ? &memory : nullptr, drafts_read(env, own)),
      memory(env.simulator, spec.name, kv_capacity_bytes(env.config, env.group, env.geometry), spec.host_bytes,
             env.trace, env.geometry.bytes_of_full_blocks(env.prefix_tokens)),
      link(spec.link ? *spec.link : make_host_link(env.fabric, env.config, env.group, env.decode, spec.name)),
      use(env, spec.name, loop.gpus(), memory, queues, link.to_gpu, own),
      log(env.simulator, env.config, env.measured),
      offloading(env, demand, link.from_gpu, loop.gpus(), use, *this),
      scheduling(env, schedule, queues.decoding(), loop.gpus(), memory, loop.proposals().drafting().tokens_per_step(),
                 env.config.run.stretches && rounds_in_step(env.decode, loop.uniform_batch())
                     ? Scheduling::Asked::when_due
                     : Scheduling::Asked::in_every_step),
      reloads(env, memory, queues, scheduling, loop, link.to_gpu, use),
      rounds(env, demand, queues, loop.gpus(), link.to_gpu, log, loop.proposals(), schedules()),
      uniform_rounds(env, queues, loop.uniform_batch(), scheduling, rounds, loop.parts(), schedules()),
      admission(env, demand, memory, queues, reloads, scheduling, own) {
  loop.connect(link, engine::Callback::to<&InstanceParts::on_left>(this));
}

void InstanceParts::join_uniform(Request& r) {
  const bool direct = demand.decodes_directly(r);
  const std::int64_t left = direct ? r.remaining() : r.round.target - r.round.drafted;
  if (left > 0) loop.uniform_batch().join(r, direct ? Work::decode : Work::draft, left, env.simulator.now());
}

void InstanceParts::stop(Request& r) {
  loop.uniform_batch().leave(r);
  queues.part(r);
  r.admission = 0;
}

void InstanceParts::emit_directly(Request& r) {
  outstanding_tokens -= 1;
  log.emitted_directly(r);
}

void InstanceParts::end(Request& r) {
  if (!own) stop(r);
  r.remaining() > 0 ? route->on_drafted(instance, r) : route->on_finished(instance, r);
}

bool InstanceParts::grow(Request& r) {
  if (!grows_with(r)) return true;
  return resize(r, own ? demand.decoding(r) : std::max(demand.decoding(r), r.kv.held()));
}

/// The request that is preempted first. One whose drafts are verified elsewhere, or were, keeps its memory.
Request& InstanceParts::newest() const {
  if (own) return queues.newest();
  const std::vector<Request*>& decoding = queues.decoding();
  return **std::find_if(decoding.rbegin(), decoding.rend(), [this](const Request* r) { return grows_with(*r); });
}

bool InstanceParts::resize(Request& r, std::int64_t bytes) {
  while (!memory.resize(r.kv, bytes)) {
    Request& last = newest();
    preempt(last);
    if (&last == &r) return false;
  }
  return true;
}

void InstanceParts::secure_reload_room() {
  while (queues.decoding().size() > 1 && !reloads.have_room()) {
    Request& newest = queues.newest();
    if (newest.full_kv.offload_pending || newest.phase == Phase::prefilling) return;  // it will shrink by itself
    preempt(newest);
  }
}

void InstanceParts::preempt(Request& r) {
  env.measured.preemptions += 1;
  if (!own) {
    loop.fetched().abandon(r, r.context());
    stop(r);
  }
  route->on_preempted(instance, r);
}

void InstanceParts::on_left(std::uint64_t id) {
  route->on_offloaded(instance, env.requests[id]);
}

void InstanceParts::on_settled(Request& r) {
  if (resize(r, demand.decoding(r))) secure_reload_room();
}

}  // namespace kvsim::serving
