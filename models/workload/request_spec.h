// A request of a workload, whoever made it: an arrival time and two lengths.
#pragma once

#include <cstdint>
#include <vector>

namespace kvsim::models {

struct RequestSpec {
  std::uint64_t id = 0;                      ///< position in the workload, from 0
  std::int64_t arrival_ns = 0;               ///< since the start of the workload
  std::int64_t prompt_tokens = 0;            ///< >= 1
  std::int64_t output_tokens = 0;            ///< >= 1
  std::vector<std::uint64_t> prefix_blocks;  ///< chained block hashes where the workload has them, else empty; beyond
                                             ///< the prompt they are the answer's
  std::int64_t context = -1;                 ///< shared prefix that the prompt begins with, numbered from 0; -1: none
  std::int64_t context_tokens = 0;           ///< of that prefix
  std::vector<std::uint64_t> chunks{};       ///< shared chunks that the prompt begins with, numbered from 0, in order
  std::int64_t chunk_tokens = 0;             ///< of each of them
  std::int32_t session = -1;                 ///< that it belongs to, numbered from 0 as they begin; -1: none
  std::int32_t turn = 0;                     ///< of that session, from 1; 0 without one
  std::int64_t think_ns = -1;                ///< from the end of the turn before to its arrival; -1: not recorded
  std::uint32_t kind = 0;                    ///< of GeneratedWorkload::classes
  std::int32_t parent = -1;                  ///< session whose turn began this one, as a sub-agent's; -1: none
};

}  // namespace kvsim::models
