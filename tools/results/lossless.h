// Whether the output of a run is that of full-KV decoding, whatever happens in it.
#pragma once

#include "sim/scenario/scenario.h"

namespace kvsim::results {

/// Neither the decode policy nor placement can make a request's output another: full KV decides every token, and what
/// is stored of prompts is stored whole.
[[nodiscard]] bool lossless(const scenario::Scenario& scenario);

}  // namespace kvsim::results
