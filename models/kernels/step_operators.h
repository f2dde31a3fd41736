// One step by operator, and which resource decides the time of each.
#pragma once

#include <vector>

#include "models/kernels/step_time.h"

namespace kvsim::models {

/// StepTimer(gpu, links, profile, model, parallel).operators(work), with what binds each: their seconds add up to the
/// step's time to the last bit. Of a mixture the router with the shared experts and the routed experts are operators of
/// their own, beside the other linear layers. Bytes and FLOPs are those of one pass on one GPU of the rank that takes
/// longest (of a pipeline: of all stages).
[[nodiscard]] std::vector<StepOperator> step_operators(const GpuSpec& gpu, const Interconnect& links,
                                                       const KernelProfile& profile, const LlmSpec& model,
                                                       const Parallelism& parallel, const StepWork& work);

}  // namespace kvsim::models
