// Layers that keep a state in place of KV.
#pragma once

#include <vector>

#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// Each number of a state takes kStateFlops of a token: two to add the token, two to read it out, and two for what is
/// taken out before (delta rule) or for what the tokens of a chunk have to do with each other.
inline constexpr double kStateFlops = 6;
inline constexpr double kStateKernels = 2;  ///< a layer: convolution, and the state

/// Layers that keep a state, whose heads `gpus` GPUs share. Every request of the step reads its state and writes it
/// back once, however many tokens it has in the step; every token is read as the layer's projections give it, passes
/// the convolution, and is written as the output projection reads it, in 16 bit. Linear in tokens.
[[nodiscard]] inline OperatorLoad state_load(const LlmSpec& model, double gpus, const StepWork& work) {
  const StateLayers& s = model.state;
  double chunks = work.chunks.empty() && work.prefill.query_tokens > 0 ? 1 : 0;
  for (const PrefillChunk& c : work.chunks) chunks += c.alike;
  const double requests = work.decode.number_of_requests() + work.verify.number_of_requests() + chunks;
  if (s.layers == 0 || requests <= 0) return {};
  constexpr double kBytesOfAValue = 2;  // inputs and outputs in 16 bit
  const auto layers = static_cast<double>(s.layers);
  const double token = static_cast<double>(s.in_width + 2 * s.conv_channels + s.out_width()) * kBytesOfAValue;
  return {(requests * 2 * s.bytes() + work.tokens() * layers * token) / gpus,
          work.tokens() * layers * kStateFlops * static_cast<double>(s.elements()) / gpus};
}

/// By the roofline of attention: no kernels of such layers were measured.
class RecurrentStates {
 public:
  static constexpr const char *kName = "recurrent states", *kBoundBy = kBoundByKernels;
  static constexpr double StepTime::*kClass = &StepTime::attention_s;

  explicit RecurrentStates(const StepSetup& s)
      : layers_(static_cast<double>(s.model.state.layers)),
        t0_s_(kStateKernels * layers_ * s.profile.attention_t0_s.value),
        roofline_(Roofline::of_attention(s)) {}

  void add(const RankStep& step, StepTime& time) const {
    if (layers_ <= 0) return;
    constexpr double kRows = 64;  // tokens that kernels of states take at once: a chunk
    const SplitTime t = roofline_.time(load(step), kRows);
    time.hbm_bound_s += t.memory_bound_s;
    time.state_s = t0_s_ + t.seconds;
    time.attention_s += time.state_s;
  }
  [[nodiscard]] OperatorLoad load(const RankStep& step) const {
    return state_load(step.setup.model, step.setup.gpus, step.work);
  }
  [[nodiscard]] double flops_per_s(const StepSetup& s) const { return s.gpu.bf16_flops_per_s.value; }
  [[nodiscard]] Origin origin(const RankStep&, const std::vector<UsedFigure>& figures) const {
    return origin_of(figures, "state", "profile.attention");
  }

 private:
  double layers_, t0_s_;
  Roofline roofline_;
};

}  // namespace kvsim::models
