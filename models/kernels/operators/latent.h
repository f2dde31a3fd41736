// Attention over latents (MLA): requests absorb the up projections, long chunks expand the latent.
#pragma once

#include <optional>

#include "models/kernels/operators/decode.h"
#include "models/kernels/token_curve.h"

namespace kvsim::models {

class LatentAttention {
 public:
  /// `absorbed`: the launch of decode attention, whose machine it is for; `expanded`: the form of expanded chunks.
  LatentAttention(const KernelProfile& profile, const LlmSpec& model, const DecodeLaunch& absorbed,
                  const TiledForm& expanded, double gpus, CurveGrid grid);

  /// Seconds of one layer.
  [[nodiscard]] SplitTime time(const StepWork& work, KnownLengths* known) const;

 private:
  [[nodiscard]] DecodeCall absorbed_call(const AttentionWork& work) const;
  [[nodiscard]] double absorbed_s(const AttentionWork& work) const;
  [[nodiscard]] double expanded_s(const PrefillChunk& chunk) const;
  /// Just above the length from which on chunks are expanded.
  [[nodiscard]] bool near_switch(const PrefillChunk& chunk) const;
  /// Times what expanding a chunk takes alone is compared: with the chunks that are absorbed by their length, and with
  /// absorbing it where both ways are open.
  struct Margins {
    double beyond = 1, selecting = 1;
  };
  [[nodiscard]] std::optional<AttentionWork> absorbed_part(const PrefillChunk& chunk, const Margins& margins) const;
  /// The chunks of a latent layer.
  struct ChunkTimes {
    FormTime absorbed, expanded;
    double expansion_s = 0;  ///< of what is cached of those that are expanded
    [[nodiscard]] double seconds() const { return absorbed.seconds + expanded.seconds + expansion_s; }
  };
  [[nodiscard]] ChunkTimes chunk_times(const StepWork& work, const Margins& margins) const;
  [[nodiscard]] ChunkTimes chunk_times(const StepWork& work) const;

  DecodeLaunch absorbed_;
  TiledForm form_;         // of expanded chunks
  HeadShape chunk_shape_;  // likewise
  TokenCurve expansion_;   // keys and values of every head out of so many tokens of context, a layer
};

}  // namespace kvsim::models
