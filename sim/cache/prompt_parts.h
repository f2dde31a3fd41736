// What a prompt is made of as stored objects: the context it shares, or a chain of blocks, or chunks of their own.
#pragma once

#include <cstdint>
#include <vector>

#include "models/placement/placement_spec.h"
#include "models/workload/request_spec.h"

namespace kvsim::cache {

struct PromptPart {
  std::uint64_t key = 0;
  std::int64_t tokens = 0;
};

/// In order, the first `tokens` of them each begin where the one before ends. Nothing for a prompt that shares nothing.
/// `block_tokens`: of RequestSpec::prefix_blocks.
std::vector<PromptPart> prompt_parts(const models::RequestSpec& spec, models::Granularity granularity,
                                     std::int64_t block_tokens);

}  // namespace kvsim::cache
