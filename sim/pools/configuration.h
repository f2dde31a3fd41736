// Remote prefix caching: a small local pool of nodes on a fast link and a larger remote pool on a slow one, around a
// storage node that holds contexts' KV (VeriCache, section 4.2.2). Requests take one of six
// paths (models/paths); a dispatcher chooses which, and on which nodes.
#pragma once

#include <vector>

#include "sim/serving/config.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::pools {

/// Whether there are paths for requests of this decode policy at all: drafts where the full KV is have none.
[[nodiscard]] inline bool has_paths(const serving::DecodePolicy& decode) {
  return !decode.keeps_full;
}

/// Whether the path LP knows its requests: they decode with full KV that is on nodes, or draft and are verified against
/// it, and have no auxiliary drafter.
[[nodiscard]] inline bool has_path_plans(const serving::DecodePolicy& decode) {
  return decode.lossless() && !decode.drafter && !decode.fetches();
}

/// The paths that requests can take: allowed, with nodes to take them, and with a use for them.
std::vector<models::Path> usable_paths(const serving::ServingConfig& config);

}  // namespace kvsim::pools
