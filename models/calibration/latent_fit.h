// Rows of latent attention on their way to a fit. The fit problems are those of attention over heads
// (operator_fits.h), in the shapes of latents.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/samples.h"
#include "models/kernels/forms.h"

namespace kvsim::models {

/// Leaves in `samples` (all of one machine) the rows of latents that a fit may use, and returns what went, in words.
/// Of whole blocks, what their linear layers take is worked out by `linear` (bf16; null: no block can be used). Blocks
/// with narrower projections go: of those, benchmarks of linear layers say less. Rows of attention alone stay only
/// where there are no blocks of the same phase and KV. Of each phase and KV the kernel with most rows counts; prompts
/// that ran by the kernel of decoding are rows of decoding, with as many query tokens.
std::vector<std::string> prepare_latents(Samples& samples, const LinearForm* linear, const Machine& machine);

/// Seconds of the linear layers of a block of `latent_model(heads)`, repeated with nothing in between, as benchmarks
/// do.
[[nodiscard]] double block_linear_s(const LinearForm& linear, double heads, double tokens, const Machine& machine);

}  // namespace kvsim::models
