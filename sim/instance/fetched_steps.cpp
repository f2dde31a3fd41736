#include "sim/instance/fetched_steps.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/engine/invariant.h"

namespace kvsim::serving {

using engine::Callback;

FetchedSteps::FetchedSteps(const GroupEnvironment& environment, machine::GpuGroup& gpus, const KvLink& link,
                           Callback on_offloaded)
    : env_(environment),
      gpus_(gpus),
      read_bytes_per_s_(link.spec.read_bytes_per_s.value * link.links),
      fetching_(environment.config, environment.group, environment.decode, environment.geometry, environment.timer,
                link.spec, link.links),
      on_offloaded_(on_offloaded) {
  if (!env_.decode.fetches()) return;
  config_ = fetching_.pipeline();
  layers_ = link.planned_to_gpu
                ? make_planned_layers(env_.simulator, config_, *link.planned_to_gpu, *link.planned_from_gpu)
                : make_simulated_layers(gpus.work(), config_, link.to_gpu, link.from_gpu);
}

bool FetchedSteps::lags() const {
  if (!by_layers()) return false;
  const std::int64_t window = std::max<std::int64_t>(env_.config.decode.compressor.residual_tokens, 1);
  return static_cast<std::int64_t>(leaving_.size()) > window;
}

/// The step that begins sends KV layer by layer, also that of its prompts' chunks. To be called when the last layer's
/// has arrived.
Callback FetchedSteps::leaves(const ForwardPass& pass) {
  std::vector<std::uint64_t>& requests = leaving_.emplace_back();
  for (const StepEntry& e : pass.entries) {
    if (e.work != Work::prefill) continue;
    e.request->moving.writebacks += 1;
    requests.push_back(e.request->id);
  }
  return Callback::to<&FetchedSteps::on_step_offloaded>(this);
}

void FetchedSteps::on_step_offloaded() {
  const std::vector<std::uint64_t> arrived = std::move(leaving_.front());
  leaving_.pop_front();
  for (const std::uint64_t id : arrived) {
    Callback arrival = on_offloaded_;
    arrival.word = id;
    arrival();
  }
  if (gpus_.idle()) gpus_.wake();
}

void FetchedSteps::add(const Request& r, std::int64_t proposed, models::StepWork& work) {
  KVSIM_ALWAYS(!by_layers() || r.moving.writebacks == 0, "KV is fetched that is not in host memory");
  fetching_.add_decode(r, proposed, work);
  env_.measured.fetch.request_steps += 1;
  env_.measured.fetch.context_tokens += static_cast<double>(r.context());
}

void FetchedSteps::start(machine::Step step, const ForwardPass& pass) {
  LayerStep layered = fetching_.step(pass.time, pass.work);
  if (layered.offload_bytes > 0) layered.on_offloaded = leaves(pass);
  const std::int64_t layers = env_.config.model.layers;
  step.computing = layered.computing(layers);
  gpus_.start(step);
  step_ = layered;
  if (layered.fetch_bytes > 0) {
    FetchMeasurement& m = env_.measured.fetch;
    const std::int64_t bytes = layered.fetch_bytes * layers;
    m.steps += 1;
    m.bytes += bytes;
    m.fetch_s += static_cast<double>(bytes) * layered.fetch_slowdown / read_bytes_per_s_;
  }
  layers_->start(layered, gpus_.ended());
}

void FetchedSteps::end_step() {
  if (!by_layers()) return;
  note_savings();
  const engine::Duration waited = gpus_.waited();
  if (waited <= engine::Duration{}) return;
  env_.measured.fetch.wait_s += waited.seconds();
  env_.measured.fetch.waiting_steps += 1;
}

/// A resource saves less of a step that waits for its fetches than of its computing, and a faster link saves
/// the waiting, until computing binds. Host time, and the launch of a graph, stand behind the layers, in the
/// tail.
void FetchedSteps::note_savings() {
  const double layer_bytes = static_cast<double>(step_.fetch_bytes);
  const double fetch_s = layer_bytes * step_.fetch_slowdown / read_bytes_per_s_;
  const double faster_s = layer_bytes * step_.slowdown_at_twice / (2 * read_bytes_per_s_);
  const double now_s = steady_step_s(config_, step_, fetch_s, 1);
  const double computing_s = step_.computing(config_.layers).seconds(), waited_s = gpus_.waited().seconds();
  models::PerResource beyond_account_s{};
  for (std::size_t i = 0; i < models::kResources; ++i) {
    const double saved = gpus_.spent().account().saved[i];
    if (saved <= 0) continue;
    const double saved_s = saved * computing_s;
    const auto resource = static_cast<models::Resource>(i);
    const bool within_tail = resource == models::Resource::host ||
                             (resource == models::Resource::launches && gpus_.spent().account().captured);
    beyond_account_s[i] = now_s - saved_s -
                          (within_tail ? steady_step_s(config_, step_, fetch_s, 1, saved_s)
                                       : steady_step_s(config_, step_, fetch_s, 1 - saved));
  }
  const double behind_others_s = std::max(waited_s - (now_s - computing_s), 0.0);
  const double link_saved_s = now_s - steady_step_s(config_, step_, faster_s, 1) + behind_others_s / 2;
  gpus_.note_savings(beyond_account_s, std::min(link_saved_s, waited_s));
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
