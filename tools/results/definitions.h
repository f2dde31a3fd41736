// What the figures of a result mean, repeated in every result.
#pragma once

#include "tools/results/outcome.h"
#include "tools/results/section.h"

namespace kvsim::results {

/// Sentences by word or key, those that this result has.
Json definitions_of(const Outcome& outcome);

}  // namespace kvsim::results
