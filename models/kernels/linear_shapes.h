// Linear layers of a model as they lie on one GPU, and the time of each by the profile's fitted forms and tables.
#pragma once

#include <string>
#include <vector>

#include "models/kernels/profile.h"
#include "models/kernels/token_curve.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// One linear layer of a model on one GPU: `calls` times n x k per forward pass.
struct LinearShape {
  double n = 0;
  double k = 0;
  double calls = 1;
  /// The layers whose format its weights are in.
  enum class Part { body, attention, head } part = Part::body;
};

[[nodiscard]] inline NumberFormat weights_of(const LlmSpec& model, const LinearShape& shape) {
  return shape.part == LinearShape::Part::attention ? model.attention_format()
         : shape.part == LinearShape::Part::head    ? model.head_format()
                                                    : model.weight_format();
}

/// Those of its attention blocks.
[[nodiscard]] std::vector<LinearShape> attention_shapes(const LlmSpec& model, double gpus);
/// Linear layers of a model, sharded over `gpus`: QKV, output, gate and up, down; of a mixture of experts the router
/// and the shared experts, the routed ones apart (routed_layer). A latent's down projections are copied on every GPU;
/// its up projection is the same products whether it is absorbed into queries and outputs or expands the latent.
[[nodiscard]] std::vector<LinearShape> body_shapes(const LlmSpec& model, double gpus);
/// The shared experts of a mixture, which are among them. Empty where it has none.
[[nodiscard]] std::vector<LinearShape> shared_expert_shapes(const LlmSpec& model, double gpus);
/// A mixture's router, which is among them.
[[nodiscard]] LinearShape router_shape(const LlmSpec& model);
[[nodiscard]] LinearShape head_shape(const LlmSpec& model, double gpus);
/// Kernel calls of a pass that carry a launch-and-ramp cost t0: QKV, output, gate+up and down per dense layer, the
/// latent's two extra projections for MLA, router and two grouped products (and the shared expert's two, and two to a
/// narrower width and back) per MoE layer, two of a layer that keeps a state, two of an indexer, the LM head.
[[nodiscard]] double linear_calls_per_pass(const LlmSpec& model);

/// Whether forms and tables of the profile cover the model's linear layers on this machine; `why` says what lacks.
[[nodiscard]] bool covers_linear(const KernelProfile& profile, const LlmSpec& model, const Machine& machine,
                                 std::string& why);
/// Seconds of one linear layer of a model, or of some with all their calls, by their forms and tables. Precondition:
/// covers_linear().
[[nodiscard]] FormTime linear_time(const KernelProfile& profile, const LlmSpec& model, const LinearShape& shape,
                                   double tokens, const Machine& machine);
[[nodiscard]] SplitTime linear_times(const KernelProfile& profile, const LlmSpec& model,
                                     const std::vector<LinearShape>& shapes, double tokens, const Machine& machine);
/// Seconds of one linear layer: by its table, scaled to the machine and beyond its range by the form; else by the form.
[[nodiscard]] FormTime linear_time(const KernelProfile& profile, const LinearForm& form, const LinearShape& shape,
                                   double tokens, const Machine& machine, const LinearRun& run = {});

}  // namespace kvsim::models
