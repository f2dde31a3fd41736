// The attention kernels as functions.
#pragma once

#include <cuda_runtime.h>

#include "tools/calibrate/kernels/attention_args.h"

namespace kvsim::calibrate {

/// Puts the kernels for `args` onto a stream. `cut` is what args was made from; `bits` is 16, or
/// for at most 16 rows (query tokens times heads) for each KV head 4, 2 or 1; more throws std::invalid_argument.
void launch_attention(const AttentionArgs& args, const AttentionCut& cut, int sequences, int bits, cudaStream_t stream);

}  // namespace kvsim::calibrate
