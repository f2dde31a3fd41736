// How large a replay is: the model's layers that fit, and the bytes of everything.
#pragma once

#include <cstdint>
#include <string>

#include "models/llm/llm_spec.h"
#include "tools/calibrate/host/replay_schedule.h"
#include "tools/calibrate/host/shapes.h"

namespace kvsim::calibrate {

/// Everything of one replay but its schedule. Lengths do not grow: every request has `context` tokens throughout.
struct ReplaySize {
  std::string model;
  std::int64_t model_layers = 0;
  std::int64_t layers = 0;  ///< that are run
  LayerShapes shapes;
  LinearShape lm_head;
  HeadShape heads;
  std::int64_t context = 8192;
  int kv_bits = 2;

  [[nodiscard]] std::int64_t layer_weights() const;  ///< elements
  [[nodiscard]] std::int64_t pages() const;          ///< of one request and layer
  /// Vectors (of keys, or of values) of one request and layer.
  [[nodiscard]] std::int64_t vectors() const;
  /// Bytes of keys and values of one request over all layers.
  [[nodiscard]] std::int64_t full_kv_bytes() const;
  [[nodiscard]] std::int64_t compressed_kv_bytes() const;
  /// Device memory of weights, KV and slots.
  [[nodiscard]] std::int64_t device_bytes(int requests, int slots) const;
};

/// The first of the models with grouped-query attention over heads of 128, llama-3.1-8b before others. Throws
/// schema::InputError where there is none.
ReplaySize replay_size(std::span<const models::LlmSpec> models, bool quick);

/// As many layers as fit, 0 if not even one does.
std::int64_t layers_that_fit(ReplaySize size, int requests, int slots, std::int64_t device_bytes,
                             std::int64_t host_bytes);

/// replay.yaml.
std::string replay_yaml(const ReplaySize& size, const ReplayParameters& parameters, int lock_step_slots,
                        int staggered_slots);

}  // namespace kvsim::calibrate
