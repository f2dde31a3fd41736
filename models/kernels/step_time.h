// Where the time of a step is decided: what one forward pass computes and reads goes in, seconds come out, operator by
// operator.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/hardware/collectives.h"
#include "models/hardware/gpu.h"
#include "models/kernels/elementwise_kernels.h"
#include "models/kernels/layer_work.h"
#include "models/kernels/operator_times.h"
#include "models/kernels/profile.h"
#include "models/kernels/shared_work.h"
#include "models/kernels/state_work.h"
#include "models/kernels/step_work.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

/// A step's time and what it was spent on; the parts add up to total_s.
struct StepTime {
  double total_s = 0;
  double linear_s = 0;
  double head_s = 0;          ///< of linear_s, the LM head
  double attention_s = 0;     ///< and what is in its place: state_s, indexer_s
  double state_s = 0;         ///< of attention_s, layers that keep a state
  double indexer_s = 0;       ///< of attention_s, indexers that choose what selected layers attend to
  double collectives_s = 0;   ///< all-reduces of all layers and of the embedding, gathering of the logits; tokens to
                              ///< experts and back; of a pipeline, sending and waiting for the slowest stage
  double gathering_s = 0;     ///< of collectives_s, what comes once a pass: embedding and logits
  double overhead_s = 0;      ///< launch, scheduling, norms and activations, sampling, extra kernels
  double launch_s = 0;        ///< of overhead_s, launching kernels where the profile says what that takes
  double hbm_bound_s = 0;     ///< of linear_s + attention_s, what memory bandwidth decides
  bool within_domain = true;  ///< false: some size lies beyond what was fitted or measured
};

/// Of a step, what depends on the numbers of its tokens alone: the same for every step that has as many.
struct TokenTime {
  StepTime linear;           ///< linear layers
  double collectives_s = 0;  ///< as in StepTime
  double gathering_s = 0;    ///< as in StepTime
  double elementwise_s = 0;  ///< norms, activations, sampling and what every iteration takes
};

/// Faster says how many times faster than described those parts of a step are that are no kernels.
struct Faster {
  double launches = 1;             ///< launching kernels and graphs
  double collectives = 1;          ///< all that GPUs tell each other
  double host = 1;                 ///< the iteration overhead
  std::optional<bool> captured{};  ///< how the step is launched, where its tokens do not say it
};

/// Of each token, after attention or state and after the feed-forward block; the embedding's comes once more.
[[nodiscard]] inline double all_reduces(const LlmSpec& model) {
  return static_cast<double>(model.sublayers());
}
/// bf16 activations and logits are what collectives carry.
inline constexpr double kCarriedBytes = 2;

/// Whether a step runs as a captured CUDA graph.
[[nodiscard]] bool is_captured(const KernelProfile& profile, const StepWork& work);

/// A GPU with so many times the memory bandwidth and the arithmetic.
[[nodiscard]] GpuSpec faster_gpu(GpuSpec gpu, double memory, double arithmetic);

class StepTimer {
 public:
  /// `links` are those between the GPUs, which time what they tell each other; unused for a single one.
  StepTimer(const GpuSpec& gpu, const Interconnect& links, const KernelProfile& profile, const LlmSpec& model,
            const Parallelism& parallel, CurveGrid grid = CurveGrid::fine);
  /// A timer of the same step on GPUs with so many times the memory bandwidth and the arithmetic. Its coarse grid is
  /// for times that are compared with another's of the same grid.
  [[nodiscard]] StepTimer coarse(double memory, double arithmetic) const;

