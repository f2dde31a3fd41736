#include "tools/calibrate/host/replay.h"

#include <algorithm>
#include <stdexcept>

#include <fmt/format.h>

#include "models/schema/error.h"
#include "tools/calibrate/kernels/kv_format.h"

namespace kvsim::calibrate {
namespace {

/// Slots handed out lowest first.
class Slots {
 public:
  int take() {
    const auto free = std::find(taken_.begin(), taken_.end(), false);
    const auto index = free - taken_.begin();
    if (free == taken_.end()) {
      taken_.push_back(true);
    } else {
      *free = true;
    }
    return static_cast<int>(index);
  }
  void give_back(int slot) { taken_[static_cast<std::size_t>(slot)] = false; }
  [[nodiscard]] int most() const { return static_cast<int>(taken_.size()); }

 private:
  std::vector<bool> taken_;
};

constexpr std::int64_t kBf16Bytes = 2;
constexpr std::int64_t kScaleBytes = kGroups * 4;

std::int64_t elements(const LinearShape& shape) {
  return shape.n * shape.k;
}

bool suits(const models::LlmSpec& model) {
  return model.attention == models::AttentionKind::gqa && model.head_dim == kHeadDim && model.moe.experts == 0;
}

}  // namespace

std::string name_of(ReplayKind kind) {
  return kind == ReplayKind::lock_step ? "lock_step" : "staggered";
}

ReplaySchedule replay_schedule(const ReplayParameters& p) {
  if (p.requests < 1 || p.draft_length < 1 || p.rounds < 1 || p.reload_iterations < 1 ||
      p.reload_iterations > p.draft_length) {
    throw std::invalid_argument(
        "replay: at least one request, drafted token and round; reloads span 1 to x iterations");
  }
  const int cycle = p.draft_length + 1;
  ReplaySchedule result;
  result.parameters = p;
  result.iterations.resize(static_cast<std::size_t>(cycle * p.rounds));
  const int count = static_cast<int>(result.iterations.size());
  Slots slots;
  std::vector<int> slot_of(static_cast<std::size_t>(p.requests), -1);
  const auto verifies_at = [&](int request, int iteration) {
    const int phase = p.kind == ReplayKind::lock_step ? 0 : request % cycle;
    return (iteration + phase) % cycle == p.draft_length;
  };
  for (int t = 0; t < count; ++t) {
    ReplayIteration& now = result.iterations[static_cast<std::size_t>(t)];
    for (int r = 0; r < p.requests; ++r) {
      const int needed_by = t + p.reload_iterations;
      if (needed_by >= count || !verifies_at(r, needed_by)) continue;
      const int slot = slots.take();
      slot_of[static_cast<std::size_t>(r)] = slot;
      now.reloads.push_back({r, slot, needed_by});
    }
    for (int r = 0; r < p.requests; ++r) {
      int& slot = slot_of[static_cast<std::size_t>(r)];
      if (!verifies_at(r, t) || slot < 0) {
        now.drafting.push_back(r);
        continue;
      }
      now.verifying.push_back(r);
      now.verifying_slots.push_back(slot);
    }
    for (std::size_t i = 0; i < now.verifying.size(); ++i) {  // free for reloads that start with the next iteration
      slots.give_back(now.verifying_slots[i]);
      slot_of[static_cast<std::size_t>(now.verifying[i])] = -1;
    }
  }
  result.slots = slots.most();
  return result;
}

std::int64_t ReplaySize::layer_weights() const {
  return elements(shapes.qkv) + elements(shapes.output) + elements(shapes.gate_up) + elements(shapes.down);
}

std::int64_t ReplaySize::pages() const {
  return (context + kPageTokens - 1) / kPageTokens;
}

std::int64_t ReplaySize::vectors() const {
  return pages() * kPageTokens * heads.kv_heads;
}

std::int64_t ReplaySize::full_kv_bytes() const {
  return 2 * layers * vectors() * kHeadDim * kBf16Bytes;
}

std::int64_t ReplaySize::compressed_kv_bytes() const {
  return 2 * layers * vectors() * (kHeadDim * kv_bits / 8 + kScaleBytes);
}

std::int64_t ReplaySize::device_bytes(int requests, int slots) const {
  return (layers * layer_weights() + elements(lm_head)) * kBf16Bytes + requests * compressed_kv_bytes() +
         slots * full_kv_bytes();
}

ReplaySize replay_size(std::span<const models::LlmSpec> models, bool quick) {
  auto chosen = std::find_if(models.begin(), models.end(),
                             [](const models::LlmSpec& m) { return m.name == "llama-3.1-8b" && suits(m); });
  if (chosen == models.end()) chosen = std::find_if(models.begin(), models.end(), suits);
  if (chosen == models.end()) {
    throw schema::InputError("replay: none of the models is dense with grouped-query attention over heads of 128");
  }
  constexpr std::int64_t quick_layers = 8;
  constexpr std::int64_t quick_context = 4096;
  ReplaySize size;
  size.model = chosen->name;
  size.model_layers = chosen->layers;
  size.layers = quick ? std::min(quick_layers, chosen->layers) : chosen->layers;
  size.shapes = layer_shapes(*chosen, 1);
  size.lm_head = {chosen->vocabulary, chosen->hidden};
  size.heads = {static_cast<int>(chosen->heads), static_cast<int>(chosen->kv_heads)};
  size.context = std::min(quick ? quick_context : size.context, chosen->max_context);
  return size;
}

std::int64_t layers_that_fit(ReplaySize size, int requests, int slots, std::int64_t device_bytes,
                             std::int64_t host_bytes) {
  while (size.layers > 0 && (size.device_bytes(requests, slots) > device_bytes || size.full_kv_bytes() > host_bytes)) {
    --size.layers;
  }
  return size.layers;
}

std::string replay_yaml(const ReplaySize& size, const ReplayParameters& p, int lock_step_slots, int staggered_slots) {
  return fmt::format(
      "# What replay.csv ran. Lengths stay as they are; every drafted token is one decode against the compressed KV, "
      "and\n"
      "# a verification is draft_length + 1 query tokens against the full KV in a slot that a reload filled.\n"
      "model: \"{}\"\nmodel_layers: {}\nlayers: {}\ntensor_parallel: 1\nrequests: {}\ndraft_length: {}\n"
      "reload_iterations: {}\nrounds: {}\ncontext_tokens: {}\nkv_bits: {}\nkv_group: {}\narrival: "
      "whole\nlayer_weight_bytes: {}\n"
      "lm_head_bytes: {}\nfull_kv_bytes_per_request: {}\ncompressed_kv_bytes_per_request: {}\n"
      "slots: {{lock_step: {}, staggered: {}}}\n",
      size.model, size.model_layers, size.layers, p.requests, p.draft_length, p.reload_iterations, p.rounds,
      size.context, size.kv_bits, kGroup, size.layer_weights() * kBf16Bytes, elements(size.lm_head) * kBf16Bytes,
      size.full_kv_bytes(), size.compressed_kv_bytes(), lock_step_slots, staggered_slots);
}

}  // namespace kvsim::calibrate
