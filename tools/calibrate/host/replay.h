// The replay benchmark: the iterations that it runs, as a simulator can redo them, and how large it is. An iteration is
// x drafted tokens a round against the compressed KV, then one verification of x + 1 tokens against the full KV, which
// was reloaded into one of a few slots.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/llm/llm_spec.h"
#include "tools/calibrate/host/shapes.h"

namespace kvsim::calibrate {

enum class ReplayKind {
  lock_step,  ///< everybody drafts, then everybody verifies
  staggered   ///< an equal share verifies in each iteration
};

struct ReplayParameters {
  ReplayKind kind = ReplayKind::lock_step;
  int requests = 12;
  int draft_length = 5;       ///< x
  int reload_iterations = 2;  ///< a reload starts this many iterations before its verification, at most x
  int rounds = 4;
};

struct Reload {
  int request = 0;
  int slot = 0;
  int needed_by = 0;  ///< iteration that verifies with it
};

struct ReplayIteration {
  std::vector<int> drafting;
  std::vector<int> verifying;
  std::vector<int> verifying_slots;  ///< of each of verifying
  std::vector<Reload> reloads;       ///< that start when this iteration does

  /// Tokens that the linear layers see.
  [[nodiscard]] std::int64_t tokens(int draft_length) const {
    return static_cast<std::int64_t>(drafting.size()) +
           static_cast<std::int64_t>(verifying.size()) * (draft_length + 1);
  }
};

struct ReplaySchedule {
  ReplayParameters parameters;
  std::vector<ReplayIteration> iterations;
  int slots = 0;  ///< full-KV buffers in use at once
};

std::string name_of(ReplayKind kind);

/// The phase of request i is 0 in lock-step, i mod (x + 1) otherwise; it verifies in iterations t with
/// (t + phase) mod (x + 1) = x, and drafts in all others. Requests whose reload would have to start before the first
/// iteration keep drafting in their first round. Throws std::invalid_argument for parameters that make no sense.
ReplaySchedule replay_schedule(const ReplayParameters& parameters);

// How large a replay is: the model's layers that fit, and the bytes of everything.

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
