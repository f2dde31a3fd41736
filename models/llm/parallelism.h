// How the GPUs of a replica share a model.
#pragma once

#include <cstdint>

namespace kvsim::models {

/// Groups of `tensor` GPUs share every matrix and the heads of each request. `attention_data` such groups (ranks) have
/// attention, dense feed-forward blocks and shared experts each of their own, with requests of their own, and hold the
/// routed experts together. `pipeline` such sets hold a part of the layers each.
struct Parallelism {
  std::int64_t tensor = 1;
  std::int64_t attention_data = 1;
  /// Parts into which the GPUs that hold a layer's experts together (tensor x attention_data) fall. A part takes whole
  /// experts; the GPUs of one part share the matrices of each expert.
  std::int64_t expert = 1;
  std::int64_t pipeline = 1;
  /// Tokens of the GPU that has most, over the mean of the GPUs that hold whole experts: beyond what chance does to
  /// experts that are all alike.
  double expert_imbalance = 1;

  Parallelism() = default;
  /// Not explicit: a number of GPUs is a tensor-parallel group.
  Parallelism(std::int64_t gpus) : tensor(gpus) {}  // NOLINT(google-explicit-constructor)

  /// All of them.
  [[nodiscard]] std::int64_t gpus() const { return tensor * attention_data * pipeline; }
  /// Those that hold the routed experts of a layer.
  [[nodiscard]] std::int64_t expert_gpus() const { return tensor * attention_data; }
  /// Every step is the same work on every GPU, layer by layer.
  [[nodiscard]] bool tensor_only() const { return attention_data == 1 && pipeline == 1; }
};

}  // namespace kvsim::models
