// The pipeline in closed form. With uniform layers its times are a max-plus recurrence whose solution is the largest of
// a few arithmetic progressions (transport::ConvexSequence), carried from step to step.
#include <algorithm>
#include <vector>

#include "sim/serving/layer_pipeline.h"
#include "sim/transport/planned_link.h"

namespace kvsim::serving {
namespace {

using engine::Callback;
using engine::SimTime;
using transport::ConvexSequence;

class PlannedLayers : public LayerPipeline {
 public:
  PlannedLayers(engine::Simulator& simulator, const LayerPipelineConfig& config, transport::PlannedLink& to_gpu,
                transport::PlannedLink& to_host)
      : simulator_(simulator), layers_(config.layers), to_gpu_(to_gpu), to_host_(to_host) {}

  void start(const LayerStep& step, Callback on_end) final {
    const ConvexSequence attended = run(step);
    if (step.offload_bytes > 0) {
      to_host_.submit_series(attended,
                             {.bytes = step.offload_bytes, .on_complete = step.on_offloaded, .kind = "offload"});
    }
    simulator_.schedule_at(SimTime{attended.last()} + step.after + step.tail, on_end);
  }

 protected:
  /// When each layer's attention is done.
  virtual ConvexSequence run(const LayerStep& step) = 0;

  [[nodiscard]] std::int64_t now() const { return simulator_.now().ns; }
  [[nodiscard]] static transport::Transfer fetch(const LayerStep& step) {
    return {.bytes = step.fetch_bytes, .slowdown = step.fetch_slowdown, .kind = "fetch"};
  }

  engine::Simulator& simulator_;
  std::int64_t layers_;
  transport::PlannedLink& to_gpu_;
  transport::PlannedLink& to_host_;
};

/// start_j = max(start_{j-1} + c, A_j), A_j the arrival of what the step before asked for. A is convex, so the largest
/// of A_k + (j - k) c is at one of the ends: start_j = max(start_0 + j c, A_j).
class NextStep final : public PlannedLayers {
 public:
  using PlannedLayers::PlannedLayers;

 private:
  ConvexSequence run(const LayerStep& step) override {
    const std::int64_t layer = (step.before + step.attention + step.after).ns;
    const bool waits = step.waits && !arrivals_.empty();
    const std::int64_t ready = now() + step.before.ns;
    ConvexSequence attended(layers_);
    attended.add({waits ? std::max(ready, arrivals_.first()) : ready, layer});
    if (waits) {
      for (const ConvexSequence::Line& line : arrivals_.lines()) attended.add(line);
    }
    attended.shift(step.attention.ns);
    arrivals_ = step.fetch_bytes > 0 ? to_gpu_.submit_series(attended, fetch(step)) : ConvexSequence{};
    return attended;
  }

  ConvexSequence arrivals_;  // of the next step's layers
};

/// A fetch within each layer: only the first can find the link busy with something else.
class OnDemand final : public PlannedLayers {
 public:
  using PlannedLayers::PlannedLayers;

 private:
  ConvexSequence run(const LayerStep& step) override {
    const std::int64_t rest = (step.attention - step.scoring).ns;
    const std::int64_t to_scores = (step.before + step.scoring).ns;
    ConvexSequence attended(layers_);
    const std::int64_t layer = (step.before + step.attention + step.after).ns;
    if (step.fetch_bytes == 0) {
      attended.add({now() + step.before.ns + step.attention.ns, layer});
      return attended;
    }
    const std::int64_t first = to_gpu_.submit_at({now() + to_scores}, fetch(step)).ns;
    if (layers_ == 1) {
      attended.add({first + rest, 0});
      return attended;
    }
    // From the second layer on the link is free when it is asked: fetches are one layer and one fetch apart.
    const std::int64_t second = first + rest + step.after.ns + to_scores;
    const std::int64_t fetching = to_gpu_.idle_transfer_time(fetch(step)).ns;
    ConvexSequence asked(layers_ - 1);
    asked.add({second, layer + fetching});
    const ConvexSequence arrived = to_gpu_.submit_series(asked, fetch(step));
    attended.add({arrived.first() + rest - (layer + fetching), layer + fetching});
    return attended;
  }
};

/// A few layers ahead: layer by layer, without events.
class NextLayers final : public LayerPipeline {
 public:
  NextLayers(engine::Simulator& simulator, const LayerPipelineConfig& config, transport::PlannedLink& to_gpu,
             transport::PlannedLink& to_host)
      : simulator_(simulator),
        layers_(config.layers),
        ahead_(config.layers_ahead),
        to_gpu_(to_gpu),
        to_host_(to_host) {}

