// What requests cost on nodes whose steps have been timed: the cost table beyond the printed formulas.
//
// The printed table knows bytes over bandwidths, and one KV slot for every request. A scenario knows more: steps with
// a fixed part, a verification that costs its own, compressed contexts that take part of a slot, decompression,
// messages between the pools, and rounds that end when the request does.
#pragma once

#include "planner/paths/per_pool.h"

namespace kvsim::planner {

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

  double rounds = 1;  ///< verifications of a request that is drafted from end to end, expected (expected_rounds.h)
  double drafts = 1;  ///< tokens drafted in them

  PerPool links;                   ///< that can be busy at once: nodes, or fewer where they share less bandwidth
  double storage_bytes_per_s = 0;  ///< of both pools' loads together; 0: no such limit
};

}  // namespace kvsim::planner
