// The kernels of a forward pass that pass over activations once, and how many bytes each moves.
#pragma once

#include <optional>
#include <vector>

#include "models/kernels/forms.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models {

struct ElementwiseKernel {
  const char* name = "";
  double bytes_per_token = 0;  ///< read and written, on one GPU
  double calls = 0;            ///< per forward pass
  double before = 0;           ///< of calls, those in a layer up to its attention
  double after = 0;            ///< of calls, those in a layer behind its attention
};

/// Embedding, two norms with their residual addition, rotary embedding and gated activation a layer, final norm; bf16
/// activations. Norms run whole on every GPU, heads and the feed-forward block are sharded over `gpus`. `rotary`: the
/// rotary embedding is a kernel of its own, not a part of a latent's fitted attention. `norms`: so are the layers'
/// norms (FusedKernels).
[[nodiscard]] std::vector<ElementwiseKernel> elementwise_kernels(const LlmSpec& model, double gpus, bool rotary = true,
                                                                 bool norms = true);

// Kernels that make a compressed KV cache out of a full one, as passes over memory: scores in, the best kept; elements
// in, fewer bits out. On one GPU.

/// Choosing the k largest of each row of scores, a block of threads a row: a fixed time, and rows that go side by side
/// as far as the multiprocessors hold them.
struct TopKForm {
  double t0_s = 0;
  double per_score_s = 0;   ///< a score of one row
  double rows_at_once = 1;  ///< on a multiprocessor
  schema::Source source;

  /// Seconds for `rows` rows of `columns` scores: t0 + columns per_score max(1, rows / (rows_at_once SMs)).
  [[nodiscard]] double seconds(double rows, double columns, const Machine& machine) const;
};

/// The kernels as they were measured; those that were not pass over memory at the rate of `passes`.
struct CompressionKernels {
  ElementwiseForm passes;
  std::optional<TopKForm> top_k{};
  std::optional<ElementwiseForm> quantise{};    ///< by bytes read and written
  std::optional<ElementwiseForm> dequantise{};  ///< the same; not measured: as quantise
};

/// One context's KV on one GPU.
struct CompressionWork {
  double full_bytes = 0;  ///< before, all layers
  double kept_bytes = 0;  ///< after
  double scores = 0;      ///< one per token, layer and KV head, where tokens are dropped by score; 0: none are
  double layers = 1;
  bool quantises = false;
  double rows = 1;  ///< of a layer's scores, among each of which is chosen: KV heads
};

/// Seconds to choose the largest of each of `rows` rows a layer, `scores` 4-byte scores in all. Not measured: radix
/// selection reads them three times (histograms of the high and the low half, then the choice), one launch each and
/// layer.
[[nodiscard]] double top_k_s(const CompressionKernels& kernels, const Machine& machine, double scores, double rows,
                             double layers);
/// Seconds to copy the kept tokens' KV together: read and written once, one launch a layer.
[[nodiscard]] double gather_s(const ElementwiseForm& form, const Machine& machine, double kept_bytes, double layers);
/// Seconds to quantise: the full KV read, the narrow one written, one launch a layer.
[[nodiscard]] double quantise_s(const CompressionKernels& kernels, const Machine& machine, double full_bytes,
                                double kept_bytes, double layers);
/// Seconds to make it whole again outside attention: the same bytes the other way.
[[nodiscard]] double dequantise_s(const CompressionKernels& kernels, const Machine& machine, double full_bytes,
                                  double kept_bytes, double layers);

/// All of them that a compression needs.
[[nodiscard]] double compression_s(const CompressionKernels& kernels, const Machine& machine,
                                   const CompressionWork& work);

}  // namespace kvsim::models
