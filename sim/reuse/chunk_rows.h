// Which tokens of a prompt's chunks are computed again over the whole prompt, by each method.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "models/reuse/importance_signal.h"
#include "models/reuse/reuse_spec.h"

namespace kvsim::reuse {

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

}  // namespace kvsim::reuse