  void start(const LayerStep& step, Callback on_end) override {
    SimTime at = simulator_.now();
    SimTime offloaded;
    std::vector<SimTime> next;
    for (std::int64_t j = 0; j < layers_; ++j) {
      at = at + step.before;
      // The first layers wait for fetches of the step before, the others for fetches of this step.
      if (j < ahead_ && step.waits && !pending_.empty()) at = std::max(at, pending_[static_cast<std::size_t>(j)]);
      if (j >= ahead_ && !asked_.empty()) at = std::max(at, asked_[static_cast<std::size_t>(j - ahead_)]);
      at = at + step.attention;
      if (step.fetch_bytes > 0) {
        const SimTime arrival =
            to_gpu_.submit_at(at, {.bytes = step.fetch_bytes, .slowdown = step.fetch_slowdown, .kind = "fetch"});
        (j + ahead_ < layers_ ? asked_ : next).push_back(arrival);
      }
      if (step.offload_bytes > 0) offloaded = to_host_.submit_at(at, {.bytes = step.offload_bytes, .kind = "offload"});
      at = at + step.after;
    }
    asked_.clear();
    pending_ = std::move(next);
    if (step.offload_bytes > 0 && step.on_offloaded) simulator_.schedule_at(offloaded, step.on_offloaded);
    simulator_.schedule_at(at + step.tail, on_end);
  }

 private:
  engine::Simulator& simulator_;
  std::int64_t layers_;
  std::int64_t ahead_;
  transport::PlannedLink& to_gpu_;
  transport::PlannedLink& to_host_;
  std::vector<SimTime> asked_;    // arrivals for layers of the step under way
  std::vector<SimTime> pending_;  // for the first layers of the next one
};

}  // namespace

double steady_step_s(const LayerPipelineConfig& config, const LayerStep& step, double fetch_s, double computing,
                     double less_tail_s) {
  const auto layers = static_cast<double>(config.layers), ahead = static_cast<double>(config.layers_ahead);
  const double layer_s = computing * (step.before + step.attention + step.after).seconds();
  const double tail_s = std::max(computing * step.tail.seconds() - less_tail_s, 0.0);
  switch (config.fetches) {
    case FetchTime::next_step:
      return std::max(layers * layer_s + tail_s, layers * fetch_s);
    case FetchTime::on_demand:
      return layers * (layer_s + fetch_s) + tail_s;
    case FetchTime::next_layers:
      break;
  }
  if (fetch_s <= 0) return layers * layer_s + tail_s;
  const double paced_s = std::max({layer_s, fetch_s, (fetch_s + computing * step.attention.seconds()) / ahead});
  return (layers - ahead) * paced_s + std::max(ahead * layer_s + tail_s, ahead * paced_s);
}

std::unique_ptr<LayerPipeline> make_planned_layers(engine::Simulator& simulator, const LayerPipelineConfig& config,
                                                   transport::PlannedLink& to_gpu, transport::PlannedLink& to_host) {
  switch (config.fetches) {
    case FetchTime::next_step:
      return std::make_unique<NextStep>(simulator, config, to_gpu, to_host);
    case FetchTime::next_layers:
      return std::make_unique<NextLayers>(simulator, config, to_gpu, to_host);
    case FetchTime::on_demand:
      return std::make_unique<OnDemand>(simulator, config, to_gpu, to_host);
  }
  return nullptr;
}

}  // namespace kvsim::serving