  /// Operator by operator: measured table, fitted form, or roofline t0 + max(bytes / (eta BW), flops / (eta FLOPS)),
  /// and their sum. All GPUs of a tensor-parallel group work alike, so this is the time of each; of ranks with requests
  /// of their own it is the time of the one with most, and of a pipeline what all requests take to advance by a step
  /// (shared_work.h). A step without tokens takes extra_gpu_s.
  [[nodiscard]] StepTime time(const StepWork& work) const { return time(work, token_time(work)); }
  /// The same in two parts, for steps that follow each other with the same tokens.
  [[nodiscard]] TokenTime token_time(const StepWork& work) const;
  /// `known`: null, or of this timer, which changes no time.
  [[nodiscard]] StepTime time(const StepWork& work, const TokenTime& by_tokens, KnownLengths* known = nullptr,
                              const Faster& faster = {}) const;
  /// Whether the step has more tokens than captured ones have, so that every kernel is launched by itself, and the
  /// profile has a time for that.
  [[nodiscard]] bool launched_for_size(const StepWork& work) const {
    return size_of_rank(work) > static_cast<double>(profile_.captured_tokens) && profile_.launch.kernel_s.value > 0;
  }
  /// Size that captured_tokens is compared with, of the rank that has most.
  [[nodiscard]] double size_of_rank(const StepWork& work) const {
    return profile_.launch.size_of(parallel_.tensor_only() ? work : shared_work(work, parallel_).rank);
  }
  /// is_captured() of the rank that has most.
  [[nodiscard]] bool captured(const StepWork& work) const;
  /// Whether a pass waits for nothing but its own kernels: no stage of a pipeline waits for another.
  [[nodiscard]] bool one_stage() const { return parallel_.pipeline == 1; }
  [[nodiscard]] const LlmSpec& model() const { return model_; }
  [[nodiscard]] const KernelProfile& profile() const { return profile_; }
  /// Query tokens of the rank that has most: with the numbers of all tokens, what token_time() depends on.
  [[nodiscard]] double tokens_of_rank(const StepWork& work) const { return rank_tokens(work, parallel_); }
  /// Seconds of the host in a step with tokens, beside launches: of every iteration, and of a round of drafts.
  [[nodiscard]] double host_s(const StepWork& work) const;
  /// Seconds of attention over quantised KV beside reading it. Precondition: the profile says it.
  [[nodiscard]] double quantised_s(const StepWork& work) const;
  /// Of a step with one token and nothing before it: the shortest there is.
  [[nodiscard]] double one_token_s() const;

