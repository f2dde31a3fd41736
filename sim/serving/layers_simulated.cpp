// The pipeline step by step: the reference that the closed form is held against.
#include <vector>

#include "sim/engine/invariant.h"
#include "sim/serving/layer_pipeline.h"

namespace kvsim::serving {
namespace {

using engine::Callback;

class SimulatedLayers final : public LayerPipeline {
 public:
  SimulatedLayers(machine::GpuWork& gpus, const LayerPipelineConfig& config, transport::Link& to_gpu,
                  transport::Link& to_host)
      : gpus_(gpus), config_(config), to_gpu_(to_gpu), to_host_(to_host) {}

  void start(const LayerStep& step, Callback on_end) override {
    step_ = step;
    on_end_ = on_end;
    layer_ = 0;
    // Fetches asked for ahead arrive in order: the next step's first fetch comes after everything so far.
    needed_ = next_needed_;
    next_needed_ = asked_ + (config_.fetches == FetchTime::next_layers ? within_step() : 0);
    waits_ = step.waits && needed_ < asked_;
    after(step.before, Callback::to<&SimulatedLayers::on_projected>(this));
  }

 private:
  /// Fetches that a step asks for and uses itself.
  [[nodiscard]] std::uint64_t within_step() const {
    return step_.fetch_bytes > 0 ? static_cast<std::uint64_t>(config_.layers - config_.layers_ahead) : 0;
  }

  void after(engine::Duration d, Callback what) { gpus_.run(d, what); }

  /// The layer's queries, keys and values are there.
  void on_projected() {
    if (config_.fetches == FetchTime::on_demand && step_.fetch_bytes > 0) {
      after(step_.scoring, Callback::to<&SimulatedLayers::on_scored>(this));
      return;
    }
    if (must_wait()) {
      blocked_ = true;
      return;
    }
    after(step_.attention, Callback::to<&SimulatedLayers::on_attended>(this));
  }

  /// The fetch that this layer's attention needs has not arrived.
  [[nodiscard]] bool must_wait() const {
    const auto j = static_cast<std::uint64_t>(layer_);
    if (config_.fetches == FetchTime::next_step) return waits_ && arrived_ <= needed_ + j;
    if (config_.fetches != FetchTime::next_layers) return false;
    const auto ahead = static_cast<std::uint64_t>(config_.layers_ahead);
    if (j < ahead) return waits_ && arrived_ <= needed_ + j;
    return step_.fetch_bytes > 0 && arrived_ <= first_of_step_ + j - ahead;
  }

  void on_scored() { ask(); }

  void on_attended() {
    if (config_.fetches != FetchTime::on_demand && step_.fetch_bytes > 0) {
      if (layer_ == 0) first_of_step_ = asked_;
      ask();
    }
    if (step_.offload_bytes > 0) {
      const bool last = layer_ + 1 == config_.layers;
      to_host_.submit(
          {.bytes = step_.offload_bytes, .on_complete = last ? step_.on_offloaded : Callback{}, .kind = "offload"});
    }
    after(step_.after, Callback::to<&SimulatedLayers::on_layer>(this));
  }

  void ask() {
    ++asked_;
    to_gpu_.submit({.bytes = step_.fetch_bytes,
                    .slowdown = step_.fetch_slowdown,
                    .on_complete = Callback::to<&SimulatedLayers::on_arrived>(this),
                    .kind = "fetch"});
  }

  void on_arrived() {
    ++arrived_;
    if (config_.fetches == FetchTime::on_demand) {
      after(step_.attention - step_.scoring, Callback::to<&SimulatedLayers::on_attended>(this));
    } else if (blocked_ && !must_wait()) {
      blocked_ = false;
      after(step_.attention, Callback::to<&SimulatedLayers::on_attended>(this));
    }
  }

  void on_layer() {
    if (++layer_ < config_.layers) {
      after(step_.before, Callback::to<&SimulatedLayers::on_projected>(this));
    } else {
      after(step_.tail, on_end_);
    }
  }

  machine::GpuWork& gpus_;
  LayerPipelineConfig config_;
  transport::Link& to_gpu_;
  transport::Link& to_host_;
  LayerStep step_;
  Callback on_end_;
  std::int64_t layer_ = 0;
  bool blocked_ = false;
  bool waits_ = false;       // for what earlier steps asked for
  std::uint64_t asked_ = 0;  // fetches, ever; they arrive in this order
  std::uint64_t arrived_ = 0;
  std::uint64_t needed_ = 0;         // number of the fetch that this step's first layer needs
  std::uint64_t next_needed_ = 0;    // the next step's
  std::uint64_t first_of_step_ = 0;  // number of the first that this step asked for
};

}  // namespace

std::unique_ptr<LayerPipeline> make_simulated_layers(machine::GpuWork& gpus, const LayerPipelineConfig& config,
                                                     transport::Link& to_gpu, transport::Link& to_host) {
  return std::make_unique<SimulatedLayers>(gpus, config, to_gpu, to_host);
}

}  // namespace kvsim::serving
