// What becomes of a replica's GPU memory, from its weights to KV that was never reserved. Internal to the result
// document.
#pragma once

#include "tools/results/result_document.h"

namespace kvsim::results {

/// Bytes of one replica, all its GPUs together: the parts of its GPU memory, and what of the KV capacity was reserved.
/// Precondition: replicas, not pools.
Section memory_section(Section s, const Outcome& outcome);

}  // namespace kvsim::results