  /// What time(work) gave, cut into layers. Before attention come the query, key and value projections, with their
  /// share of the linear layers by bytes of weights, a norm and the rotary embedding; after it the other projections,
  /// all-reduces, the second norm and the activation; at the end the LM head, embedding, their collectives, last norm,
  /// sampler, iteration overhead and extra_gpu_s. Of latent attention, everything up to the absorbed keys comes before.
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
  struct Roofline {
    double seconds;
    bool memory_bound;
  };
  [[nodiscard]] static Roofline roofline(double bytes_s, double flops_s);
  void note_origin(const GpuSpec& gpu);
  /// Of stages of a pipeline, and of a replica on several nodes that nothing is known to join.
  void note_links(const Interconnect& links);
  /// Of forms of an engine's kernels that were measured on another GPU.
  void note_scaled_kernels();
  void note_missing();
  /// Of a rank's work; `all_tokens` are those of all ranks.
  [[nodiscard]] TokenTime token_time_of(const StepWork& rank, double all_tokens) const;
  [[nodiscard]] StepTime time_of(const StepWork& rank, const TokenTime& by_tokens, KnownLengths* known,
                                 const Faster& faster) const;
  void add_linear(const StepWork& rank, double all_tokens, StepTime& time) const;
  /// What all layers take in one pass becomes what a step of the whole pipeline takes.
  void add_stages(const SharedWork& shared, const Faster& faster, StepTime& time) const;
  void wait_for_chunks(const StepWork& work, const Faster& faster, StepTime& time) const;
  /// Layers that are alike to attention.
  struct AttentionLayers {
    AttentionLayers() = default;
    AttentionLayers(const LlmSpec& model, double gpus);
    double layers = 0;
    double kv_share = 1;        // of their KV bytes, what one GPU reads
    double flops_per_pair = 0;  // of all of them
    AttentionTimes times;       // where forms cover them
  };
  /// Of all kinds of layers; KV bytes of the work are those kept.
  void add_attention(const StepWork& stored, KnownLengths* known, StepTime& time) const;
  /// Of one kind, whose own the work is.
  void add_attention(const AttentionLayers& of, const StepWork& work, KnownLengths* known, StepTime& time) const;
  /// Adds, and returns, the seconds of layers of another kind: `calls` kernels in all.
  double add_load(const LayerLoad& load, double calls, StepTime& time) const;
  /// `read_bytes`: KV moved, which may be more than there is.
  void add_attention(const AttentionLayers& of, const AttentionWork& work, double read_bytes, StepTime& time) const;
  [[nodiscard]] double weight_bytes_read(double tokens) const;
  /// Bytes of weights that the GPUs of a rank read in a pass.
  [[nodiscard]] double weight_bytes_of_rank(double all_tokens) const;
  [[nodiscard]] const std::vector<ElementwiseKernel>& kernels_of(double tokens) const {
    return tokens <= static_cast<double>(profile_.captured_tokens) ? captured_kernels_ : elementwise_kernels_;
  }
  [[nodiscard]] ElementwiseForm elementwise_form() const;
  [[nodiscard]] CompressionKernels compression_kernels() const;
  /// What launching a step's kernels adds to it.
  [[nodiscard]] double launch_s(const StepWork& work, double computing_s, const Faster& faster) const;
  [[nodiscard]] double attention_flops_s(const AttentionLayers& of, const AttentionWork& work) const;
  [[nodiscard]] double sampler_s(double sequences) const;
  void add_collectives(const StepWork& rank, double all_tokens, TokenTime& time) const;

  GpuSpec gpu_;
  Interconnect links_;
  LlmSpec model_;
  KernelProfile profile_;
  Parallelism parallel_;
  double gpus_ = 1;  // of a tensor-parallel group
  double memory_bytes_per_s_ = 0;
  double linear_flops_per_s_ = 0, head_flops_per_s_ = 0;
  double attention_flops_per_s_ = 0;
  CollectiveTimes all_reduce_;
  CollectiveTimes all_gather_;
  CollectiveTimes gather_tokens_;   // to the GPUs that share experts
  CollectiveTimes scatter_tokens_;  // and their sums back
  /// From a stage of a pipeline to the next.
  struct Sends {
    double number = 0;  // of the stages' borders
    double latency_s = 0, bytes_per_s = 0;
  };
  std::array<Sends, 2> sends_;     // within nodes, between nodes
  double linear_calls_ = 0;        // per forward pass
  double launches_ = 0;            // per forward pass: all kernels
  double head_flops_ = 0;          // LM head, per logit token
  double body_flops_ = 0;          // all other linear layers, per token
  double expert_flops_ = 0;        // of that, the routed experts
  double dense_weight_bytes_ = 0;  // read by every pass of a dense model
  double head_weight_bytes_ = 0;   // of that, the LM head
  double qkv_weight_bytes_ = 0;    // of that, what comes before attention, all layers
  Machine machine_;
  bool linear_fitted_ = false;
  bool attention_fitted_ = false;
  LinearTimes linear_times_;
  double reads_of_kv_ = 1;                             // bytes read for each one kept: layers may share KV
  AttentionLayers attention_;                          // all, as if alike
  AttentionLayers full_attention_, window_attention_;  // each kind, where some layers have a window
  std::optional<LayerWork> layer_work_;                // likewise
  TokenCurve elementwise_;                             // empty: the profile has no form for them
  std::vector<ElementwiseKernel> elementwise_kernels_;
  std::vector<ElementwiseKernel> captured_kernels_;  // of them, those of a step that is captured
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
