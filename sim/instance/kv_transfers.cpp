#include "sim/instance/kv_transfers.h"

#include <algorithm>
#include <utility>

#include "models/hardware/link_spec.h"
#include "sim/transport/fabric.h"

namespace kvsim::serving {

using engine::Callback;

KvLink make_host_link(transport::Fabric& fabric, const ServingConfig& config, const GroupConfig& group,
                      const DecodePolicy& decode, const std::string& instance) {
  const models::LinkSpec& spec = group.host_link;
  const auto gpus = static_cast<double>(group.parallel.tensor);
  const transport::HostWay way{spec.read_bytes_per_s.value * gpus,         spec.write_bytes_per_s.value * gpus,
                               engine::from_seconds(spec.latency_s.value), engine::from_seconds(spec.setup_s.value),
                               config.cluster.host_link_discipline,        spec.both_ways_bytes_per_s.value * gpus};
  const bool planned = spec.both_ways_bytes_per_s.value <= 0 && !group.profile.interference.any();
  if (decode.fetches() && planned && !config.run.layer_events) {
    const auto [in, out] = fabric.add_planned_host_lanes(instance, way);
    return {in, out, spec, gpus, &in, &out};
  }
  const transport::GroupLanes lanes = fabric.add_host_lanes(instance, way);
  return {*lanes.to_gpu, *lanes.from_gpu, spec, gpus, nullptr, nullptr, lanes};
}

MemoryUse::MemoryUse(const InstanceEnvironment& environment, const std::string& group, machine::GpuGroup& gpus,
                     const KvHoldings& memory, const RequestQueues& queues, const transport::Link& from_host, bool own)
    : env_(environment), gpus_(gpus), memory_(memory), queues_(queues), from_host_(from_host), own_(own) {
  if (env_.trace) queue_counter_ = env_.trace->add_counter(group, "queued requests");
}

void MemoryUse::note() {
  // Reserved bytes still on the link are not there yet.
  const bool counted = !own_ || env_.decode.fetches() || env_.prompts.stores();
  const std::int64_t coming = counted ? loading_bytes_ : from_host_.backlog_bytes();
  gpus_.use_memory(memory_.gpu().reserved() - std::min(memory_.gpu().reserved(), coming));
  if (!env_.trace) return;
  env_.trace->counter(queue_counter_, env_.simulator.now(), static_cast<double>(queues_.waiting()));
  if (own_) gpus_.trace_running(queues_.running());
}

void MemoryUse::start_measuring() {
  note();
  short_.reset(env_.simulator.now());
}

void MemoryUse::finish_measuring() {
  note();
  if (!own_) return;
  Measurements& m = env_.measured;
  const auto replicas = static_cast<double>(env_.group.count);
  m.memory_short_s += short_.integral(env_.simulator.now());
  m.kv_reserved_mean_bytes += memory_.gpu().pool().mean_reserved() / replicas;
  m.kv_streaming_mean_bytes += memory_.staged_level().mean(env_.simulator.now()) / replicas;
  m.kv_reserved_peak_bytes = std::max(m.kv_reserved_peak_bytes, memory_.gpu().pool().high_water());
  m.kv_streaming_peak_bytes =
      std::max(m.kv_streaming_peak_bytes, static_cast<std::int64_t>(memory_.staged_level().peak()));
}

void FirstLoads::load(Request& r, std::int64_t bytes) {
  begin(r, bytes);
  r.moving.transfer = from_host_.submit({.bytes = bytes,
                                         .on_complete = Callback::to<&FirstLoads::on_arrived>(this, r.id),
                                         .owner = r.id,
                                         .kind = "first load"});
}

void FirstLoads::load_prefix(Request& r) {
  begin(r, env_.geometry.full_transfer(r.prefix->tokens - r.prefix->dropped));
  env_.prompts.load(r, Callback::to<&FirstLoads::on_arrived>(this, r.id));
}

void FirstLoads::begin(Request& r, std::int64_t bytes) {
  r.moving.loading_bytes = bytes;
  use_.add_loading(bytes);
}

void FirstLoads::end(Request& r) {
  use_.add_loading(-std::exchange(r.moving.loading_bytes, 0));
  r.moving.transfer = {};
}

void FirstLoads::on_arrived(std::uint64_t id) {
  Request& r = env_.requests[id];
  if (r.moving.stale_loads > 0) {  // of an admission that is over
    --r.moving.stale_loads;
    env_.requests.release_if_over(r);
    return;
  }
  use_.note();
  end(r);
  listener_.on_loaded(r);
  gpus_.wake();  // even if it waits for something else: nobody waits for the link any more
}

void FirstLoads::abandon(Request& r) {
  if (r.phase != Phase::loading) return;
  if (r.moving.transfer.value != 0) {
    // Copies among which fetches are queued are not withdrawn: what was planned behind them stays as it is.
    if (env_.decode.fetches()) {
      ++r.moving.stale_loads;
    } else {
      from_host_.cancel(r.moving.transfer);
    }
  }
  if (!r.prefill.assembly && r.prefix->tokens > 0) ++r.moving.stale_loads;  // others may wait for the same load
  end(r);
}

void Offloading::computed(Request& r, std::int64_t tokens) {
  if (!demand_.offloads(r)) return;
  r.moving.in_host_tokens += tokens;
  if (env_.decode.fetches()) return;  // it left while the step ran
  r.moving.writebacks += 1;
  under_way_ += 1;
  to_host_.submit({.bytes = env_.geometry.stored_transfer(tokens),
                   .on_complete = Callback::to<&Offloading::on_arrived>(this, r.id),
                   .owner = r.id,
                   .kind = "write-back"});
}

void Offloading::on_arrived(std::uint64_t id) {
  under_way_ -= 1;
  offloaded(id);
}

void Offloading::offloaded(std::uint64_t id) {
  Request& r = env_.requests[id];
  use_.note();
  r.moving.writebacks -= 1;
  env_.requests.release_if_over(r);
  if (r.moving.writebacks == 0 && r.full_kv.offload_pending && r.phase == Phase::decoding) {
    r.full_kv.offload_pending = false;
    listener_.on_settled(r);
  }
  gpus_.wake();
}

}  // namespace kvsim::serving
