#include "models/workload/shared_chunks.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "models/workload/shared_prefixes.h"

namespace kvsim::models {
namespace {

/// Draws without success, one after the other, after which the chunks that are left are looked at one by one. The law
/// is the same, and no draw waits for a chunk that a steep law hardly ever draws.
constexpr int most_in_vain = 16;

}  // namespace

std::string problem_with(const SharedChunkSpec& spec) {
  if (spec.count < 1 || spec.count > most_chunks) {
    return fmt::format("count is {}, expected 1 to {} chunks", spec.count, most_chunks);
  }
  if (!(spec.popularity >= 0 && spec.popularity <= kSteepestPopularity)) {
    return fmt::format("popularity is {}, expected 0 to {}", spec.popularity, kSteepestPopularity);
  }
  if (spec.per_request < 1 || spec.per_request > most_chunks_per_request) {
    return fmt::format("per_request is {}, expected 1 to {} chunks", spec.per_request, most_chunks_per_request);
  }
  if (spec.per_request > spec.count) {
    return fmt::format("per_request is {}, expected at most {} (count): a prompt has no chunk twice", spec.per_request,
                       spec.count);
  }
  if (spec.tokens < 1 || spec.tokens >= max_request_tokens) {
    return fmt::format("tokens is {}, expected 1 to {}", spec.tokens, max_request_tokens - 1);
  }
  if (spec.tokens_per_request() >= max_request_tokens) {
    return fmt::format("per_request is {} chunks of {} tokens, {} together, expected fewer than {}", spec.per_request,
                       spec.tokens, spec.tokens_per_request(), max_request_tokens);
  }
  return {};
}

SharedChunks::SharedChunks(const SharedChunkSpec& spec) : spec_(spec) {
  if (const std::string problem = problem_with(spec); !problem.empty()) throw schema::InputError(problem);
  const auto count = static_cast<std::size_t>(spec.count);
  rest_.assign(count + 1, 0);
  // From the least popular one, so that its weight is not lost beside the others'.
  for (std::size_t i = count; i-- > 0;) {
    rest_[i] = rest_[i + 1] + zipf_weight(static_cast<double>(i + 1), spec.popularity);
  }
}

/// The last chunk that has this weight, above 0, with all after it.
std::size_t SharedChunks::chunk_at(double weight) const {
  const auto below = std::lower_bound(rest_.begin(), rest_.end(), weight, std::greater_equal<>());
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(below - rest_.begin() - 1, 0));
}

/// One of those that are not taken, by popularity.
std::size_t SharedChunks::another(const std::unordered_set<std::uint64_t>& taken, RandomSource& random) const {
  const std::size_t end = *std::max_element(taken.begin(), taken.end()) + 1;  // none is taken from here on
  double left = rest_[end];
  for (std::size_t i = 0; i < end; ++i) {
    if (!taken.contains(i)) left += rest_[i] - rest_[i + 1];
  }
  double at = random.uniform_open() * left;
  if (at <= rest_[end]) return chunk_at(at);
  at -= rest_[end];
  std::size_t last = 0;
  for (std::size_t i = 0; i < end; ++i) {
    if (taken.contains(i)) continue;
    last = i;
    at -= rest_[i] - rest_[i + 1];
    if (at <= 0) break;  // else, after the last one: rounding
  }
  return last;
}

std::vector<std::uint64_t> SharedChunks::draw(RandomSource& random) const {
  const auto wanted = static_cast<std::size_t>(spec_.per_request);
  std::vector<std::uint64_t> chunks;
  chunks.reserve(wanted);
  std::unordered_set<std::uint64_t> taken;
  for (int in_vain = 0; chunks.size() < wanted;) {
    const bool patient = in_vain < most_in_vain;
    const std::size_t chunk = patient ? chunk_at(random.uniform_open() * rest_.front()) : another(taken, random);
    if (taken.insert(chunk).second) {
      chunks.push_back(chunk);
      in_vain = 0;
    } else {
      ++in_vain;
    }
  }
  return chunks;
}

std::vector<std::uint64_t> SharedChunks::chain(const std::vector<std::uint64_t>& chunks) {
  std::vector<std::uint64_t> hashes;
  hashes.reserve(chunks.size());
  std::uint64_t hash = 0;
  for (const std::uint64_t chunk : chunks) hashes.push_back(hash = mixed_hash(hash ^ mixed_hash(chunk)));
  return hashes;
}

}  // namespace kvsim::models
