// Indexers, which choose the tokens that selected layers attend to.
#pragma once

#include <vector>

#include "models/kernels/operators/operator.h"

namespace kvsim::models {

inline constexpr double kIndexerKernels = 2;  ///< a layer: scores, and choosing the largest

/// Every GPU runs all indexers: keys of all tokens before are read once for each request, and every head scores each of
/// them for each query token. What selected layers read themselves is AttentionWork's.
[[nodiscard]] inline OperatorLoad indexer_load(const LlmSpec& model, const AttentionWork& work) {
  if (model.indexer.layers == 0) return {};
  const auto width = static_cast<double>(model.indexer.layers * model.indexer.heads * model.indexer.head_dim);
  return {work.kv_bytes / static_cast<double>(model.kv_bytes_per_token()) * model.indexer_bytes_per_token(),
          work.pairs * 2 * width};
}

/// By the roofline of attention: no kernels of indexers were measured.
class Indexers {
 public:
  static constexpr const char *kName = "indexers", *kBoundBy = kBoundByKernels;
  static constexpr double StepTime::*kClass = &StepTime::attention_s;

  explicit Indexers(const StepSetup& s)
      : layers_(static_cast<double>(s.model.indexer.layers)),
        t0_s_(s.profile.attention_t0_s.value * (kIndexerKernels * layers_)),
        kv_reads_(s.model.reads_of_kv()),
        roofline_(Roofline::of_attention(s)) {}

  void add(const RankStep& step, StepTime& time) const {
    if (layers_ <= 0) return;
    const double others_s = time.attention_s;
    for (const AttentionWork* w : {&step.work.decode, &step.work.verify, &step.work.prefill}) {
      if (w->query_tokens <= 0) continue;
      const SplitTime t = roofline_.time(load_of(step, *w), w->pairs / w->query_tokens);
      time.attention_s += t0_s_ + t.seconds;
      time.hbm_bound_s += t.memory_bound_s;
    }
    time.indexer_s = time.attention_s - others_s;
  }
  [[nodiscard]] OperatorLoad load(const RankStep& step) const {
    const StepWork& w = step.work;
    return load_of(step, w.decode) + load_of(step, w.verify) + load_of(step, w.prefill);
  }
  [[nodiscard]] double flops_per_s(const StepSetup& s) const { return s.gpu.bf16_flops_per_s.value; }
  [[nodiscard]] Origin origin(const RankStep&, const std::vector<UsedFigure>& figures) const {
    return origin_of(figures, "indexers", "profile.attention");
  }

 private:
  [[nodiscard]] OperatorLoad load_of(const RankStep& step, AttentionWork work) const {
    work.kv_bytes *= kv_reads_;
    return indexer_load(step.setup.model, work);
  }

  double layers_, t0_s_;
  double kv_reads_;  // bytes read for each one kept: layers may share KV
  Roofline roofline_;
};

}  // namespace kvsim::models
