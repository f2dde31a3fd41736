// Two pools of GPUs around a storage node, and requests that may take six ways through them (remote prefix caching):
// the question that the path LP answers, in plain symbols, and how it is written in YAML.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/paths/path.h"
#include "models/schema/object_schema.h"

namespace kvsim::planner {

// A figure for each of the two pools.

struct PerPool {
  double local = 0;
  double remote = 0;
};

// Costs of requests on nodes whose steps have been timed: the cost table beyond the printed formulas.
//
// The printed table knows bytes over bandwidths, and one KV slot for every request. A scenario knows more: steps with
// a fixed part, a verification that costs its own, compressed contexts that take part of a slot, decompression,
// messages between the pools, and rounds that end when the request does.

/// A step of a node whose requests do the work of B decoded tokens: base_s + B token_s seconds.
struct StepLine {
  double base_s = 0;
  double token_s = 0;

  [[nodiscard]] double at(double batch) const { return base_s + batch * token_s; }
};

/// A transfer from the storage node to one node.
struct LoadCost {
  double bytes = 0;
  double link_s = 0;     ///< that the link is busy
  double latency_s = 0;  ///< that it takes on top of that

  [[nodiscard]] double seconds() const { return link_s + latency_s; }
};

struct StepCosts {
  StepLine local, remote;
  double draft_work = 1;   ///< of one drafted token: what it adds to a step, in decoded tokens over the full KV
  double verify_work = 1;  ///< of one verification of x drafts, likewise

  PerPool slots;               ///< B_max of a node: requests that decode over the full KV
  double drafting_slots = 1;   ///< of a remote node, while a request drafts on what compression leaves of its KV
  double streaming_slots = 1;  ///< of a remote node, while the rest of the KV follows and after
  double verifying_slots = 1;  ///< of a local node that keeps the full KV between rounds
  double held_slots = 0;  ///< of a local node, those that requests may hold from start to end, beside which one reload
                          ///< finds room; 0: no such limit. It counts where requests take stateless paths.
  double rereading_slots = 1;  ///< of a local node that reads it anew for each round, averaged over rounds

  LoadCost local_full, local_reread;  ///< reread: averaged over rounds
  LoadCost remote_full, remote_compressed, remote_rest;
  double decompress_s = 0;  ///< of a remote node, for each request that drafts
  double reread_held = 1;   ///< lengths of a reload that its memory is held for, as far as drafting lasts that long
  double joining = 0;       ///< of a step, what a request that comes to a node waits for the one under way
  double round_trip_s = 0;  ///< of the messages of a round: drafts to the verifier, and its verdict back

  double rounds = 1;  ///< verifications of a request that is drafted from end to end, expected (expected_rounds)
  double drafts = 1;  ///< tokens drafted in them

  PerPool links;                   ///< that can be busy at once: nodes, or fewer where they share less bandwidth
  double storage_bytes_per_s = 0;  ///< of both pools' loads together; 0: no such limit
};

using models::kAllPaths;
using models::kPaths;
using models::Path;

/// Bytes and bytes per second.
struct PathSymbols {
  double M = 0;       ///< weights
  double KV = 0;      ///< full KV of one request
  double HBM = 0;     ///< memory of one GPU
  double BW_hbm = 0;  ///< its bandwidth
  double BW_h = 0;    ///< storage node to a local GPU
  double BW_l = 0;    ///< storage node to a remote GPU
};

/// GPUs, or nodes where the symbols are a node's.
struct PoolSizes {
  std::int64_t local = 0;   ///< G_L
  std::int64_t remote = 0;  ///< G_R
};

struct PathRequest {
  std::int64_t K = 1;  ///< output tokens
  double c = 1;        ///< compressed KV / full KV, in (0, 1]
  std::int64_t x = 1;  ///< draft length
};

/// How long a request that decodes a token holds its slot.
enum class Residence {
  published,  ///< T_tok, as the cost table is printed: the time per token amortised over the batch
  steps       ///< B T_tok, the step that makes the token (docs/findings.md)
};
std::string_view residence_name(Residence residence);

struct PathProblem {
  PathSymbols symbols;
  PoolSizes pools;
  PathRequest request;
  models::AcceptanceSpec acceptance;
  std::vector<Path> paths;  ///< allowed; empty: all
  Residence residence = Residence::published;
  /// Instead of the printed formulas; `symbols` then only describe. Not in the file: scenarios have it.
  std::optional<StepCosts> steps;

  [[nodiscard]] bool allows(Path path) const;
};

/// Slots per GPU: B_max = floor((HBM - M)/KV), 0 where the weights leave no room.
double slots_per_gpu(const PathSymbols& symbols);
/// Slots per GPU of each pool, or what `steps` says.
PerPool slots_per_gpu(const PathProblem& problem);

/// g = gamma(x, c) = A(x)/x, the share of drafted tokens that a verification accepts.
double accepted_share(const PathProblem& problem);

/// The file's field table. Refuses acceptance laws that need a compressor, and drafts that are never accepted.
const schema::ObjectSchema<PathProblem>& path_problem_schema();

}  // namespace kvsim::planner
