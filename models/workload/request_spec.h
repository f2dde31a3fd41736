// What a workload produces: requests with an arrival time and two lengths, whoever made them.
#pragma once

#include <cstdint>
#include <vector>

namespace kvsim::models {

struct RequestSpec {
  std::uint64_t id = 0;                      ///< position in the workload, from 0
  std::int64_t arrival_ns = 0;               ///< since the start of the workload
  std::int64_t prompt_tokens = 0;            ///< >= 1
  std::int64_t output_tokens = 0;            ///< >= 1
  std::vector<std::uint64_t> prefix_blocks;  ///< chained block hashes where the workload has them, else empty
  std::int64_t context = -1;                 ///< shared prefix that the prompt begins with, numbered from 0; -1: none
  std::int64_t context_tokens = 0;           ///< of that prefix
  std::vector<std::uint64_t> chunks{};       ///< shared chunks that the prompt begins with, numbered from 0, in order
  std::int64_t chunk_tokens = 0;             ///< of each of them
};

}  // namespace kvsim::models
