#include "sim/cache/prompt_parts.h"

#include <algorithm>

namespace kvsim::cache {

std::vector<PromptPart> prompt_parts(const models::RequestSpec& spec, models::Granularity granularity,
                                     std::int64_t block_tokens) {
  std::vector<PromptPart> parts;
  if (granularity == models::Granularity::contexts) {
    if (spec.context >= 0 && spec.context_tokens > 0) {
      parts.push_back({static_cast<std::uint64_t>(spec.context), std::min(spec.context_tokens, spec.prompt_tokens)});
    }
    return parts;
  }
  if (granularity == models::Granularity::chunks) {
    for (const std::uint64_t chunk : spec.chunks) parts.push_back({chunk, spec.chunk_tokens});
    return parts;
  }
  std::int64_t begin = 0;
  for (const std::uint64_t hash : spec.prefix_blocks) {
    const std::int64_t tokens = std::min(block_tokens, spec.prompt_tokens - begin);
    if (tokens <= 0) break;
    parts.push_back({hash, tokens});
    begin += tokens;
  }
  return parts;
}

}  // namespace kvsim::cache
