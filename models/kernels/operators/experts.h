// Routed experts of a mixture, and what stands beside them: times by form, bytes and FLOPs.
#pragma once

#include <algorithm>

#include "models/kernels/operators/operator.h"

namespace kvsim::models {

/// Up to so many tokens of a step shared experts run on a stream of their own beside the routed ones (vLLM's default of
/// VLLM_SHARED_EXPERTS_STREAM_TOKEN_THRESHOLD; SGLang does so up to 1,024 tokens, TensorRT-LLM in captured steps).
constexpr double kSharedExpertsBesideRouted = 256;
/// Seconds of both then: those of the longer, and no less than the weights of both take to read, `streamed_s`.
[[nodiscard]] inline double beside_each_other_s(double shared_s, double routed_s, double streamed_s) {
  return std::max({shared_s, routed_s, std::min(shared_s + routed_s, streamed_s)});
}
/// Seconds that reading the weights of shared and of routed experts of all layers takes at the datasheet's bandwidth,
/// for so many tokens of all ranks, on one GPU.
[[nodiscard]] double experts_streamed_s(const LlmSpec& model, const Parallelism& parallel, const Machine& machine,
                                        double tokens);
/// Layers with routed experts, sharded within each expert, and what is in one.
[[nodiscard]] double routed_layers(const LlmSpec& model);
[[nodiscard]] ExpertLayer routed_layer(const LlmSpec& model, const Parallelism& parallel);
/// The routed experts of one layer, on the GPU with most of `tokens` tokens of all ranks.
[[nodiscard]] MoeCall experts_call(const LlmSpec& model, const Parallelism& parallel, double tokens);
/// Seconds of the routed experts of all layers by their form, for so many tokens of all ranks. Precondition: the
/// profile has it.
[[nodiscard]] SplitTime routed_time(const KernelProfile& profile, const LlmSpec& model, const Parallelism& parallel,
                                    const Machine& machine, double tokens);

/// Bytes of the routed experts that so many tokens reach, on all GPUs.
[[nodiscard]] double routed_weight_bytes(const LlmSpec& model, double tokens);
/// A GPU has its share of the experts and of all ranks' tokens.
[[nodiscard]] OperatorLoad routed_load(const RankStep& step);
/// The router and the shared experts, which a GPU computes for the tokens of its rank.
[[nodiscard]] OperatorLoad beside_routed_load(const RankStep& step);

}  // namespace kvsim::models
