// One step taken apart by operator: what each takes, moves and computes, and where its time comes from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/kernels/step_work.h"
#include "models/llm/llm_spec.h"
#include "models/llm/parallelism.h"

namespace kvsim::models {

/// On one GPU of the group, once a step.
struct StepOperator {
  std::string name;
  double seconds = 0;
  double bytes = 0;         ///< moved between memory and the GPU's units, or of messages between GPUs
  double flops = 0;         ///< arithmetic on its matrix units
  double memory_share = 0;  ///< of the time, what `bytes` take at the datasheet's bandwidth; messages: none
  double flops_share = 0;   ///< of the time, what `flops` take at the datasheet's rate
  /// The resource that decides its time by the rule of StepAccount: memory or arithmetic, whose share is the larger;
  /// neither, where they decide less than a half; collectives, launches, host or fixed times, as the account names
  /// them.
  std::string binds = {};
  std::string from = {};  ///< table, form, roofline; estimate, constant, caller, none
  schema::Source source = {};
  double share = 0;  ///< of the step's time
  std::optional<FormError> error =
      {};  ///< of the form behind `from`, on the machine that it was fitted to; none: not known
};

/// StepTimer(gpu, links, profile, model, parallel).time(work), by operator; their seconds, added in this order,
/// are its total to the last bit. Of a mixture the router with the shared experts and the routed experts are operators
/// of their own: their parts of the step's linear layers, by their forms (by what their roofline is bound by). Bytes
/// and FLOPs are those of one pass on one GPU of the rank with most (of a pipeline: of all stages).
[[nodiscard]] std::vector<StepOperator> step_operators(const GpuSpec& gpu, const Interconnect& links,
                                                       const KernelProfile& profile, const LlmSpec& model,
                                                       const Parallelism& parallel, const StepWork& work);

}  // namespace kvsim::models
