// Path problems for tests: the published set-up, one for arithmetic by hand, and any at all.
#pragma once

#include <cstddef>
#include <random>

#include "planner/paths/path_problem.h"

namespace kvsim::planner::testing {

/// 1 local and 4 remote nodes of 2 x H100 NVL (94 GB and 3.9 TB/s each), Llama-70B (141 GB) with contexts of about 31k
/// tokens (10 GB), 40 GB/s and 1.2 GB/s, KIVI 4 bit (c = 0.27), x = 40. K = 512 and an agreement of 0.98 are assumed.
PathProblem published_set_up();

/// Round numbers: T_tok(B) = 8/B + 2 ms, 4 slots per GPU, g = 0.8, K = 100, x = 2, c = 0.25; links of 20 and 4 GB/s.
PathProblem by_hand();

/// Steps of 20 ms and 1 ms per token, 10 slots per node, one local and two remote nodes; K = 60, x = 8, g = 0.75, in 10
/// rounds of 8 drafts.
PathProblem steps_by_hand();

/// `count` machines, pools and requests of plausible sizes, always the same ones for the same seed. A tenth of them
/// under sanitizers: CLP gets blocks of memory for each solution that their allocator maps anew, at 30 times the cost.
std::vector<PathProblem> many_problems(std::size_t count, std::uint64_t seed);

}  // namespace kvsim::planner::testing
