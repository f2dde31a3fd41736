// Where the time of a step is decided: what one forward pass computes and reads goes in, seconds come out, operator by
// operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/hardware/collectives.h"
#include "models/kernels/elementwise_kernels.h"
#include "models/kernels/operators/collectives.h"
#include "models/kernels/operators/elementwise.h"
#include "models/kernels/operators/head.h"
#include "models/kernels/operators/host.h"
#include "models/kernels/operators/indexer.h"
#include "models/kernels/operators/launch.h"
#include "models/kernels/operators/linear.h"
#include "models/kernels/operators/pipeline.h"
#include "models/kernels/operators/quantised.h"
#include "models/kernels/operators/sampler.h"
#include "models/kernels/operators/state.h"
#include "models/kernels/operators/window.h"
#include "models/kernels/shared_work.h"

namespace kvsim::models {

/// A TokenTime is the part of a step that depends on the numbers of its tokens alone: the same for every step that has
/// as many. Its total_s is not set.
struct TokenTime : StepTime {};

/// A GPU with so many times the memory bandwidth and the arithmetic.
[[nodiscard]] GpuSpec faster_gpu(GpuSpec gpu, double memory, double arithmetic);

/// A StepTimer is the list of a step's operators with their sum.
class StepTimer {
 public:
  /// `links` are those between the GPUs, which time what they tell each other; unused for a single one.
  StepTimer(const GpuSpec& gpu, const Interconnect& links, const KernelProfile& profile, const LlmSpec& model,
            const Parallelism& parallel, CurveGrid grid = CurveGrid::fine);
  /// A timer of the same step on GPUs with so many times the memory bandwidth and the arithmetic. Its coarse grid is
  /// for times that are compared with another's of the same grid.
  [[nodiscard]] StepTimer coarse(double memory, double arithmetic) const;

  /// The sum of the operators' times, each by measured table, fitted form, or roofline. All GPUs of a tensor-parallel
  /// group work alike, so this is the time of each; of ranks with requests of their own it is the time of the one with
  /// most, and of a pipeline what all requests take to advance by a step (shared_work.h). A step without tokens takes
  /// extra_gpu_s.
  [[nodiscard]] StepTime time(const StepWork& work) const { return time(work, token_time(work)); }
  /// token_time() is the first of two parts, for steps that follow each other with the same tokens.
  [[nodiscard]] TokenTime token_time(const StepWork& work) const;
  /// `known`: null, or of this timer, which changes no time.
  [[nodiscard]] StepTime time(const StepWork& work, const TokenTime& by_tokens, KnownLengths* known = nullptr,
                              const Faster& faster = {}) const;
  /// The list itself: the operators that take time in this step, in the order in which their classes are added up.
  /// Their seconds are what each added to time(), to the last place of its total, so that they add up to it exactly. Of
  /// ranks and pipelines the list is that of the rank that takes longest in one pass; what the step takes beyond it is
  /// the collectives'. `binds` of kernels is kBoundByKernels.
  [[nodiscard]] std::vector<StepOperator> operators(const StepWork& work) const;

  /// Whether the step has more tokens than captured ones have, so that every kernel is launched by itself, and the
  /// profile has a time for that.
  [[nodiscard]] bool launched_for_size(const StepWork& work) const {
    return size_of_rank(work) > static_cast<double>(profile().captured_tokens) && profile().launch.kernel_s.value > 0;
  }
  /// Size that captured_tokens is compared with, of the rank that has most.
  [[nodiscard]] double size_of_rank(const StepWork& work) const {
    return profile().launch.size_of(tensor_only() ? work : shared_work(work, setup_.parallel).rank);
  }
  /// is_captured() of the rank that has most.
  [[nodiscard]] bool captured(const StepWork& work) const {
    return is_captured(profile(), tensor_only() ? work : shared_work(work, setup_.parallel).rank);
  }
  /// Whether a pass waits for nothing but its own kernels: no stage of a pipeline waits for another.
  [[nodiscard]] bool one_stage() const { return setup_.parallel.pipeline == 1; }
  [[nodiscard]] const LlmSpec& model() const { return setup_.model; }
  [[nodiscard]] const KernelProfile& profile() const { return setup_.profile; }
  /// Query tokens of the rank that has most: with the numbers of all tokens, what token_time() depends on.
  [[nodiscard]] double tokens_of_rank(const StepWork& work) const { return rank_tokens(work, setup_.parallel); }
  /// Seconds of the host in a step with tokens, beside launches: of every iteration, and of a round of drafts.
  [[nodiscard]] double host_s(const StepWork& work) const {
    return profile().iteration_overhead_s.value + (profile().drafts ? profile().drafts->host_s(work) : 0);
  }
  /// Seconds of attention over quantised KV beside reading it. Precondition: the profile says it.
  [[nodiscard]] double quantised_s(const StepWork& work) const { return quantised_.seconds(setup_, work); }
  /// The time of a step with one token and nothing before it: the shortest there is.
  [[nodiscard]] double one_token_s() const;

