// Checks of a configuration as a whole, and the KV capacity that it leaves.
#include "sim/serving/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "models/hardware/link_spec.h"
#include "models/prefetch/prefetch_spec.h"
#include "sim/routing/router.h"
#include "sim/serving/decode_policy.h"
#include "sim/serving/draft_lengths/draft_length_policy.h"
#include "sim/serving/draft_lengths/draft_table.h"
#include "sim/serving/fetching.h"
#include "sim/serving/kv_geometry.h"
#include "sim/serving/schedule_policy.h"
#include "sim/serving/simulation.h"

namespace kvsim::serving {

models::Interconnect interconnect(const ClusterConfig& cluster) {
  models::Interconnect links(cluster.peer_link);
  if (cluster.node) {
    links.node_gpus = cluster.node->gpus;
    links.between_nodes = cluster.node->link;
  }
  return links;
}

std::int64_t nodes_for(const ClusterConfig& cluster, std::int64_t replicas) {
  const std::int64_t node = cluster.node->gpus, replica = gpus_per_group(cluster);
  if (replica > node) return replicas * ((replica + node - 1) / node);
  const std::int64_t in_one = node / replica;
  return (replicas + in_one - 1) / in_one;
}

double nodes_per_replica(const ClusterConfig& cluster) {
  const std::int64_t node = cluster.node->gpus, replica = gpus_per_group(cluster);
  return replica > node ? static_cast<double>(nodes_for(cluster, 1)) : 1 / static_cast<double>(node / replica);
}

void share_node_memory(ClusterConfig& cluster) {
  if (!cluster.node || !cluster.node->memory_bytes) return;
  const double share = static_cast<double>(*cluster.node->memory_bytes) * nodes_per_replica(cluster);
  cluster.host_memory_bytes = static_cast<std::int64_t>(share);
}
namespace {

using models::CompressionMode;

/// What policies with an auxiliary drafter need of it.
void check_drafter(const ServingConfig& config, const DecodePolicy& decode) {
  if (!decode.drafter) return;
  if (!config.decode.drafter) {
    throw ConfigurationError("decode.drafter", fmt::format("decode policy {} needs an auxiliary drafter: give "
                                                           "decode.drafter (kvsim list drafters)",
                                                           decode.name));
  }
  const DrafterConfig& drafter = *config.decode.drafter;
  const bool apart = drafter.spec.kind == models::DrafterKind::model;
  if (!apart && !drafter.spec.drafts_for(config.model.name)) {
    throw ConfigurationError(
        "decode.drafter.type",
        fmt::format("{} reads the hidden states of {}, and the model is {}: use a drafter that "
                    "was trained for it, or a small model",
                    drafter.spec.name, fmt::join(drafter.spec.targets, " or "), config.model.name));
  }
  if (apart && drafter.spec.network.vocabulary != config.model.vocabulary) {
    throw ConfigurationError(
        "decode.drafter.type",
        fmt::format("{} has a vocabulary of {} tokens, {} one of {}: its tokens mean nothing to the model",
                    drafter.spec.name, drafter.spec.network.vocabulary, config.model.name, config.model.vocabulary));
  }
  if (drafter.spec.network.heads % config.cluster.parallel.tensor != 0) {
    throw UnsuitableMachine("decode.drafter.type",
                            fmt::format("{} attention heads of {} cannot be sharded evenly over {} GPUs",
                                        drafter.spec.network.heads, drafter.spec.name, config.cluster.parallel.tensor));
  }
  if (drafter.tree && !decode.drafts_in_steps()) {
    throw ConfigurationError("decode.drafter.tree",
                             fmt::format("how decode policy {} goes on from a tree is not known: use decode policy "
                                         "drafter or lossy+drafter, or a chain",
                                         decode.name));
  }
  if (drafter.tree && config.decode.draft_lengths.policy != "fixed") {
    throw ConfigurationError("decode.drafter.tree",
                             "draft lengths are chosen of chains: use decode.draft_lengths.policy fixed, or a chain");
  }
  const std::int64_t queries = drafter.verified(most_proposed(config.decode, decode)) + 1;
  if (config.schedule.max_batched_tokens < queries) {
    throw ConfigurationError("schedule.max_batched_tokens",
                             fmt::format("one request's step takes {} tokens with those of its drafter", queries));
  }
}

/// Where a configuration says what drafts read.
std::string selection_key(const ServingConfig& config, const DecodePolicy& decode) {
  const bool own = decode.keeps_full && config.decode.sparse && config.decode.sparse->selection;
  return own ? "decode.sparse.selection" : "decode.compressor";
}

/// A round without drafts is an ordinary step, which only policies have whose every step gives final tokens.
void check_draft_lengths(const ServingConfig& config, const DecodePolicy& decode) {
  const DraftLengthConfig& lengths = config.decode.draft_lengths;
  if (lengths.policy == "goodput" && drafts_as_found(config, decode)) {
    throw ConfigurationError("decode.draft_lengths.policy",
                             "goodput predicts rounds that reload from host memory, and here drafts end when a whole "
                             "prompt is there: use fixed or adaptive");
  }
  if (!decode.verifies) return;
  const std::int64_t longest = longest_draft(config.decode), limit = config.decode.draft_limit;
  if (limit > 0 && limit < longest) {
    throw ConfigurationError("decode.draft_limit",
                             fmt::format("{} is below the {} tokens that are drafted before anything is late: expected "
                                         "{} or more, 0 for twice as many, or strict for no more",
                                         limit, longest, longest));
  }
  const std::vector<DraftTableRow>& rows = lengths.own.of<DraftTableKeys>().rows;
  const bool none = lengths.policy == "table" && std::any_of(rows.begin(), rows.end(), [](const DraftTableRow& row) {
                      return row.draft_length == 0;
                    });
  if (lengths.minimum > 0 && !none) return;
  throw ConfigurationError(
      none ? "decode.draft_lengths.table" : "decode.draft_lengths.minimum",
      fmt::format("decode policy {} drafts in every round: at least 1 (0 has a meaning where an auxiliary drafter "
                  "proposes tokens for every step)",
                  decode.name));
}

/// Drafts that read a part of a KV which stays whole.
void check_sparse(const ServingConfig& config, const DecodePolicy& decode) {
  const models::CompressorSpec& c = config.decode.compressor;
  if (!decode.keeps_full) {
    if (decode.reads_compressed && c.reads_only) {
      throw ConfigurationError("decode.compressor",
                               fmt::format("{} chooses anew what to read out of the whole KV, and {} keeps a smaller "
                                           "one: use sparse_self, or a compressor",
                                           c.name, decode.name));
    }
    return;
  }
  if (c.kind != models::CompressionKind::token_dropping) {
    throw ConfigurationError(selection_key(config, decode),
                             fmt::format("decode policy {} reads some tokens of the full KV, and {} quantises all: "
                                         "use one that drops tokens, or draft_verify with decode.resident",
                                         decode.name, c.name));
  }
}

void check_budget(const ServingConfig& config, const models::CompressorSpec& c) {
  if (!config.decode.budget) return;
  if (c.kind != models::CompressionKind::token_dropping) {
    throw ConfigurationError("decode.budget",
                             fmt::format("{} narrows elements, and a budget is of whole tokens: use decode.keep_ratio, "
                                         "or a compressor that only drops tokens",
                                         c.name));
  }
  if (config.cluster.pools) {
    throw ConfigurationError("decode.budget", "pools plan with the share that is kept: use decode.keep_ratio");
  }
}

void check_compressor(const ServingConfig& config, const DecodePolicy& decode) {
  if (!decode.reads_compressed || drafts_as_found(config, decode)) return;
  const models::CompressorSpec& c = config.decode.compressor;
  if (c.name.empty()) {
    throw ConfigurationError("decode",
                             decode.keeps_full
                                 ? fmt::format("decode policy {} needs something that chooses what drafts read: give "
                                               "decode.sparse.selection (such as pillar-attention), or a compressor",
                                               decode.name)
                                 : fmt::format("decode policy {} needs a compressor{}", decode.name,
                                               config.chunks ? " (prompts that are computed whole have nothing else to "
                                                               "verify: use full_kv)"
                                                             : ""));
  }
  if (!config.cluster.pools && !c.long_context) {
    throw ConfigurationError(selection_key(config, decode),
                             fmt::format("compressor {} cannot be used for decoding on one replica", c.name));
  }
  if (!config.cluster.pools && !decode.keeps_full && c.mode == CompressionMode::offline &&
      config.prefill != PrefillKind::stored) {
    throw ConfigurationError(
        "decode.compressor",
        fmt::format("compressor {} works offline, before a request arrives: use prefill {{policy: stored}}, or a "
                    "compressor whose mode is online",
                    c.name));
  }
  if (c.kind != models::CompressionKind::token_dropping && config.model.kv_bytes_per_element != 2.0) {
    throw ConfigurationError("decode.compressor",
                             fmt::format("compressor {} quantises 16-bit KV, and {} has {:g} bytes per KV element",
                                         c.name, config.model.name, config.model.kv_bytes_per_element));
  }
  check_budget(config, c);
  const double ratio =
      config.decode.budget
          ? std::min(1.0, static_cast<double>(*config.decode.budget) / static_cast<double>(config.model.max_context))
          : effective_ratio(c, config.decode.keep_ratio);
  if (decode.verifies && config.decode.acceptance.kind == models::AcceptanceKind::compressor &&
      !(c.agreement_at(ratio) > 0)) {
    throw ConfigurationError(
        selection_key(config, decode),
        fmt::format("compressor {} has no acceptance figures: give decode.acceptance explicitly", c.name));
  }
}

/// What only replicas with host memory have.
void check_replicas(const ServingConfig& config, const DecodePolicy& decode, const SchedulePolicyEntry& schedule) {
  if (schedule.needs_verification && !decode.verifies) {
    throw ConfigurationError("schedule.policy",
                             fmt::format("schedule {} orders verifications and decode policy {} has none: use fcfs",
                                         schedule.name, decode.name));
  }
  const bool copies = decode.offloads() && !drafts_as_found(config, decode);
  if ((copies || config.prefill == PrefillKind::stored) && config.cluster.host_memory_bytes == 0) {
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

/// Ranks and stages: what the model can be cut into, and which steps are known for them.
void check_parallelism(const ServingConfig& config, const DecodePolicy& decode) {
  const models::Parallelism& p = config.cluster.parallel;
  const models::LlmSpec& m = config.model;
  if (m.heads % p.tensor != 0) {
    throw UnsuitableMachine(
        "cluster.gpu.tensor_parallel",
        fmt::format("{} attention heads of {} cannot be sharded evenly over {} GPUs", m.heads, m.name, p.tensor));
  }
  const char* expert_key = "cluster.gpu.expert_parallel";
  const char* data_key = "cluster.gpu.attention_data_parallel";
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
        data_key, fmt::format("ranks of {} would share nothing: use cluster.replicas: {}", m.name, p.attention_data));
  }
  if (p.pipeline > m.layers) {
    throw ConfigurationError("cluster.gpu.pipeline_parallel",
                             fmt::format("{} stages for the {} layers of {}", p.pipeline, m.layers, m.name));
  }
  if (p.tensor_only()) return;
  const char* key = p.attention_data > 1 ? data_key : "cluster.gpu.pipeline_parallel";
  if (decode.verifies || decode.drafter || decode.fetches() || decode.low_bit_copy || decode.keeps_full) {
    throw ConfigurationError(key,
                             fmt::format("the steps of decode policy {} are known for tensor-parallel groups only: "
                                         "use full_kv or lossy, or 1",
                                         decode.name));
  }
  if (config.cluster.pools || config.placement || config.prefill != PrefillKind::recompute) {
    throw ConfigurationError(key,
                             "how KV reaches ranks and stages from outside is known for tensor-parallel groups "
                             "only: use prefill: recompute on replicas, or 1");
  }
}

/// What a model's layers keep that is not the KV of all tokens, for messages; nothing where there is nothing else.
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
  if (config.cluster.pools) {
    throw ConfigurationError("cluster.pools", fmt::format("{}: nodes of pools keep and load KV in blocks of all "
                                                          "layers alike: use replicas",
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
  if (const auto& framework = config.cluster.profile.framework; framework && framework->full_kv_factor.value != 1) {
    throw UnsuitableMachine("cluster.gpu.profile",
                            fmt::format("{}: profile {} says what full KV takes in GPU memory for the KV of all "
                                        "tokens alone",
                                        layers, config.cluster.profile.name));
  }
}

/// Layers that are not all alike, on the GPUs that share them.
void check_shared_layers(const ServingConfig& config) {
  const models::LlmSpec& m = config.model;
  const std::int64_t stages = config.cluster.parallel.pipeline, gpus = config.cluster.parallel.tensor;
  const bool differ = m.window.layers > 0 || m.state.layers > 0 || m.without_attention > 0 || m.without_block > 0 ||
                      m.shared_kv_layers > 0;
  if (differ && stages > 1) {
    const std::string kept = kept_otherwise(m);
    throw ConfigurationError(
        "cluster.gpu.pipeline_parallel",
        fmt::format("{}: which stage has which of them is not known: use 1",
                    kept.empty() ? fmt::format("the layers of {} are of several kinds", m.name) : kept));
  }
  const auto check_heads = [&](std::int64_t heads, const char* what, const char* layers) {
    if (heads % gpus == 0) return;
    throw UnsuitableMachine("cluster.gpu.tensor_parallel",
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
  if (config.placement || config.prefill != PrefillKind::recompute) {
    refuse(
        "prompts that are loaded from elsewhere and found in GPU memory, too, are not described: use prefill: "
        "recompute without a placement, or remove this key");
  }
  if (config.cluster.parallel.attention_data > 1) {
    refuse(
        "ranks with attention of their own share no blocks, and which rank a request goes to is not described: "
        "remove this key, or use cluster.gpu.attention_data_parallel 1");
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

/// What policies with a low-bit copy, or that fetch KV, need.
void check_fetching(const ServingConfig& config, const DecodePolicy& decode) {
  const models::PrefetchSpec& spec = config.decode.prefetch;
  if (decode.low_bit_copy && config.decode.compressor.kind != models::CompressionKind::quantisation) {
    throw ConfigurationError("decode.compressor",
                             fmt::format("decode policy {} keeps a copy of few bits on the GPU, and {} does not "
                                         "quantise: use a quantiser, for example specache-2bit",
                                         decode.name, config.decode.compressor.name));
  }
  if (decode.fetch == Fetch::none) return;
  if (!config.cluster.pools && config.cluster.host_link_discipline != transport::Queueing::serialised) {
    throw ConfigurationError(
        "cluster.host.discipline",
        fmt::format("decode policy {} copies layer after layer, in order: use serialised", decode.name));
  }
  const std::int64_t queries = decode.fetch == Fetch::speculative ? spec.query_tokens + 1 : 1;
  if (config.schedule.max_batched_tokens < queries) {
    throw ConfigurationError("schedule.max_batched_tokens",
                             fmt::format("one request decodes {} tokens a step", queries));
  }
  if (decode.fetch == Fetch::everything && spec.buffered_layers >= config.model.layers) {
    throw ConfigurationError(
        "decode.prefetch.buffered_layers",
        fmt::format("{} has {} layers, and the GPU would hold all of their KV: use full_kv, or fewer",
                    config.model.name, config.model.layers));
  }
  if (!decode.fetches_pairs()) return;
  if (spec.row_tokens > config.model.max_context) {
    throw ConfigurationError(
        "decode.prefetch.row_tokens",
        fmt::format("a row of {} tokens is longer than any context of {}", spec.row_tokens, config.model.name));
  }
  if (config.model.attention != models::AttentionKind::gqa) {
    throw ConfigurationError("model", fmt::format("decode policy {} fetches keys and values of KV "
                                                  "heads, and {} keeps one latent a token",
                                                  decode.name, config.model.name));
  }
  const models::LayerFetch fetch =
      models::layer_fetch(spec, config.model, config.cluster.parallel.tensor, config.model.max_context);
  for (const auto& [link, key, figure] : kv_links(config)) {
    if (models::find_gather(link, spec.copies, fetch.row_bytes) != nullptr) continue;
    std::string known;
    for (const models::GatherMethod& method : link.gathers) known += (known.empty() ? "" : ", ") + method.name;
    throw UnsuitableMachine(known.empty() ? fmt::format("{}.gathers", key) : "decode.prefetch.copies",
                            known.empty()
                                ? fmt::format("link {} has no figures for copying scattered rows: give them", link.name)
                                : fmt::format("link {} has no figures for \"{}\", expected best or one of {}",
                                              link.name, spec.copies, known));
  }
}

/// "llama-3-8b", or with the small model that scores beside it.
std::string models_on_replica(const ServingConfig& config) {
  if (find_decode_policy(config.decode.policy)->drafter) {
    return fmt::format("{} with {} to draft for it", config.model.name, config.decode.drafter->spec.name);
  }
  if (replica_weights(config) == held_weights(config.model, config.cluster.parallel)) return config.model.name;
  return fmt::format("{} with {} to score beside it", config.model.name, config.reuse->speculative.model.name);
}

std::string what_decides_kv(const ServingConfig& config) {
  const ClusterConfig& c = config.cluster;
  if (c.stated_kv) {
    switch (c.stated_kv->unit) {
      case StatedKv::Unit::tokens:
        return "cluster.gpu.kv_tokens";
      case StatedKv::Unit::blocks:
        return "cluster.gpu.kv_blocks";
      case StatedKv::Unit::bytes:
        return "cluster.gpu.kv_bytes";
    }
  }
  if (c.activation_bytes) return "cluster.gpu.activations";
  if (c.profile.framework) return fmt::format("profile {}", c.profile.name);
  const auto& engine = config.schedule.engine;
  return fmt::format("memory of engine {}", engine && engine->memory ? engine->name : models::default_engine_memory);
}

}  // namespace

void check_configuration(const ServingConfig& given) {
  ServingConfig config = given;
  config.decode = own_drafts(given.decode);
  const DecodePolicy* decode = find_decode_policy(config.decode.policy);
  if (!decode) throw ConfigurationError("decode.policy", fmt::format("unknown decode policy {}", config.decode.policy));
  const SchedulePolicyEntry* schedule = find_schedule_policy(config.schedule.policy);
  if (!schedule)
    throw ConfigurationError("schedule.policy", fmt::format("unknown schedule policy {}", config.schedule.policy));
  if (!routing::find_router(config.cluster.router)) {
    throw ConfigurationError("cluster.router", fmt::format("unknown router {}", config.cluster.router));
  }
  check_parallelism(config, *decode);
  check_layers(config, *decode);
  check_shared_layers(config);
  check_compressor(config, *decode);
  check_sparse(config, *decode);
  check_drafter(config, *decode);
  check_draft_lengths(config, *decode);
  check_fetching(config, *decode);
  check_engine_rules(config, *decode);
  if (!config.cluster.pools) check_replicas(config, *decode, *schedule);
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
  kv_capacity(config);
}

KvCapacity kv_capacity(const ServingConfig& config) {
  const KvGeometry geometry = configured_geometry(config);
  KvCapacity k;
  k.weights_bytes = replica_weights(config);
  k.bytes = kv_capacity_bytes(config, geometry);
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
    const ClusterConfig& c = config.cluster;
    if (c.stated_kv) {
      throw ModelDoesNotFit(
          "cluster.gpu",
          fmt::format("{} has {:.1f} GB of weights, and {} x {} do not have the KV memory that is stated "
                      "beside them, or that is less than one block",
                      models_on_replica(config), static_cast<double>(k.weights_bytes) * 1e-9, c.parallel.gpus(),
                      c.gpu.name));
    }
    const auto beside = static_cast<double>(memory_beside_kv(config));
    const double usable = static_cast<double>(c.parallel.gpus()) *
                          (static_cast<double>(c.gpu.memory_bytes.value) * c.memory_fraction - beside);
    throw ModelDoesNotFit(
        "cluster.gpu",
        fmt::format(
            "{} does not fit: {:.1f} GB of weights, {} x {} leaves {:.1f} GB at memory_fraction {:g} with {:.1f} GB of "
            "activations per GPU, and not one block of KV{} beside them",
            models_on_replica(config), static_cast<double>(k.weights_bytes) * 1e-9, c.parallel.gpus(), c.gpu.name,
            usable * 1e-9, c.memory_fraction, beside * 1e-9, config.model.state.layers > 0 ? " with its state" : ""));
  }
  const KvLayout layout = kv_layout(config);
  const std::int64_t budget = config.schedule.max_batched_tokens;
  const auto pool = static_cast<double>(kv_pool_bytes(config));
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
  k.decided_by = what_decides_kv(config);
  return k;
}

}  // namespace kvsim::serving
