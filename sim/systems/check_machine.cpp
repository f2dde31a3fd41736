// Checks of what machines, models and the rules of engines allow.
#include <fmt/format.h>

#include "sim/routing/router.h"
#include "sim/serving/configuration_error.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/kv_capacity.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/schedule_policy.h"
#include "sim/systems/checks.h"

namespace kvsim::systems {
namespace {

using serving::ConfigurationError;
using serving::DecodePolicy;
using serving::GroupConfig;
using serving::PrefillKind;
using serving::SchedulePolicyEntry;
using serving::ServingConfig;
using serving::UnsuitableMachine;

/// Ranks and stages: what the model can be cut into, and which steps are known for them.
void check_parallelism(const ServingConfig& config, const GroupConfig& group, const DecodePolicy& decode) {
  const models::Parallelism& p = group.parallel;
  const models::LlmSpec& m = config.model;
  if (m.heads % p.tensor != 0) {
    throw UnsuitableMachine(
        group.gpu_key + ".tensor_parallel",
        fmt::format("{} attention heads of {} cannot be sharded evenly over {} GPUs", m.heads, m.name, p.tensor));
  }
  const std::string expert_key = group.gpu_key + ".expert_parallel";
  const std::string data_key = group.gpu_key + ".attention_data_parallel";
  if (p.expert > 1 && m.moe.experts == 0) {
    throw ConfigurationError(expert_key, fmt::format("{} has no routed experts", m.name));
  }
  if (p.expert_gpus() % p.expert != 0) {
    throw UnsuitableMachine(
        expert_key,
        fmt::format("{} GPUs hold the experts (tensor_parallel x attention_data_parallel) and cannot be cut "
                    "into {} parts alike",
                    p.expert_gpus(), p.expert));
  }
  if (p.expert > 1 && m.moe.experts % p.expert != 0) {
    throw ConfigurationError(expert_key, fmt::format("{} experts of {} cannot be shared out evenly over {} parts",
                                                     m.moe.experts, m.name, p.expert));
  }
  if (p.attention_data > 1 && m.moe.experts == 0) {
    throw ConfigurationError(
        data_key, fmt::format("ranks of {} would share nothing: use {}: {}", m.name,
                              config.cluster.pools ? "nodes of the pool" : "cluster.replicas", p.attention_data));
  }
  if (p.pipeline > m.layers) {
    throw ConfigurationError(group.gpu_key + ".pipeline_parallel",
                             fmt::format("{} stages for the {} layers of {}", p.pipeline, m.layers, m.name));
  }
  if (p.tensor_only()) return;
  const std::string key = p.attention_data > 1 ? data_key : group.gpu_key + ".pipeline_parallel";
  if (decode.verifies || decode.drafter || decode.fetches() || decode.low_bit_copy || decode.keeps_full) {
    throw ConfigurationError(key,
                             fmt::format("the steps of decode policy {} are known for tensor-parallel groups only: "
                                         "use full_kv or lossy, or 1",
                                         decode.name));
  }
  if (config.placement || config.prefill != PrefillKind::recompute) {
    throw ConfigurationError(key,
                             "how KV reaches ranks and stages from outside is known for tensor-parallel groups "
                             "only: use prefill: recompute, or 1");
  }
}

/// Says what a model's layers keep that is not the KV of all tokens; nothing where there is nothing else.
std::string kept_otherwise(const models::LlmSpec& m) {
  if (m.state.layers > 0) {
    return fmt::format("{} of the {} layers of {} keep a state of each request in place of KV", m.state.layers,
                       m.layers, m.name);
  }
  if (!m.window.drops()) return {};
  const bool chunks = m.window.kind == models::WindowKind::chunked;
  return fmt::format("{} of the {} layers of {} keep the KV of {} {} tokens alone", m.window.layers, m.layers, m.name,
                     chunks ? "their chunk of" : "the last", m.window.tokens);
}

/// Layers with a window keep the latest KV alone, and those with a state none: what acts on a whole context is known
/// for the KV of all tokens.
void check_layers(const ServingConfig& config, const DecodePolicy& decode) {
  const auto refuse_beside = [](const models::LlmSpec& m, const char* key) {
    if (m.window.layers == 0 && m.state.layers == 0) return;
    throw ConfigurationError(key, fmt::format("{} has layers with {}, which a model beside another is not known with: "
                                              "use one whose layers attend to all tokens",
                                              m.name, m.state.layers > 0 ? "a state" : "a window"));
  };
  if (config.decode.drafter) refuse_beside(config.decode.drafter->spec.network, "decode.drafter.type");
  if (config.reuse) refuse_beside(config.reuse->speculative.model, "prefill.speculative.model");
  const models::LlmSpec& m = config.model;
  const bool acts = decode.reads_compressed || decode.low_bit_copy || decode.fetches();
  if (m.window.layers > 0 && !m.window.drops() && acts) {
    throw ConfigurationError(
        "decode.policy",
        fmt::format("{} of the {} layers of {} attend to {} tokens that an indexer selects among all: decode policy {} "
                    "compresses, drops or fetches KV, and what is selected then is not known: use full_kv or drafter",
                    m.window.layers, m.layers, m.name, m.window.tokens, decode.name));
  }
  if (m.shared_kv_layers > 0 && acts) {
    throw ConfigurationError(
        "decode.policy",
        fmt::format("{} of the {} layers of {} read the KV of an earlier one: decode policy {} compresses, drops or "
                    "fetches KV layer by layer, and what those read then is not known: use full_kv or drafter",
                    m.shared_kv_layers, m.layers, m.name, decode.name));
  }
  const std::string layers = kept_otherwise(m);
  if (layers.empty()) return;
  if (acts) {
    throw ConfigurationError("decode.policy",
                             fmt::format("{}: decode policy {} compresses, drops or fetches the KV of "
                                         "whole contexts: use full_kv{}",
                                         layers, decode.name, m.state.layers > 0 ? "" : " or drafter"));
  }
  if (m.state.layers > 0 && (decode.drafter || decode.proposes())) {
    throw ConfigurationError(
        "decode.policy", fmt::format("{}: tokens that are not accepted would stay in it, and what engines keep to go "
                                     "back is not known: use full_kv",
                                     layers));
  }
  if (config.placement) {
    throw ConfigurationError("placement", fmt::format("{}: a stored prefix can be continued at its end alone, and "
                                                      "tiers keep pieces of prompts: leave it out",
                                                      layers));
  }
  if (config.prefill != PrefillKind::recompute && config.prefill != PrefillKind::stored) {
    throw ConfigurationError("prefill.policy", fmt::format("{}: pieces of prompts cannot be put together there: use "
                                                           "recompute or stored",
                                                           layers));
  }
  for (const GroupConfig& group : config.cluster.groups) {
    const auto& framework = group.profile.framework;
    if (!framework || framework->full_kv_factor.value == 1) continue;
    throw UnsuitableMachine(group.gpu_key + ".profile",
                            fmt::format("{}: profile {} says what full KV takes in GPU memory for the KV of all "
                                        "tokens alone",
                                        layers, group.profile.name));
  }
}

/// Layers that are not all alike, on the GPUs that share them.
void check_shared_layers(const ServingConfig& config, const GroupConfig& group) {
  const models::LlmSpec& m = config.model;
  const std::int64_t stages = group.parallel.pipeline, gpus = group.parallel.tensor;
  const bool differ = m.window.layers > 0 || m.state.layers > 0 || m.without_attention > 0 || m.without_block > 0 ||
                      m.shared_kv_layers > 0;
  if (differ && stages > 1) {
    const std::string kept = kept_otherwise(m);
    throw ConfigurationError(
        group.gpu_key + ".pipeline_parallel",
        fmt::format("{}: which stage has which of them is not known: use 1",
                    kept.empty() ? fmt::format("the layers of {} are of several kinds", m.name) : kept));
  }
  const auto check_heads = [&](std::int64_t heads, const char* what, const char* layers) {
    if (heads % gpus == 0) return;
    throw UnsuitableMachine(group.gpu_key + ".tensor_parallel",
                            fmt::format("{} {} of {}'s layers with a {} cannot be sharded evenly over {} GPUs", heads,
                                        what, m.name, layers, gpus));
  };
  check_heads(m.window_part().heads, "attention heads", "window");
  check_heads(m.state.heads, "heads", "state");
}

/// Blocks of GPU memory that requests share: where each holds all of its KV, in blocks alone, on GPUs that have all of
/// it in common. `plain`: see below.
void check_prefix_caching(const ServingConfig& config, const DecodePolicy& decode, bool plain) {
  if (!config.schedule.prefix_caching) return;
  const auto refuse = [](std::string why) { throw ConfigurationError("schedule.prefix_caching", std::move(why)); };
  if (!plain || decode.keeps_full || decode.offloads() || decode.holds_part()) {
    refuse(
        fmt::format("what requests share in GPU memory is known where they hold their full KV and nothing else, and "
                    "decode policy {} does something else: use full_kv, or remove this key",
                    decode.name));
  }
  if (config.placement || (!config.cluster.pools && config.prefill != PrefillKind::recompute)) {
    refuse(
        "prompts that are loaded from elsewhere and found in GPU memory, too, are not described: use prefill: "
        "recompute without a placement, or remove this key");
  }
  for (const GroupConfig& group : config.cluster.groups) {
    if (group.parallel.attention_data == 1) continue;
    refuse(
        fmt::format("ranks with attention of their own share no blocks, and which rank a request goes to is not "
                    "described: remove this key, or use {}.attention_data_parallel 1",
                    group.gpu_key));
  }
  if (const std::string kept = kept_otherwise(config.model); !kept.empty()) {
    refuse(kept + ": what a prefix leaves of that is not described: remove this key");
  }
}

/// Rules of engines that are known for steps which give tokens of each request from its own KV.
void check_engine_rules(const ServingConfig& config, const DecodePolicy& decode) {
  const bool plain = !decode.verifies && !decode.drafter && !decode.fetches() && !decode.low_bit_copy;
  const bool in_steps = plain || decode.drafts_in_steps();  // drafts wait as decoding does
  if (config.schedule.prefill_first() && !in_steps) {
    throw ConfigurationError(
        "schedule.prefill_order",
        fmt::format("what becomes of the drafts or fetches of decode policy {} while prefill_first lets decoding wait "
                    "is not known: use mixed, or decode policy full_kv, drafter or lossy",
                    decode.name));
  }
  if (config.schedule.blocking_loads && (!plain || reuses_chunks(config.prefill))) {
    throw ConfigurationError(
        "schedule.blocking_loads",
        fmt::format("what becomes of {} while iterations wait for what is loaded is not known: load beside iterations",
                    plain ? "chunks that are computed in iterations" : "drafts, reloads and fetches"));
  }
  check_prefix_caching(config, decode, plain);
  if (config.schedule.reserves_output() && (!in_steps || decode.holds_part())) {
    throw ConfigurationError("schedule.reserve",
                             fmt::format("prompt_and_output reserves the full KV of all tokens, and decode policy {} "
                                         "holds something else: use prompt, or decode policy full_kv or drafter",
                                         decode.name));
  }
}

/// Checks what only replicas with host memory have.
void check_replicas(const ServingConfig& config, const DecodePolicy& decode) {
  const bool copies = decode.offloads() && !drafts_as_found(config, decode);
  if ((copies || config.prefill == PrefillKind::stored) && config.cluster.groups.front().host_memory_bytes == 0) {
    throw ConfigurationError("cluster.host",
                             "no host memory: stored contexts and full KV to verify against or to fetch from are kept "
                             "there; give cluster.host.memory");
  }
  if (reuses_chunks(config.prefill) && !config.placement) {
    throw ConfigurationError("prefill.policy",
                             "chunks are kept in tiers of memory: give placement (such as {policy: lru}) and "
                             "cluster.host.memory, or use recompute");
  }
  if (config.prefill == PrefillKind::prefix_cache && !config.placement) {
    throw ConfigurationError(
        "prefill.policy",
        "prefix_cache is about what a storage node or tiers of memory hold: give placement (such as "
        "{policy: lru}) or cluster.pools, or use recompute or stored");
  }
}

}  // namespace

void check_serving(const ServingConfig& given) {
  ServingConfig config = given;
  config.decode = own_drafts(given.decode);
  const DecodePolicy* decode = serving::find_decode_policy(config.decode.policy);
  if (!decode) throw ConfigurationError("decode.policy", fmt::format("unknown decode policy {}", config.decode.policy));
  const SchedulePolicyEntry* schedule = serving::find_schedule_policy(config.schedule.policy);
  if (!schedule)
    throw ConfigurationError("schedule.policy", fmt::format("unknown schedule policy {}", config.schedule.policy));
  if (!routing::find_router(config.cluster.router)) {
    throw ConfigurationError("cluster.router", fmt::format("unknown router {}", config.cluster.router));
  }
  for (const GroupConfig& group : config.cluster.groups) check_parallelism(config, group, *decode);
  check_layers(config, *decode);
  for (const GroupConfig& group : config.cluster.groups) check_shared_layers(config, group);
  check_decoding(config, *decode);
  check_engine_rules(config, *decode);
  if (schedule->needs_verification && !decode->verifies) {
    throw ConfigurationError("schedule.policy",
                             fmt::format("schedule {} orders verifications and decode policy {} has none: use fcfs",
                                         schedule->name, decode->name));
  }
  if (!config.cluster.pools) check_replicas(config, *decode);
  if (config.cluster.pools && reuses_chunks(config.prefill)) {
    throw ConfigurationError("prefill.policy",
                             "nodes of pools read whole prefixes: use prefix_cache, or replicas with placement");
  }
  // A pool's drafts stop at their length; a replica's go on while the reload is late.
  const std::int64_t most_drafted = config.cluster.pools ? longest_draft(config.decode) : draft_limit(config.decode);
  if (decode->verifies && config.schedule.max_batched_tokens < most_drafted + 1) {
    throw ConfigurationError("schedule.max_batched_tokens",
                             fmt::format("{} tokens are less than one verification of up to {} drafted tokens",
                                         config.schedule.max_batched_tokens, most_drafted));
  }
  for (const GroupConfig& group : config.cluster.groups) {
    if (group.count > 0) kv_capacity(config, group);
  }
}

}  // namespace kvsim::systems
