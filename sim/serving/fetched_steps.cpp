#include "sim/serving/fetched_steps.h"

#include <cmath>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

FetchedSteps::FetchedSteps(const ReplicaEnvironment& environment, machine::GpuGroup& gpus, const HostLink& link)
    : env_(environment),
      gpus_(gpus),
      from_host_(link.to_gpu),
      fetching_(environment.config, environment.decode, environment.geometry, environment.timer) {
  if (!env_.decode.fetches()) return;
  layers_ = link.planned_to_gpu
                ? make_planned_layers(env_.simulator, fetching_.pipeline(), *link.planned_to_gpu, *link.planned_to_host)
                : make_simulated_layers(env_.simulator, fetching_.pipeline(), link.to_gpu, link.to_host);
}

void FetchedSteps::add(const Request& r, std::int64_t proposed, models::StepWork& work) {
  KVSIM_ALWAYS(!by_layers() || r.moving.writebacks == 0, "KV is fetched that is not in host memory");
  fetching_.add_decode(r, proposed, work);
  env_.measured.fetch.request_steps += 1;
  env_.measured.fetch.context_tokens += static_cast<double>(r.context());
}

void FetchedSteps::start(machine::Step step, const ForwardPass& pass, Offloading& offloading) {
  LayerStep layered = fetching_.step(pass.time, pass.work);
  if (layered.offload_bytes > 0) layered.on_offloaded = offloading.leaves(pass.entries);
  const std::int64_t layers = env_.config.model.layers;
  step.computing = layered.computing(layers);
  gpus_.start(step);
  if (layered.fetch_bytes > 0) {
    FetchMeasurement& m = env_.measured.fetch;
    const std::int64_t bytes = layered.fetch_bytes * layers;
    m.steps += 1;
    m.bytes += bytes;
    m.fetch_s += static_cast<double>(bytes) * layered.fetch_slowdown / from_host_.bandwidth();
  }
  layers_->start(layered, gpus_.ended());
}

void FetchedSteps::end_step() {
  const engine::Duration waited = gpus_.waited();
  if (!by_layers() || waited <= engine::Duration{}) return;
  env_.measured.fetch.wait_s += waited.seconds();
  env_.measured.fetch.waiting_steps += 1;
}

bool FetchedSteps::chose_first(Request& r) {
  if (env_.decode.fetch != Fetch::speculative || std::exchange(r.round.pairs_asked, true)) return false;
  env_.measured.fetch.first_choices += 1;
  return true;
}

void FetchedSteps::abandon(Request& r, std::int64_t context) {
  if (!std::exchange(r.round.pairs_asked, false)) return;
  env_.measured.fetch.unused_bytes += std::llround(fetching_.request_bytes(r, context));
}

}  // namespace kvsim::serving
