// How a prompt made of chunks is put together, from what of it is stored: simulation and plan add up the same parts.
#pragma once

#include <cstdint>

#include "models/reuse/reuse_spec.h"
#include "sim/reuse/chunk_rows.h"
#include "sim/reuse/reuse_times.h"
#include "sim/serving/config.h"
#include "sim/serving/request.h"

namespace kvsim::reuse {

/// Whether somebody has to be asked which tokens are computed again: not where none, or all, are.
[[nodiscard]] bool chooses_tokens(const models::ReuseSpec& spec);

/// Share of a chunk's tokens that is computed again, on which quality depends (models::relative_score).
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
  ChunkRows rows;                 ///< of chunks, computed again
  double first_layer_s = 0;       ///< first_layer_of(), which depends on nothing that is stored
};

/// GPU time of one layer of the tokens that are not among a prompt's rows; 0 but for CacheBlend.
[[nodiscard]] double first_layer_of(const models::ReuseSpec& spec, const ReuseTimes& times, const ChunkPrompt& prompt);

[[nodiscard]] serving::PromptAssembly assembly_of(const models::ReuseSpec& spec, const ReuseTimes& times,
                                                  const ChunkPrompt& prompt);

}  // namespace kvsim::reuse
