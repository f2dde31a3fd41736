// Costs of one request on each path: the table of the path LP.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "planner/paths/path_problem.h"

namespace kvsim::planner {

/// The rows of the LP. net: seconds of the pool's link; gpu: seconds of a GPU; mem: seconds of a KV slot. storage:
/// bytes that the storage node sends to both pools; local_held: seconds of a local slot held from start to end, beside
/// which room for reloads is kept. Rows that only PathProblem::steps may have.
enum class Resource { local_net, local_gpu, local_mem, remote_net, remote_gpu, remote_mem, storage, local_held };
inline constexpr std::size_t kResources = 8;
inline constexpr std::array<Resource, kResources> kAllResources{
    Resource::local_net,  Resource::local_gpu,  Resource::local_mem, Resource::remote_net,
    Resource::remote_gpu, Resource::remote_mem, Resource::storage,   Resource::local_held};
std::string_view resource_name(Resource resource);

/// Requests per second by path.
using PathRates = std::array<double, kPaths>;
/// One figure per row of the LP.
using ResourceFigures = std::array<double, kResources>;
/// Seconds of each resource that one request on each path takes.
using PathCosts = std::array<ResourceFigures, kPaths>;

/// The table at given batches per GPU, 1 <= B <= B_max (any real number). With PathProblem::steps, that of
/// step_table(), where B is the work in a step.
///
/// It prints one T_tok, and each pool has its own batch. Here a token's time is that of the pool whose GPU makes it:
/// verification is the local pool's, drafting the remote pool's, also where a local slot waits for drafts.
PathCosts path_costs(const PathProblem& problem, const PerPool& batch);

/// Right-hand sides: G for net and gpu, G B_max for mem; 0 for storage and local_held where they do not count.
ResourceFigures path_limits(const PathProblem& problem);

/// sum over paths of cost x rate.
ResourceFigures resource_use(const PathCosts& costs, const PathRates& n);

/// Drafting rounds and times of the table, for tests and explanations.
struct PathTimes {
  PerPool T_tok;   ///< (M/B + KV)/BW_hbm: GPU time of one token
  PerPool T_slot;  ///< what a request waits for it: T_tok as published, B T_tok by steps
  double T_h = 0, T_l = 0, T_lc = 0, T_rem = 0;
  double g = 0;  ///< gamma(x, c)
  double N1 = 0, Nd = 0, N2 = 0, K2 = 0;
};
PathTimes path_times(const PathProblem& problem, const PerPool& batch);

// How many rounds of drafting and verifying a request takes, and how many tokens it drafts in them.

struct ExpectedRounds {
  double rounds = 0;
  double drafts = 0;
};

/// Expected rounds of a request of K output tokens that drafts min(x, what is left) tokens a round. A round yields the
/// accepted ones and one more, from the verifier. A renewal recursion over the tokens left, R(k) = 1 + sum_i P(i
/// accepted) R(k - i - 1), exact for independent rounds; beyond 65,536 tokens extrapolated with its last slope.
/// Preconditions: K >= 1, x >= 1, and `acceptance` reaches to x.
ExpectedRounds expected_rounds(const models::AcceptanceModel& acceptance, std::int64_t x, std::int64_t K);

/// Averaged over requests of these numbers of output tokens, rounded and at least 1. Precondition: there are some.
ExpectedRounds expected_rounds(const models::AcceptanceModel& acceptance, std::int64_t x,
                               const std::vector<double>& outputs);

// The cost table of PathProblem::steps.
//
// B is the work in a step, in decoded tokens: a step takes s(B) = base + B token. A request that adds work w to it
// takes the share w/B of the GPU's time and waits for all of it; w alone where w > B. So the row of GPU time says that
// the steps assumed, s(B), are long enough for the work in them, and any rates that meet the rows can be had
// (path_plan.h).
//
// A round of P1 and P2 drafts (each token a step of the remote node), sends the drafts, is verified in one step of the
// local node, and gets its verdict back. Where the full KV is reread for each round, that begins with the drafting and
// hides behind it. Both nodes' slots are held from the first load on; stateless verification holds its own for its
// reload alone, and until it is verified.

/// Preconditions: problem.steps is there, batch >= 1 in both pools.
PathCosts step_table(const PathProblem& problem, const PerPool& batch);

/// T_tok: s(B)/B; T_slot: s(B). N1 and N2 are expected numbers of rounds, without a ceiling.
PathTimes step_times(const PathProblem& problem, const PerPool& batch);

}  // namespace kvsim::planner
