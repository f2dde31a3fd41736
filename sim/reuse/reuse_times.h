// Times of putting a prompt together on GPUs, on its own: the simulation adds up the same figures.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/kernels/step_time.h"
#include "sim/serving/config.h"
#include "sim/serving/kv_geometry.h"

namespace kvsim::reuse {

class ReuseTimes {
 public:
  /// `config.reuse` is there, and all instances are alike. The configuration outlives this.
  explicit ReuseTimes(const serving::ServingConfig& config);
  explicit ReuseTimes(serving::ServingConfig&&) = delete;

  /// The small model reads a prompt of so many tokens of the model that answers, in one pass: all layers, no logits.
  [[nodiscard]] double score_s(std::int64_t tokens) const;
  /// Time for parts of prompts in one pass, on the GPUs that it has.
  [[nodiscard]] double scoring_s(std::span<const models::PrefillChunk> chunks) const;
  /// Its tokens for so many of the model that answers.
  [[nodiscard]] std::int64_t small_tokens(std::int64_t tokens) const;
  /// CPU time to choose spans in a prompt of so many tokens of the model that answers, and to align them.
  [[nodiscard]] double align_s(std::int64_t tokens) const;
  /// Bytes of the small model's KV of a prompt on the replica's GPUs.
  [[nodiscard]] std::int64_t scoring_bytes(std::int64_t tokens) const;

  /// Prefill of `tokens` tokens after `before`, in one pass, without logits.
  [[nodiscard]] double prefill_s(std::int64_t tokens, double before) const;
  /// One layer of a prompt of `tokens` tokens, for those that are not among `rows` (CacheBlend's first layer).
  [[nodiscard]] double first_layer_s(std::int64_t tokens, std::int64_t rows, double before) const;
  /// The keys of so many stored tokens are rotated to their places: read, written.
  [[nodiscard]] double recover_s(std::int64_t tokens) const;

  /// Kernels that had to be replaced to time the small model, beyond what the large one's kernels lack, too.
  [[nodiscard]] std::vector<std::string> small_fallbacks() const;

 private:
  const serving::ServingConfig& config_;
  const serving::GroupConfig& group_;
  serving::KvGeometry geometry_;
  models::StepTimer timer_;
  std::optional<models::StepTimer> small_;  // selective
};

/// KV tokens that the first of `rows` rows at places with this sum attends to beside itself, as PromptAssembly::before
/// counts them, in a prompt of `tokens` tokens.
[[nodiscard]] double rows_before(models::RowAttention attention, std::int64_t tokens, std::int64_t rows,
                                 double positions);

// Memory needs where a small model scores prompts.

/// Whether a small model is asked which tokens are recomputed: not where none, or all, are.
[[nodiscard]] bool chooses_tokens(const models::ReuseSpec& spec);

/// Bytes of a GPU of the small model's own for its weights and its KV of one prompt.
[[nodiscard]] std::int64_t scorer_memory(const serving::ServingConfig& config);

/// Why the small model could never score a prompt of so many tokens, of a request that gives `output` more, beside
/// `kv_bytes` of KV memory of a replica; or an empty string, also where nobody scores. `times` are the configuration's.
[[nodiscard]] std::string scoring_problem(const serving::ServingConfig& config, const ReuseTimes& times,
                                          std::int64_t prompt, std::int64_t output, std::int64_t kv_bytes);

}  // namespace kvsim::reuse
