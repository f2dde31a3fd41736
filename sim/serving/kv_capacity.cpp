#include "sim/serving/kv_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "sim/serving/config.h"
#include "sim/serving/configuration_error.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"

namespace kvsim::serving {
models::PrefetchSpec replica_prefetch(const ServingConfig& config, const DecodePolicy& decode) {
  return step_prefetch(config, decode.fetch == Fetch::speculative ? most_proposed(config.decode, decode) : 0);
}

namespace {

/// Geometry of a context that is compressed so, without what a decode policy holds beside it.
KvGeometry geometry_of(const ServingConfig& config, const GroupConfig& group, const CompressedContext& compressed) {
  const KvGeometry geometry(config.model, group.parallel.tensor, compressed, config.schedule.block_tokens);
  const auto& framework = group.profile.framework;
  return framework ? geometry.with_full_kv_factor(framework->full_kv_factor.value) : geometry;
}

}  // namespace

KvGeometry kv_at(const ServingConfig& config, const GroupConfig& group, double keep_ratio) {
  return geometry_of(config, group, {config.model, config.decode.compressor, keep_ratio});
}

KvGeometry configured_geometry(const ServingConfig& config, const GroupConfig& group) {
  const DecodePolicy& decode = *find_decode_policy(config.decode.policy);
  const models::PrefetchSpec prefetch = replica_prefetch(config, decode);
  CompressedContext context(config.model, config.decode.compressor,
                            decode.reads_compressed ? config.decode.keep_ratio : 1.0);
  if (decode.reads_compressed && config.decode.budget) context = context.with_budget(*config.decode.budget);
  if (decode.low_bit_copy) {
    context = context.with_low_bit_copy(
        decode.fetches_pairs() ? models::fetched_tokens(prefetch, config.model.max_context) : 0);
  }
  if (decode.fetch == Fetch::everything) {
    const auto layers = static_cast<double>(config.model.layers);
    context = context.with_streaming(static_cast<double>(prefetch.buffered_layers) / layers);
  }
  const KvGeometry geometry = geometry_of(config, group, context);
  if (!decode.drafter) return geometry;
  const models::LlmSpec& network = config.decode.drafter->spec.network;
  return geometry.with_drafter(static_cast<double>(network.kv_bytes_per_token()) *
                               network.kv_copies(group.parallel.tensor));
}

namespace {

/// Room for KV where ranks hold weights and requests of their own and stages a part of the layers: what the stage with
/// least room for a token leaves, the last one with the LM head or the first with the embedding. Layers are shared out
/// as evenly as they can be, the last stage has fewest.
std::int64_t shared_kv_bytes(const ServingConfig& config, const GroupConfig& group, double usable_of_gpu) {
  const models::LlmSpec& m = config.model;
  const models::Parallelism& p = group.parallel;
  const auto weights = static_cast<double>(m.weight_bytes());
  const auto experts = static_cast<double>(m.expert_weight_bytes());
  const double head = m.head_weight_bytes(), embedding = m.embedding_weight_bytes();
  const double layers_of_rank =
      weights - experts - (head + embedding) + experts / static_cast<double>(p.attention_data);
  const double tables = p.pipeline == 1 ? head + embedding : std::max(head, embedding);
  const auto room_by = [&](std::int64_t layers) {
    const double share = static_cast<double>(layers) / static_cast<double>(m.layers);
    return (static_cast<double>(p.tensor) * usable_of_gpu - layers_of_rank * share - tables) / share;
  };
  const double room = std::min(room_by((m.layers + p.pipeline - 1) / p.pipeline), room_by(m.layers / p.pipeline));
  return std::llround(std::floor(static_cast<double>(p.attention_data) * room));
}

}  // namespace

std::int64_t held_weights(const models::LlmSpec& model, const models::Parallelism& parallel) {
  const std::int64_t experts = model.expert_weight_bytes();
  return parallel.attention_data * (model.weight_bytes() - experts) + experts;
}

std::int64_t replica_weights(const ServingConfig& config, const GroupConfig& group) {
  std::int64_t own = held_weights(config.model, group.parallel);
  if (find_decode_policy(config.decode.policy)->drafter) own += config.decode.drafter->spec.own_weight_bytes();
  if (config.prefill != PrefillKind::selective || !config.reuse || config.reuse->speculative.gpus > 0) return own;
  return own + config.reuse->speculative.model.weight_bytes();
}

bool has_fast_peers(const GroupConfig& group) {
  return group.peer_link.read_bytes_per_s.value >= models::kFastPeerBytesPerS;
}

std::int64_t memory_beside_kv(const ServingConfig& config, const GroupConfig& group, const models::LlmSpec& model,
                              const models::Parallelism& parallel) {
  if (group.activation_bytes) return *group.activation_bytes;
  if (group.profile.framework) return 0;
  models::EngineLoad load;
  load.parallel = parallel;
  load.fast_peers = has_fast_peers(group);
  load.max_requests = config.schedule.max_requests;
  load.max_batched_tokens = config.schedule.max_batched_tokens;
  load.memory_fraction = group.memory_fraction;
  load.weights_of_gpu = static_cast<double>(held_weights(model, parallel)) / static_cast<double>(parallel.gpus());
  return models::memory_beside_kv(group.engine_memory, model, load);
}

std::int64_t memory_beside_kv(const ServingConfig& config, const GroupConfig& group) {
  return memory_beside_kv(config, group, config.model, group.parallel);
}

namespace {

double stated_kv_bytes(const ServingConfig& config, const GroupConfig& group, const StatedKv& stated) {
  const KvLayout layout = kv_layout(config, group);
  switch (stated.unit) {
    case StatedKv::Unit::tokens:
      return layout.bytes_of_tokens(stated.amount, config.model.max_context, config.schedule.max_batched_tokens);
    case StatedKv::Unit::blocks:
      return layout.bytes_of_blocks(stated.amount);
    case StatedKv::Unit::bytes:
      return static_cast<double>(group.parallel.gpus()) * static_cast<double>(stated.amount);
  }
  return 0;
}

/// Bytes of one GPU within the fraction that is used.
std::int64_t used_of_gpu(const GroupConfig& group) {
  return std::llround(std::floor(static_cast<double>(group.gpu.memory_bytes.value) * group.memory_fraction));
}

}  // namespace

KvLayout kv_layout(const ServingConfig& config, const GroupConfig& group) {
  const std::int64_t tensor = group.parallel.tensor;
  double drafter = 0;
  if (find_decode_policy(config.decode.policy)->drafter) {
    const models::LlmSpec& network = config.decode.drafter->spec.network;
    drafter = static_cast<double>(network.kv_bytes_per_token()) * network.kv_copies(tensor);
  }
  return {config.model, tensor, config.schedule.block_tokens, drafter};
}

std::int64_t kv_pool_bytes(const ServingConfig& config, const GroupConfig& group) {
  const std::int64_t stored = config.placement ? config.placement->gpu_memory_bytes : 0;
  if (group.stated_kv) {
    const std::int64_t bytes = std::llround(std::ceil(stated_kv_bytes(config, group, *group.stated_kv)));
    const std::int64_t room = group.parallel.gpus() * group.gpu.memory_bytes.value - replica_weights(config, group);
    return bytes <= room ? bytes - stored : room - bytes;
  }
  const std::int64_t workspace = group.profile.framework ? group.profile.framework->workspace_bytes.value : 0;
  const std::int64_t usable_of_gpu = used_of_gpu(group) - memory_beside_kv(config, group) - workspace;
  return group.parallel.tensor_only() ? group.parallel.tensor * usable_of_gpu - replica_weights(config, group) - stored
                                      : shared_kv_bytes(config, group, static_cast<double>(usable_of_gpu));
}

std::int64_t kv_capacity_bytes(const ServingConfig& config, const GroupConfig& group, const KvGeometry& geometry) {
  const std::int64_t of_requests =
      kv_pool_bytes(config, group) - geometry.step_reservation(config.schedule.max_batched_tokens);
  return of_requests < 0 ? of_requests : of_requests / geometry.block_bytes() * geometry.block_bytes();
}

MemorySplit memory_split(const ServingConfig& config, const GroupConfig& group, const KvGeometry& geometry) {
  MemorySplit m;
  m.gpu = group.parallel.gpus() * group.gpu.memory_bytes.value;
  m.weights = held_weights(config.model, group.parallel);
  m.kv = kv_capacity_bytes(config, group, geometry);
  if (group.stated_kv) {
    m.other = kv_pool_bytes(config, group) - m.kv + replica_weights(config, group) - m.weights +
              (config.placement ? config.placement->gpu_memory_bytes : 0);
    m.kept_free = m.gpu - m.weights - m.kv - m.other;
    return m;
  }
  m.kept_free = m.gpu - group.parallel.gpus() * used_of_gpu(group);
  m.activations = group.parallel.gpus() * memory_beside_kv(config, group);
  m.other = m.gpu - m.kept_free - m.weights - m.activations - m.kv;
  return m;
}

namespace {

/// "llama-3-8b", or with the small model that scores beside it.
std::string models_on_replica(const ServingConfig& config, const GroupConfig& group) {
  if (find_decode_policy(config.decode.policy)->drafter) {
    return fmt::format("{} with {} to draft for it", config.model.name, config.decode.drafter->spec.name);
  }
  if (replica_weights(config, group) == held_weights(config.model, group.parallel)) return config.model.name;
  return fmt::format("{} with {} to score beside it", config.model.name, config.reuse->speculative.model.name);
}

std::string what_decides_kv(const ServingConfig& config, const GroupConfig& group) {
  if (group.stated_kv) {
    switch (group.stated_kv->unit) {
      case StatedKv::Unit::tokens:
        return group.gpu_key + ".kv_tokens";
      case StatedKv::Unit::blocks:
        return group.gpu_key + ".kv_blocks";
      case StatedKv::Unit::bytes:
        return group.gpu_key + ".kv_bytes";
    }
  }
  if (group.activation_bytes) return group.gpu_key + ".activations";
  if (group.profile.framework) return fmt::format("profile {}", group.profile.name);
  const auto& engine = config.schedule.engine;
  return fmt::format("memory of engine {}", engine && engine->memory ? engine->name : models::default_engine_memory);
}

}  // namespace

KvCapacity kv_capacity(const ServingConfig& config, const GroupConfig& group) {
  const KvGeometry geometry = configured_geometry(config, group);
  KvCapacity k;
  k.weights_bytes = replica_weights(config, group);
  k.bytes = kv_capacity_bytes(config, group, geometry);
  k.block_tokens = config.schedule.block_tokens;
  const std::int64_t least = geometry.bytes_of_full_blocks(geometry.block_tokens());
  if (k.bytes < least) {
    const std::int64_t stored = config.placement ? config.placement->gpu_memory_bytes : 0;
    if (stored > 0 && k.bytes + stored >= least) {
      throw ModelDoesNotFit("placement.gpu_memory",
                            fmt::format("stored prompts take {:.1f} GB of the {:.1f} GB that {} leaves for KV, and "
                                        "requests have no block: give them less",
                                        static_cast<double>(stored) * 1e-9,
                                        static_cast<double>(k.bytes + stored) * 1e-9, config.model.name));
    }
    const std::int64_t written = geometry.step_reservation(config.schedule.max_batched_tokens);
    if (written > 0 && k.bytes + written >= least) {
      throw ModelDoesNotFit(
          "schedule.max_batched_tokens",
          fmt::format("{} tokens of an iteration take {:.1f} GB in layers with a window before those are dropped that "
                      "they push out, of {:.1f} GB that {} leaves for KV: give it fewer",
                      config.schedule.max_batched_tokens, static_cast<double>(written) * 1e-9,
                      static_cast<double>(k.bytes + written) * 1e-9, config.model.name));
    }
    if (group.stated_kv) {
      throw ModelDoesNotFit(
          group.gpu_key,
          fmt::format("{} has {:.1f} GB of weights, and {} x {} do not have the KV memory that is stated "
                      "beside them, or that is less than one block",
                      models_on_replica(config, group), static_cast<double>(k.weights_bytes) * 1e-9,
                      group.parallel.gpus(), group.gpu.name));
    }
    const auto beside = static_cast<double>(memory_beside_kv(config, group));
    const double usable = static_cast<double>(group.parallel.gpus()) *
                          (static_cast<double>(group.gpu.memory_bytes.value) * group.memory_fraction - beside);
    throw ModelDoesNotFit(
        group.gpu_key,
        fmt::format(
            "{} does not fit: {:.1f} GB of weights, {} x {} leaves {:.1f} GB at memory_fraction {:g} with {:.1f} GB of "
            "activations per GPU, and not one block of KV{} beside them",
            models_on_replica(config, group), static_cast<double>(k.weights_bytes) * 1e-9, group.parallel.gpus(),
            group.gpu.name, usable * 1e-9, group.memory_fraction, beside * 1e-9,
            config.model.state.layers > 0 ? " with its state" : ""));
  }
  const KvLayout layout = kv_layout(config, group);
  const std::int64_t budget = config.schedule.max_batched_tokens;
  const auto pool = static_cast<double>(kv_pool_bytes(config, group));
  k.longest = config.model.max_context;
  k.tokens = layout.tokens(pool, k.longest, budget);
  k.blocks = layout.blocks(pool);
  k.block_tokens = layout.block_tokens();
  k.concurrency = layout.concurrency(pool, k.longest, budget);
  k.context_tokens = std::min(geometry.tokens_of_full_blocks(k.bytes), k.longest);
  // Drafts on stored prompts read them as they are stored, in whatever form that is.
  const bool part = find_decode_policy(config.decode.policy)->holds_part() && !config.placement;
  k.stored_concurrency = part ? static_cast<double>(k.bytes) / static_cast<double>(std::max<std::int64_t>(
                                                                   1, geometry.compressed_reservation(k.longest, 0, 0)))
                              : k.concurrency;
  k.decided_by = what_decides_kv(config, group);
  return k;
}

}  // namespace kvsim::serving
