// Whether the output of a run is that of full-KV decoding, whatever happens in it.
#pragma once

#include "sim/scenario/scenario.h"

namespace kvsim::results {

/// Neither the decode policy nor placement nor prefill can make a request's output another: full KV decides every
/// token, what is stored of prompts is stored whole, and chunks are not put together.
[[nodiscard]] bool lossless(const scenario::Scenario& scenario);

/// Whether what is stored of prompts, if anything, is stored whole.
[[nodiscard]] bool stores_whole(const scenario::Scenario& scenario);

}  // namespace kvsim::results
