#include "tools/calibrate/cuda/kernels.h"

#include <stdexcept>

#include "tools/calibrate/cuda/handles.h"
#include "tools/calibrate/kernels/latent_attention.h"

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

template <int kBits>
void launch_wide(const AttentionArgs& args, const AttentionCut& cut, int head_dim, dim3 grid, cudaStream_t stream) {
  switch (head_dim) {
    case 64:
      return launch<FloatFormat<kBits, 64>>(args, cut, grid, stream);
    case 128:
      return launch<FloatFormat<kBits, 128>>(args, cut, grid, stream);
    case 256:
      return launch<FloatFormat<kBits, 256>>(args, cut, grid, stream);
    default:
      throw std::invalid_argument("attention: no kernel for heads of this width");
  }
}

void launch_latent(const AttentionArgs& args, const AttentionCut& cut, dim3 grid, cudaStream_t stream) {
  if (cut.row_warps == 1) {
    latent_attention<LatentFormat, 1><<<grid, kAttentionThreads, 0, stream>>>(args);
  } else {
    latent_attention<LatentFormat, kLatentRowWarps><<<grid, kAttentionThreads, 0, stream>>>(args);
  }
  check_launch();
}

void launch_bf16(const AttentionArgs& args, const AttentionCut& cut, int head_dim, dim3 grid, cudaStream_t stream) {
  if (head_dim == kLatentKeyDim) return launch_latent(args, cut, grid, stream);
  if (head_dim == kExpandedKeyDim) {
    return launch<FloatFormat<16, kExpandedKeyDim, kExpandedValueDim>>(args, cut, grid, stream);
  }
  launch_wide<16>(args, cut, head_dim, grid, stream);
}

template <int kBits>
void launch_bits(const AttentionArgs& args, const AttentionCut& cut, bool by_channel, dim3 grid, cudaStream_t stream) {
  if (by_channel) {
    launch_decode<ChannelFormat<kBits>>(args, cut, grid, stream);
  } else {
    launch_decode<QuantisedFormat<kBits>>(args, cut, grid, stream);
  }
}

}  // namespace

void launch_attention(const AttentionArgs& args, const AttentionCut& cut, int sequences, const KvBits& kv,
                      cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(sequences * cut.tiles), static_cast<unsigned>(args.kv_heads),
                  static_cast<unsigned>(cut.chunks));
  switch (kv.bits) {
    case 4:
      launch_bits<4>(args, cut, kv.keys_by_channel, grid, stream);
      break;
    case 2:
      launch_bits<2>(args, cut, kv.keys_by_channel, grid, stream);
      break;
    case 1:
      launch_bits<1>(args, cut, kv.keys_by_channel, grid, stream);
      break;
    case 8:
      launch_wide<8>(args, cut, kv.head_dim, grid, stream);
      break;
    default:
      launch_bf16(args, cut, kv.head_dim, grid, stream);
      break;
  }
  if (cut.chunks == 1) return;
  const int rows = args.query_tokens * (args.heads / args.kv_heads);
  const dim3 all(static_cast<unsigned>(rows), static_cast<unsigned>(args.kv_heads), static_cast<unsigned>(sequences));
  combine_attention<0><<<all, static_cast<unsigned>(kv.value_dim), 0, stream>>>(args);
  check_launch();
}

}  // namespace kvsim::calibrate
