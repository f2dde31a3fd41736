// Attention of a step in all layers that read KV: of one kind, or some over all tokens and some over a window.
#pragma once

#include <optional>
#include <vector>

#include "models/kernels/layer_work.h"
#include "models/kernels/operators/attention.h"

namespace kvsim::models {

class Attention {
 public:
  static constexpr const char *kName = "attention", *kBoundBy = kBoundByKernels;
  static constexpr double StepTime::*kClass = &StepTime::attention_s;

  explicit Attention(const StepSetup& s)
      : reads_of_kv_(s.model.reads_of_kv()),
        all_(s, s.model.as_read()),
        always_by_kind_(s.model.window_heads_differ() || s.model.indexer.layers > 0) {
    if (s.model.window.layers == 0) return;
    const LlmSpec read = s.model.as_read();
    by_kind_ = LayerWork(read);
    if (read.full_part().layers > 0) full_.emplace(s, read.full_part());
    window_.emplace(s, read.window_part());
  }

  void add(const RankStep& step, StepTime& time) const {
    each_kind(step, [&](const AttentionLayers& layers, const StepWork& work, KnownLengths* known) {
      layers.add(step, work, known, time);
    });
  }
  [[nodiscard]] OperatorLoad load(const RankStep& step) const {
    OperatorLoad sum;
    each_kind(step, [&](const AttentionLayers& layers, const StepWork& work, KnownLengths*) {
      sum = sum + layers.load(step, work);
    });
    return sum;
  }
  [[nodiscard]] double flops_per_s(const StepSetup& s) const { return s.gpu.bf16_flops_per_s.value; }
  [[nodiscard]] Origin origin(const RankStep& step, const std::vector<UsedFigure>& figures) const {
    return origin_of(figures, all_.times() ? all_.times()->operation(step.work) : kName, "profile.attention");
  }

  /// All layers, as if alike.
  [[nodiscard]] const AttentionLayers& all() const { return all_; }

 private:
  /// Calls each(layers, their work, known) of every kind of layers that the step tells apart. `known` are times of all
  /// layers as if alike.
  template <class Each>
  void each_kind(const RankStep& step, const Each& each) const {
    std::optional<StepWork> shared;
    if (reads_of_kv_ != 1) {
      shared = step.work;
      for (AttentionWork* w : {&shared->decode, &shared->verify, &shared->prefill}) w->kv_bytes *= reads_of_kv_;
    }
    const StepWork& work = shared ? *shared : step.work;
    if (!by_kind_ || (!always_by_kind_ && !LayerWork::differs(work))) {
      each(all_, work, step.known);
      return;
    }
    if (full_) each(*full_, by_kind_->in_full_layers(work), nullptr);
    each(*window_, by_kind_->in_window_layers(work), nullptr);
  }

  double reads_of_kv_;  // bytes read for each one kept: layers may share KV
  AttentionLayers all_;
  std::optional<LayerWork> by_kind_;  // none: no layer has a window
  std::optional<AttentionLayers> full_, window_;
  bool always_by_kind_;  // their heads differ, or an indexer's keys are beside them
};

}  // namespace kvsim::models
