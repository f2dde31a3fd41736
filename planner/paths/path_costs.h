// What one request costs on each path: the table of the path LP.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

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
/// step_table.h, where B is the work in a step.
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

// One request alone between two pools: how long it takes, in closed form.

struct RequestTime {
  double load_s = 0;   ///< until the node that makes the tokens can begin
  double rounds = 0;   ///< drafted and verified; 0 on B1 and B2
  double cycle_s = 0;  ///< of one round, on average
  double total_s = 0;
};

/// As printed: T_req = c KV/BW_l + K/(x g) T_cycle, T_cycle = max(x T_decode, KV/BW_h) + T_fwd(x). Loads are bytes over
/// bandwidth, T_decode and T_fwd the steps of PathProblem::steps with nothing else in them. Precondition:
/// problem.steps, best drawn through StepsOf::one_request.
RequestTime request_time_as_printed(const PathProblem& problem);

/// What a request alone really waits for: set-up and latency of loads, decompression, the messages of each round,
/// rounds that yield A(x) + 1 tokens and end with the request, and a full KV that cached verification loads once. On P2
/// all of it until the rest of the KV has arrived, then steps over the full KV; where that is before a first
/// verification could begin, the remote node verifies instead. Precondition as above.
RequestTime request_time(const PathProblem& problem, Path path);

}  // namespace kvsim::planner
