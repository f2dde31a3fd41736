// How a prompt made of chunks is put together, from what of it is stored: simulation and plan add up the same parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/reuse/importance_signal.h"
#include "models/reuse/rag_task.h"
#include "sim/reuse/reuse_times.h"
#include "sim/serving/config.h"
#include "sim/serving/request.h"

namespace kvsim::reuse {

// Which tokens of a prompt's chunks are recomputed over the whole prompt, by each method.

using ScoredPrompts = std::shared_ptr<const std::vector<models::ScoredPrompt>>;

struct ChunkRows {
  std::int64_t count = 0;
  double positions = 0;  ///< sum of their places in the prompt, from 0
};

class ChunkRowCounter {
 public:
  /// `spec` outlives the counter. `prompts`: of a file of importances; null where they are generated.
  ChunkRowCounter(const models::ReuseSpec& spec, ScoredPrompts prompts, std::uint64_t seed);

  /// For the request with this number, whose prompt begins with so many chunks.
  [[nodiscard]] ChunkRows rows(std::uint64_t request, std::int64_t chunks, std::int64_t chunk_tokens) const;

 private:
  [[nodiscard]] ChunkRows selected(std::uint64_t request, std::int64_t tokens) const;
  [[nodiscard]] models::ScoredPrompt generated(std::size_t signal, std::int64_t tokens) const;
  [[nodiscard]] ChunkRows choose(const models::ScoredPrompt& prompt, std::int64_t tokens) const;

  const models::ReuseSpec& spec_;
  ScoredPrompts prompts_;
  std::uint64_t seed_;
  mutable std::map<std::pair<std::size_t, std::int64_t>, ChunkRows> known_;  // by signal and tokens
};

/// Share of a chunk's tokens that is recomputed, on which quality depends (models::relative_score).
[[nodiscard]] double computed_share(const models::ReuseSpec& spec, std::int64_t chunk_tokens);

/// Mean score of a task over prompts of so many chunks, under the configuration's prefill policy / that with all of the
/// prompt computed; 1 where prompts are not put together, or are of one chunk: that is where it was when it was stored,
/// before everything else.
[[nodiscard]] double relative_score(const serving::ServingConfig& config, const models::RagTask& task,
                                    std::int64_t chunks);
/// Mean over its tasks; 1 without tasks.
[[nodiscard]] double mean_relative_score(const serving::ServingConfig& config, std::int64_t chunks);

struct ChunkPrompt {
  std::int64_t chunks = 0;        ///< with which it begins
  std::int64_t chunk_tokens = 0;  ///< of each
  std::int64_t prompt = 0;        ///< tokens of the prompt
  std::int64_t target = 0;        ///< tokens whose KV must exist: the prompt, and what was generated before
  std::int64_t stored = 0;        ///< tokens of chunks that are stored
  std::int64_t dropped = 0;       ///< of these, without KV
  std::int64_t moved = 0;         ///< tokens of stored chunks that are not where they were when they were stored
  ChunkRows rows;                 ///< of chunks, recomputed
  double first_layer_s = 0;       ///< first_layer_of(), which depends on nothing that is stored
};

/// GPU time of one layer of the tokens that are not among a prompt's rows; 0 but for CacheBlend.
[[nodiscard]] double first_layer_of(const models::ReuseSpec& spec, const ReuseTimes& times, const ChunkPrompt& prompt);

[[nodiscard]] serving::PromptAssembly assembly_of(const models::ReuseSpec& spec, const ReuseTimes& times,
                                                  const ChunkPrompt& prompt);

}  // namespace kvsim::reuse
