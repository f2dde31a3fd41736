#include "models/kernels/operators/launch.h"

#include "models/kernels/elementwise_kernels.h"
#include "models/kernels/linear_shapes.h"
#include "models/kernels/operators/collectives.h"
#include "models/kernels/operators/indexer.h"
#include "models/kernels/operators/state.h"

namespace kvsim::models {
namespace {

/// Kernels that a forward pass launches beside linear layers, attention and passes over activations. Of a routed layer:
/// choosing experts, sorting tokens by expert (two), the activation and summing up, and quantising the inputs of both
/// grouped products of narrow weights. Of a latent layer's chunks: two norms, writing the cache, and putting keys and
/// values together. Of others: writing keys and values. Two all-reduces a layer where GPUs share it. Counted in vLLM's
/// fused experts and latent attention; other engines' are alike.
double helper_kernels_per_pass(const LlmSpec& m, const KernelProfile& profile, bool shared) {
  const auto layers = static_cast<double>(m.attention_layers());
  const bool narrow = m.weight_format() != NumberFormat::bf16;
  const double routed = 5.0 + (narrow ? 2.0 : 0.0);
  const double attention = m.attention == AttentionKind::mla ? 5.0 : 1.0;
  const double reduced = shared ? all_reduces(m) : 0.0;
  const double heads = m.head_format() == NumberFormat::bf16 ? 1.0 : 0.0;  // LM heads whose inputs stay as they are
  const double quantised = narrow && !profile.fused.quantise ? linear_calls_per_pass(m) - heads : 0.0;
  return layers * attention + reduced + static_cast<double>(m.routed_layers()) * routed + quantised;
}

}  // namespace

bool is_captured(const KernelProfile& profile, const StepWork& work) {
  const bool short_enough = profile.launch.size_of(work) <= static_cast<double>(profile.captured_tokens);
  return short_enough && (profile.launch.chunks_captured || work.prefill.query_tokens <= 0);
}

Launches::Launches(const StepSetup& s)
    : kernels_(linear_calls_per_pass(s.model) + static_cast<double>(s.model.attention_layers()) + 1) {  // the sampler
  kernels_ += kStateKernels * static_cast<double>(s.model.state.layers) +
              kIndexerKernels * static_cast<double>(s.model.indexer.layers);
  kernels_ += helper_kernels_per_pass(s.model, s.profile, s.parallel.expert_gpus() > 1);
  const bool norms = !s.profile.fused.norms || s.parallel.tensor == 1;
  for (const ElementwiseKernel& k : elementwise_kernels(s.model, s.gpus, true, norms)) kernels_ += k.calls;
}

}  // namespace kvsim::models
