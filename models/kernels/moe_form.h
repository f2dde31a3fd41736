// The routed experts of one layer on one GPU: choice of experts, grouped products, sum over a token's experts.
#pragma once

#include <cstdint>
#include <vector>

#include "models/kernels/forms.h"

namespace kvsim::models {

/// Experts that as many tokens each were sent to.
struct ExpertGroup {
  double experts = 0;
  double tokens = 0;  ///< of each, above 0
};

/// One layer's experts, which GPUs share them, and how tokens choose among them.
struct ExpertLayer {
  double hidden = 0;
  double intermediate = 0;  ///< of one expert, whole
  double top_k = 1;
  double experts = 1;          ///< of all GPUs
  double tensor_parallel = 1;  ///< GPUs that hold a part of each expert
  double expert_parallel = 1;  ///< GPUs that hold whole experts, an even share of them each
  bool gated = true;           ///< three matrices an expert (gate, up, down), else two
};

// Where the tokens of a layer go. All give the experts of one GPU that some token reaches.

/// Tokens spread over the experts one after the other, as benchmarks do.
[[nodiscard]] std::vector<ExpertGroup> routed_evenly(const ExpertLayer& layer, double tokens);
/// Every token chooses at random, all experts alike: experts (1 - (1 - top_k / experts)^tokens) of them are reached,
/// and their tokens spread as a Poisson distribution does (three points with its mean and variance).
[[nodiscard]] std::vector<ExpertGroup> routed_at_random(const ExpertLayer& layer, double tokens);
/// Groups of the GPU of an expert-parallel group with the most tokens: its share beyond the mean is `imbalance`, and
/// what chance does to as many GPUs alike (largest_of_normal() times the deviation of a hypergeometric share).
[[nodiscard]] std::vector<ExpertGroup> routed_at_random_to_fullest(const ExpertLayer& layer, double tokens,
                                                                   double imbalance);
/// Experts with weights of a power law x^-alpha, x from 1 to 0.8 tokens (0.01 to 2 for fewer pairs than experts), on
/// the GPU of an expert-parallel group that has the most tokens: as aiconfigurator's benchmark draws them
/// (collector/vllm/collect_moe.py). The mean of a number of draws, always the same ones. alpha != 1.
[[nodiscard]] std::vector<ExpertGroup> routed_by_power_law(const ExpertLayer& layer, double tokens, double alpha);

/// Expected largest of `n` independent standard normal figures, n >= 1: what chance does to the fullest of as many.
[[nodiscard]] double largest_of_normal(std::int64_t n);

/// One call on one GPU.
struct MoeCall {
  ExpertLayer layer;
  double tokens = 0;                ///< whose hidden states this GPU reads
  std::vector<ExpertGroup> routed;  ///< what of its experts is reached

  [[nodiscard]] double reached() const;  ///< experts
  [[nodiscard]] double pairs() const;    ///< of a token and an expert
};

/// t = t0 + per_expert experts + blend(weights of the experts reached / their rate, arithmetic in tiles) + activations
/// / (io BW). Rows of an expert fill whole tiles; a tile takes 2 rows columns (k + k0) / (its efficiency x peak /
/// multiprocessors), in waves as LinearForm has them, both products; the library takes the tile that is fastest.
/// Activations are the tokens' hidden states in and out and, for every pair, the inner states and the output.
struct MoeForm {
  NumberFormat weights = NumberFormat::bf16;
  double t0_s = 0;
  double per_expert_s = 0;    ///< of this GPU, reached or not: sorting tokens, empty groups
  double per_doubling_s = 0;  ///< per doubling of 1 + tokens
  double foreign_share = 0;   ///< of the activations of a pair whose expert is on another GPU, what costs here too
  double tile_overhead_k = 0;
  double wave_quantisation = 1;
  double blend_power = 4;
  double io_efficiency = 1;  ///< of the peak memory bandwidth, for activations
  CachedStream stream;       ///< weights
  std::vector<GemmTile> tiles;
  double valid_to = 0;  ///< most tokens that were fitted; 0: not stated
  schema::Source source;
  std::optional<FormError> error{};

  /// Seconds of one call; the machine's multiprocessors must be known. `warm`: the weights were read just before
  /// (benchmarks that repeat one layer); a serving step reads other layers' in between.
  [[nodiscard]] FormTime time(const MoeCall& call, const Machine& machine, bool warm) const;
};

}  // namespace kvsim::models
