#include "models/engines/engine_memory.h"

#include <algorithm>
#include <cmath>

#include "models/schema/object_schema.h"
#include "models/schemas.h"

namespace kvsim::models {

namespace {

/// Bytes of an activation: 16 bit beside narrower weights, 32 beside such weights.
double activation_bytes(const LlmSpec& model) {
  return std::max(2.0, model.weight_bytes_per_parameter);
}

/// Memory outside of PyTorch, by how GPUs share a model.
struct Outside {
  const char* key;
  schema::Sourced<std::int64_t> EngineMemory::*bytes;
};

Outside outside_of(const Parallelism& parallel, bool fast_peers) {
  const bool joined = parallel.tensor > 1 || parallel.attention_data > 1;
  if (joined && fast_peers) return {"joined", &EngineMemory::joined_bytes};
  if (joined) return {"slow_join", &EngineMemory::slow_join_bytes};
  if (parallel.pipeline > 1) return {"staged", &EngineMemory::staged_bytes};
  return {"alone", &EngineMemory::alone_bytes};
}

/// Bytes of a token in buffers of a layer's routed experts: gate and up or the output, whichever is wider, and what the
/// second matrix reads. Experts in a width without kernels of its own (MXFP4) run kernels that keep none.
double expert_buffer_of_token(const LlmSpec& model, const Parallelism& parallel) {
  if (model.routed_layers() == 0 || !model.weights_are_measured()) return 0;
  const auto shards = static_cast<double>(parallel.expert_gpus()) / static_cast<double>(parallel.expert);
  const double width = static_cast<double>(model.moe.expert_intermediate) / shards;
  const double first = std::max((model.gated_blocks ? 2 : 1) * width, static_cast<double>(model.expert_width()));
  return activation_bytes(model) * static_cast<double>(model.moe.experts_per_token) * (first + width);
}

/// Bytes of the table of rotary embeddings, which every GPU holds beside its weights.
double rotary_table(const LlmSpec& model) {
  const std::int64_t width = model.attention == AttentionKind::mla ? model.mla.qk_rope_head_dim : model.head_dim;
  return activation_bytes(model) * static_cast<double>(model.max_context * width);
}

schema::ObjectSchema<EngineMemory> memory_fields() {
  using namespace schema;
  using M = EngineMemory;
  ObjectSchema<M> s("memory", "GPU memory that an engine takes beside weights and KV, of one GPU.");
  s.optional(
      "sizing", &M::sizing,
      choice<KvSizing>(
          {{"profiled", KvSizing::profiled, "memory_fraction x memory - weights - what a profiling step took"},
           {"free_share", KvSizing::free_share, "memory_fraction x (memory - context and collectives) - weights"},
           {"rest_share", KvSizing::rest_share,
            "memory_fraction x (memory - context and collectives - weights - activations)"}}),
      "how the KV cache is sized");
  s.optional("logits", &M::logits_bytes, number().non_negative().at_most(1e3),
             "sampling: bytes for each of max_requests and each entry of the vocabulary, beside the entry itself");
  s.optional("hidden_copies", &M::hidden_copies, number().non_negative().at_most(100),
             "residual streams of max_batched_tokens tokens that are alive at the peak of a layer");
  s.optional("keeps_expert_buffers", &M::keeps_expert_buffers, boolean(),
             "buffers of routed experts stay allocated, so that sampling comes on top of them");
  s.optional("buffers", &M::buffers_bytes, bytes().non_negative(), "inputs and buffers of the engine itself");
  s.optional("loading_share", &M::loading_share, number().non_negative().at_most(1),
             "of a GPU's weights, what loading them leaves beside them");
  s.optional("context", &M::context_bytes, bytes().non_negative(),
             "CUDA context; sizing profiled: beyond memory_fraction, not subtracted");
  s.optional("alone", &M::alone_bytes, bytes().non_negative(), "outside of PyTorch, where one GPU has the whole model");
  s.optional("staged", &M::staged_bytes, bytes().non_negative(), "outside of PyTorch, where a GPU is a pipeline stage");
  s.optional("joined", &M::joined_bytes, bytes().non_negative(),
             "outside of PyTorch, where GPUs share layers: collectives over NVLink, and other peer links of 100 GB/s");
  s.optional("slow_join", &M::slow_join_bytes, bytes().non_negative(), "likewise over slower links");
  return s;
}

}  // namespace

const char* outside_key(const Parallelism& parallel, bool fast_peers) {
  return outside_of(parallel, fast_peers).key;
}

double activation_peak(const EngineMemory& memory, const LlmSpec& model, const EngineLoad& load) {
  const auto tokens = static_cast<double>(load.max_batched_tokens);
  const auto sampled = static_cast<double>(std::min(load.max_requests, load.max_batched_tokens));
  const double element = activation_bytes(model);
  const double hidden = element * static_cast<double>(model.hidden);
  const double sampling =
      tokens * hidden + sampled * static_cast<double>(model.vocabulary) * (memory.logits_bytes.value + element);
  const bool dense = model.block_layers() > model.routed_layers();
  const double width = dense ? static_cast<double>(model.intermediate) / static_cast<double>(load.parallel.tensor) : 0;
  const double block = element * static_cast<double>(model.block_matrices()) * width;
  const double experts = tokens * expert_buffer_of_token(model, load.parallel);
  const double layer = tokens * (hidden * memory.hidden_copies.value + block);
  // Stages of a pipeline hand on the residual stream and what is to be added to it.
  const double handed = load.parallel.pipeline > 1 ? 2 * tokens * hidden : 0;
  const double peak =
      memory.keeps_expert_buffers.value ? std::max(layer, sampling) + experts : std::max(layer + experts, sampling);
  return peak + handed + static_cast<double>(memory.buffers_bytes.value);
}

std::int64_t memory_beside_kv(const EngineMemory& memory, const LlmSpec& model, const EngineLoad& load) {
  const double peak = activation_peak(memory, model, load);
  const auto outside = static_cast<double>((memory.*outside_of(load.parallel, load.fast_peers).bytes).value);
  const double loaded = memory.loading_share.value * load.weights_of_gpu + rotary_table(model);
  const double started = static_cast<double>(memory.context_bytes.value) + outside;
  switch (memory.sizing.value) {
    case KvSizing::profiled:
      return std::llround(peak + outside + loaded);
    case KvSizing::free_share:
      return std::llround(load.memory_fraction * started + loaded);
    case KvSizing::rest_share:
      return std::llround(load.memory_fraction * (started + peak + loaded) -
                          (1 - load.memory_fraction) * load.weights_of_gpu);
  }
  return 0;
}

const schema::ObjectSchema<EngineMemory>& engine_memory_schema() {
  static const schema::ObjectSchema<EngineMemory> schema = memory_fields();
  return schema;
}

}  // namespace kvsim::models
