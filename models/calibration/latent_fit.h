// Rows of latent attention on their way to a fit. The fit problems are those of attention over heads
// (operator_fits.h), in the shapes of latents.
#pragma once

#include <string>
#include <vector>

#include "models/calibration/samples.h"
#include "models/kernels/forms.h"
#include "models/kernels/profile.h"

namespace kvsim::models {

/// Leaves in `samples` (all of one machine) the rows of latents that a fit may use, and returns what went, in words.
/// Of whole blocks, those in the format of `linear` stay, and what their linear layers take is worked out by it (null:
/// no block can be used). Fits of attention take bf16: of others, benchmarks of linear layers say less. Rows of
/// attention alone stay only where there are no blocks of the same phase and KV. Of each phase and KV the kernel with
/// most rows counts; prompts that ran by the kernel of decoding are rows of decoding, with as many query tokens.
std::vector<std::string> prepare_latents(Samples& samples, const LinearForm* linear, const Machine& machine);

/// Whether rows of linear layers in this format wait for their launch, so that they say little of short kernels.
[[nodiscard]] bool wait_for_launch(const std::vector<LinearSample>& rows, NumberFormat weights);

/// The rows of latents alone.
[[nodiscard]] Samples latents_of(const Samples& all);

/// Times of linear layers that blocks among `latents` imply, in formats whose own rows wait for their launch. The rest
/// of a block is by the forms of latent attention in `fitted`, which are of the kernels of `kept`'s rows (as
/// prepare_latents left them); blocks by other kernels are left out. Rows of nvfp4 are replayed as graphs: blocks are
/// another 12 to 16 % off from them, whatever a form makes of both.
[[nodiscard]] std::vector<LinearBlock> linear_blocks(const Samples& latents, const Samples& kept,
                                                     const FittedForms& fitted, const Machine& machine);

/// Both, of a machine whose forms are known (null: are not).
void prepare_by_known(Samples& samples, const FittedForms* known, const Machine& machine);

/// Seconds of the linear layers of a block of `latent_model(heads)`, repeated with nothing in between, as benchmarks
/// do.
[[nodiscard]] double block_linear_s(const LinearForm& linear, double heads, double tokens, const Machine& machine);

}  // namespace kvsim::models
