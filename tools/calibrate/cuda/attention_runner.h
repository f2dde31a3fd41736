// Sets up, checks and times one attention shape after another.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tools/calibrate/cuda/kernels.h"
#include "tools/calibrate/cuda/session.h"
#include "tools/calibrate/host/plan.h"

namespace kvsim::calibrate {

/// The cut for a device: four blocks for each multiprocessor.
AttentionCut cut_for(const cudaDeviceProp& device, int rows, int kv_heads, int sequences, int longest,
                     int most_row_warps = kAttentionWarps);

/// log2(e) / sqrt(elements of a key).
float attention_scale(int head_dim = kHeadDim);

/// Pools of random KV that grow with what is asked of them.
class RandomPools {
 public:
  RandomPools(const Session& session, std::uint64_t seed) : session_(session), seed_(seed) {}
  /// Whether the case's keys, values and their scales fit; then they are there.
  bool prepare(const AttentionCase& c);
  [[nodiscard]] KvPools pools() const;
  [[nodiscard]] std::uint64_t key_seed() const { return seed_; }
  [[nodiscard]] std::uint64_t value_seed() const { return seed_ + 2; }

 private:
  const Session& session_;
  std::uint64_t seed_;
  DeviceBuffer<std::byte> keys_, values_;
  DeviceBuffer<std::uint32_t> key_scales_, value_scales_;
  int bits_ = 0;
  bool by_channel_ = false;
};

class AttentionRunner {
 public:
  explicit AttentionRunner(const Session& session);
  /// Times a case after checking some of its rows; false where it does not fit into memory.
  bool measure(const AttentionCase& c, Spread& spread);

 private:
  void verify(const AttentionCase& c, const AttentionArgs& args, std::span<const int> table,
              std::span<const int> lengths, const DeviceBuffer<Bf16>& output) const;

  const Session& session_;
  RandomPools pools_;
};

/// "kvsim_paged_mma_split_kv" and so on: what the `kernel` column says. They are kernels of this program, not of a
/// server's.
std::string kernel_name(const cudaDeviceProp& device, const AttentionCase& c);

}  // namespace kvsim::calibrate