  /// Cuts `time`, which time(work) gave, into layers. Before attention come the query, key and value projections, with
  /// their share of the linear layers by bytes of weights, a norm and the rotary embedding; after it the other
  /// projections, all-reduces, the second norm and the activation; at the end the LM head, embedding, their
  /// collectives, last norm, sampler, iteration overhead and extra_gpu_s. Of latent attention, everything up to the
  /// absorbed keys comes before.
  [[nodiscard]] LayerTime layers(const StepTime& time, const StepWork& work) const;

  /// Seconds on each GPU to choose the largest of each of `rows` rows of attention scores a layer, `scores` in all
  /// layers (both of one GPU).
  [[nodiscard]] double selection_s(double scores, double rows, double layers) const;
  /// Seconds on each GPU to compress one context; bytes and scores are those of one GPU.
  [[nodiscard]] double compression_s(const CompressionWork& work) const;
  /// Seconds on each GPU to make KV of `kept_bytes` whole again; nothing where the profile has no such kernel.
  [[nodiscard]] double dequantise_s(double full_bytes, double kept_bytes, double layers) const;
  /// Seconds on each GPU to read `bytes` of one GPU and write them back changed, one pass a layer.
  [[nodiscard]] double rewrite_s(double bytes, double layers) const;

  /// Which figures were replaced by a fall-back, in words, for reports. Empty when none was.
  [[nodiscard]] const std::vector<std::string>& fallbacks() const { return fallbacks_; }

 private:
  [[nodiscard]] bool tensor_only() const { return setup_.parallel.tensor_only(); }
  /// The operators in the order in which a step adds them up: those that depend on numbers of tokens alone, and the
  /// others. Both lists are all there is.
  template <class Each>
  void each_by_tokens(const Each& each) const {
    each(linear_);
    each(head_);
    each(collectives_);
    each(elementwise_);
    each(iteration_);
    each(sampler_);
  }
  template <class Each>
  void each_by_work(const Each& each) const {
    each(attention_);
    each(states_);
    each(indexers_);
    each(quantised_);
    each(drafts_);
    each(launches_);
  }
  [[nodiscard]] TokenTime token_time_of(const RankStep& step) const;
  [[nodiscard]] StepTime time_of(const RankStep& step, const TokenTime& by_tokens) const;
  /// Replaces the time that all layers take in one pass by that of a step of the whole pipeline.
  void add_stages(const SharedWork& shared, const Faster& faster, StepTime& time) const;
  void wait_for_chunks(const StepWork& work, const Faster& faster, StepTime& time) const;

  StepSetup setup_;
  LinearLayers linear_;
  LmHead head_;
  Attention attention_;
  RecurrentStates states_;
  Indexers indexers_;
  QuantisedAttention quantised_;
  Collectives collectives_;
  Iteration iteration_;
  Elementwise elementwise_;
  Sampler sampler_;
  DraftRound drafts_;
  Launches launches_;
  Pipeline pipeline_;
  std::vector<std::string> fallbacks_;
};

// Where decoding two tokens a request in one pass stops being free: while a step streams weights and KV, a second query
// token rides along; once arithmetic decides, it costs what it computes.

/// The contexts of a batch, all alike.
struct TwoTokenWork {
  double kv_bytes_per_request = 0;  ///< KV read a step, bytes as stored (times the kernel-time factor where compressed)
  double context = 0;               ///< tokens that each query token attends to
};

/// T(2)/T(1) - 1, where T(q) is a decode step of `batch` requests with q query tokens each, logits of all of them.
/// Precondition: batch > 0.
[[nodiscard]] double two_token_cost(const StepTimer& timer, const TwoTokenWork& work, double batch);

/// From which batches on it costs. The cost need not rise with the batch: it jumps where tokens need another wave of
/// tiles, and falls where a second token of a small batch reads experts that a large one reads anyway.
struct TwoTokenBatches {
  std::optional<std::int64_t> first;   ///< smallest batch that costs `threshold` or more
  std::optional<std::int64_t> always;  ///< from this batch on, all do
};

/// Looks at every batch up to 1,024, then at one in a hundred, up to `limit`, which is one of them. None where no batch
/// costs as much (first), or `limit` does not (always). Precondition: limit >= 1.
[[nodiscard]] TwoTokenBatches two_token_batches(const StepTimer& timer, const TwoTokenWork& work, std::int64_t limit,
                                                double threshold = 0.05);

}  // namespace kvsim::models
