// What a step does in layers that keep a state in place of KV, and what indexers of selected layers read and compute.
#pragma once

#include "models/kernels/step_work.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// Bytes that one GPU moves and FLOPs that it computes, all layers of a kind.
struct LayerLoad {
  double bytes = 0;
  double flops = 0;
};

/// Of layers that keep a state, whose heads `gpus` GPUs share. Every request of the step reads its state and writes it
/// back once, however many tokens it has in the step; every token is read as the layer's projections give it, passes
/// the convolution, and is written as the output projection reads it, in 16 bit. Each number of a state takes
/// kStateFlops of a token: two to add the token, two to read it out, and two for what is taken out before (delta rule)
/// or for what the tokens of a chunk have to do with each other. Linear in tokens.
inline constexpr double kStateFlops = 6;
[[nodiscard]] LayerLoad state_load(const LlmSpec& model, double gpus, const StepWork& work);

/// Of indexers, which every GPU runs whole: keys of all tokens before are read once for each request, and every head
/// scores each of them for each query token. What selected layers read themselves is AttentionWork's.
[[nodiscard]] LayerLoad indexer_load(const LlmSpec& model, const StepWork& work);

}  // namespace kvsim::models
