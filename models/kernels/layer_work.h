// Share of a step's attention that layers of one kind have, where a model's layers differ (WindowLayers).
#pragma once

#include <cstdint>

#include "models/kernels/step_work.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// Work that layers with a window leave out of a step's attention.
struct LeftOut {
  double kv_bytes = 0;  ///< of all copies that the GPUs of a tensor-parallel group read
  double flops = 0;
};
[[nodiscard]] LeftOut left_out(const LlmSpec& model, std::int64_t tensor_parallel, const StepWork& work);

/// Every token's KV is read whole or not at all: bytes of KV are tokens times the model's bytes of a token.
class LayerWork {
 public:
  explicit LayerWork(const LlmSpec& model);

  /// Some of it is outside of windows; else all layers have the same work.
  [[nodiscard]] static bool differs(const StepWork& work);
  /// As LlmSpec::full_part() sees it.
  [[nodiscard]] StepWork in_full_layers(const StepWork& work) const;
  /// As LlmSpec::window_part() sees it: a chunk that is longer than the window is cut into pieces of the window's
  /// length, each behind so many tokens that all its pairs are there. Of selected tokens one over heads is a request
  /// with as many query tokens, and one over latents says what is left out of it.
  [[nodiscard]] StepWork in_window_layers(const StepWork& work) const;

 private:
  [[nodiscard]] AttentionWork full(AttentionWork work) const;
  [[nodiscard]] AttentionWork window(AttentionWork work) const;
  /// `all`: the prompts' work in all layers.
  void absorb_long_chunks(const AttentionWork& all, StepWork& part) const;
  [[nodiscard]] PrefillChunk pieces(double tokens, double pairs) const;

  WindowLayers window_;
  bool latent_;
  double token_bytes_, full_bytes_, window_bytes_;  // of a token: in all layers, and in those of each kind
};

}  // namespace kvsim::models
