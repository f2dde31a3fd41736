#include "tools/calibrate/cuda/kernels.h"

#include <stdexcept>

#include "tools/calibrate/cuda/handles.h"
#include "tools/calibrate/kernels/attention.h"

namespace kvsim::calibrate {
namespace {

template <class Format>
void launch(const AttentionArgs& args, const AttentionCut& cut, dim3 grid, cudaStream_t stream) {
  switch (cut.row_warps) {
    case 1:
      attention<Format, 1><<<grid, kAttentionThreads, 0, stream>>>(args);
      break;
    case 2:
      attention<Format, 2><<<grid, kAttentionThreads, 0, stream>>>(args);
      break;
    default:
      attention<Format, 4><<<grid, kAttentionThreads, 0, stream>>>(args);
      break;
  }
  check_launch();
}

/// Compressed KV is what drafts read: few rows.
template <class Format>
void launch_decode(const AttentionArgs& args, const AttentionCut& cut, dim3 grid, cudaStream_t stream) {
  if (cut.row_warps != 1) throw std::invalid_argument("quantised attention: more than 16 rows for a KV head");
  attention<Format, 1><<<grid, kAttentionThreads, 0, stream>>>(args);
  check_launch();
}

}  // namespace

void launch_attention(const AttentionArgs& args, const AttentionCut& cut, int sequences, int bits,
                      cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(sequences * cut.tiles), static_cast<unsigned>(args.kv_heads),
                  static_cast<unsigned>(cut.chunks));
  switch (bits) {
    case 4:
      launch_decode<QuantisedFormat<4>>(args, cut, grid, stream);
      break;
    case 2:
      launch_decode<QuantisedFormat<2>>(args, cut, grid, stream);
      break;
    case 1:
      launch_decode<QuantisedFormat<1>>(args, cut, grid, stream);
      break;
    default:
      launch<Bf16Format>(args, cut, grid, stream);
      break;
  }
  if (cut.chunks == 1) return;
  const int rows = args.query_tokens * (args.heads / args.kv_heads);
  const dim3 all(static_cast<unsigned>(rows), static_cast<unsigned>(args.kv_heads), static_cast<unsigned>(sequences));
  combine_attention<0><<<all, kHeadDim, 0, stream>>>(args);
  check_launch();
}

}  // namespace kvsim::calibrate
