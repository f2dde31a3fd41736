// Prompts made of retrieved chunks: documents cut into pieces of equal length, of which a query's best matches come
// before it, in an order of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "models/workload/distributions.h"

namespace kvsim::models {

/// Bounds of a SharedChunkSpec.
inline constexpr std::int64_t most_chunks = 1'000'000;
inline constexpr std::int64_t most_chunks_per_request = 10'000;

struct SharedChunkSpec {
  std::int64_t count = 1000;     ///< different chunks
  double popularity = 1;         ///< Zipf exponent, as of SharedPrefixSpec
  std::int64_t per_request = 8;  ///< different chunks of one prompt, 1 <= per_request <= count
  std::int64_t tokens = 512;     ///< of each

  /// Tokens of all chunks of one prompt.
  [[nodiscard]] std::int64_t tokens_per_request() const { return per_request * tokens; }
};

/// Problem with the specification and what was expected; empty: none.
std::string problem_with(const SharedChunkSpec& spec);

class SharedChunks {
 public:
  /// Throws schema::InputError with problem_with(spec).
  explicit SharedChunks(const SharedChunkSpec& spec);

  /// The chunks of one prompt, numbered from 0 (the most popular), all different, in the order in which they stand in
  /// it: drawn by popularity one after the other, those that were there already again. `request`-th draws: see
  /// RequestSource (a stream of its own for each request, so that more chunks a request leave other requests' first
  /// ones as they were).
  [[nodiscard]] std::vector<std::uint64_t> draw(RandomSource& random) const;

  /// Chained hashes of a prompt's chunks: equal where all chunks up to there are the same, in the same order.
  [[nodiscard]] static std::vector<std::uint64_t> chain(const std::vector<std::uint64_t>& chunks);

 private:
  [[nodiscard]] std::size_t chunk_at(double weight) const;
  [[nodiscard]] std::size_t another(const std::unordered_set<std::uint64_t>& taken, RandomSource& random) const;

  SharedChunkSpec spec_;
  std::vector<double> rest_;  ///< weight of each chunk and all after it; 0 at the end
};

}  // namespace kvsim::models
