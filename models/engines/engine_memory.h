// GPU memory that a serving engine takes beside weights and KV, and how it sizes its KV cache.
#pragma once

#include <cstdint>

#include "models/llm/llm_spec.h"
#include "models/llm/parallelism.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// How an engine decides how much memory its KV cache takes. M: GPU memory, f: the fraction that the engine is given.
enum class KvSizing {
  profiled,    ///< f M - weights - what a profiling step and its buffers took (vLLM)
  free_share,  ///< f (M - CUDA context and collectives) - weights; activations lie in the rest (SGLang)
  rest_share   ///< f (M - CUDA context and collectives - weights - activations) (TensorRT-LLM)
};

/// GPU memory of one GPU beside weights and KV. The engine profiles a step of max_batched_tokens tokens and the
/// sampling of max_requests requests; the larger of both peaks counts. Figures are fits to start-up logs
/// (docs/modelling.md).
struct EngineMemory {
  schema::Sourced<KvSizing> sizing{KvSizing::profiled, {}};
  /// Bytes for an entry of the vocabulary of one sampled request, beside the entry itself in the model's width.
  schema::Sourced<double> logits_bytes;
  schema::Sourced<double> hidden_copies;          ///< residual streams that are alive at the peak of a layer
  schema::Sourced<bool> keeps_expert_buffers;     ///< what routed experts write stays allocated between steps
  schema::Sourced<std::int64_t> buffers_bytes;    ///< inputs and buffers of the engine itself
  schema::Sourced<double> loading_share;          ///< of the weights of a GPU, what loading leaves beside them
  schema::Sourced<std::int64_t> context_bytes;    ///< CUDA context before anything is loaded; in no vLLM figure
  schema::Sourced<std::int64_t> alone_bytes;      ///< outside of PyTorch, on a GPU that has the whole model
  schema::Sourced<std::int64_t> staged_bytes;     ///< likewise, of a pipeline stage of one GPU
  schema::Sourced<std::int64_t> joined_bytes;     ///< likewise, where GPUs share layers over a fast link (NVLink)
  schema::Sourced<std::int64_t> slow_join_bytes;  ///< likewise over a slower link (PCIe)
};

/// Load that memory_beside_kv() depends on, beside the engine.
struct EngineLoad {
  Parallelism parallel;
  bool fast_peers = true;  ///< GPUs that share layers are joined by a fast link
  std::int64_t max_requests = 1;
  std::int64_t max_batched_tokens = 1;
  double memory_fraction = 1;  ///< of GPU memory, as the engine is told
  double weights_of_gpu = 0;   ///< bytes
};

/// Links of so many bytes/s or more are fast: any NVLink, no PCIe.
inline constexpr double kFastPeerBytesPerS = 100e9;

/// Which of alone, staged, joined and slow_join counts on GPUs that share a model so: its key in the field table.
[[nodiscard]] const char* outside_key(const Parallelism& parallel, bool fast_peers);

/// Peak of activations on one GPU, bytes: of a layer or of sampling, with buffers of experts.
[[nodiscard]] double activation_peak(const EngineMemory& memory, const LlmSpec& model, const EngineLoad& load);

/// Bytes of one GPU that neither weights nor KV have, out of memory_fraction x GPU memory. May be negative for engines
/// that take a share of what is free.
[[nodiscard]] std::int64_t memory_beside_kv(const EngineMemory& memory, const LlmSpec& model, const EngineLoad& load);

}  // namespace kvsim::models
