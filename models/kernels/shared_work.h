// Part of a step's work on one GPU, where ranks have requests of their own or a pipeline has several batches under
// way.
#pragma once

#include <vector>

#include "models/kernels/step_work.h"
#include "models/llm/parallelism.h"

namespace kvsim::models {

/// A step's work as its ranks and stages see it.
struct SharedWork {
  StepWork rank;                   ///< of the rank that has most tokens: each pass that it runs
  double tokens = 0;               ///< of all ranks in that pass
  double microbatches = 1;         ///< passes that the step is cut into
  std::vector<StepWork> others{};  ///< of other ranks with chunks, whose attention may take longer
};

/// Requests are spread evenly over ranks, so that the one with most has a whole one more or none; chunks are dealt to
/// the ranks in order, a chunk to one rank, and in a pipeline each of them in equal parts to its passes. A pipeline
/// cuts the step into as many passes as it has stages, as far as a rank has requests and chunks for them, all alike;
/// where ranks have fewer than stages, the passes in which all of them have a request are the ones that count for the
/// experts.
[[nodiscard]] SharedWork shared_work(const StepWork& work, const Parallelism& parallel);

/// One of the step's chunks, alone in a pass. Precondition: the step has prompts.
[[nodiscard]] StepWork one_chunk(const StepWork& work, const PrefillChunk& chunk);

/// The tokens of SharedWork::rank.
[[nodiscard]] double rank_tokens(const StepWork& work, const Parallelism& parallel);

/// Seconds of a pipeline's step: every pass goes through all stages, and stages wait for the slowest.
struct PipelinePass {
  double layers_s = 0;  ///< what all layers take in one pass, in proportion to layers
  double tail_s = 0;    ///< what comes once a pass, in the last stage
  double sends_s = 0;   ///< from each stage to the next, all of them
  double slowest_send_s = 0;
};
/// max(a pass through all stages, passes x the slowest stage): the first where a pipeline is not full. The first stages
/// have ceil(layers / stages) layers, the last one what is left, rounded down.
[[nodiscard]] double pipeline_s(const PipelinePass& pass, double microbatches, std::int64_t layers,
                                const Parallelism& parallel);

}  // namespace kvsim::models
