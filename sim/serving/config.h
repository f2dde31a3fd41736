// Configuration of one serving simulation: catalogue entries already resolved, every quantity in base units.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/acceptance/acceptance.h"
#include "models/compression/compressor_spec.h"
#include "models/drafting/drafter_spec.h"
#include "models/engines/engine_spec.h"
#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/llm/llm_spec.h"
#include "models/llm/parallelism.h"
#include "models/paths/path.h"
#include "models/placement/placement_spec.h"
#include "models/placement/quality_curves.h"
#include "models/prefetch/prefetch_spec.h"
#include "models/reuse/rag_task.h"
#include "models/schema/own_keys.h"
#include "models/workload/shared_chunks.h"
#include "sim/serving/slo.h"
#include "sim/serving/topology.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

/// Where the contexts are that nodes read.
struct StorageConfig {
  std::optional<std::int64_t> capacity_bytes;  ///< for KV; none: all of it is kept (prefill: prefix_cache)
  std::optional<double> read_bytes_per_s;      ///< what both pools' reads cross together; none: no such limit
};

/// Which path each request takes (sim/pools/dispatchers).
struct DispatchConfig {
  std::string policy = "online";
  std::vector<models::Path> paths;               ///< allowed; empty: all that the decode policy has a use for
  std::array<double, models::kPaths> weights{};  ///< weighted: requests/s by path, or any numbers in proportion
  schema::OwnKeys own;                           ///< of the policy
};

/// A small local pool on a fast link and a larger remote pool on a slow one, around a storage node (remote prefix
/// caching). The pools are ClusterConfig::groups, the local one first.
struct PoolsConfig {
  StorageConfig storage;
  DispatchConfig dispatch;
  double message_latency_s = 0;  ///< drafts to the verifier, and its verdict back; each way
};

/// A tier of storage below host memory.
struct StorageTierConfig {
  std::string name;
  std::optional<std::int64_t> capacity_bytes;  ///< of each; none: everything has room
  double read_bytes_per_s = 0;
  std::optional<double> write_bytes_per_s;   ///< none: that of reading
  double latency_s = 0;                      ///< of every read and write
  bool shared = false;                       ///< one for all replicas; else each replica has its own
  std::vector<transport::Outage> outages{};  ///< times in which it is slower, or stands still
};

/// Unit in which GPUs are bought: a machine with several of them and host memory that its replicas share.
struct NodeConfig {
  std::int64_t gpus = 8;
  std::optional<std::int64_t> memory_bytes;  ///< of the node; none: GroupConfig::host_memory_bytes says it
  std::optional<double> usd_per_hour;        ///< of the node with all that is in it; none: by prices of its parts
  std::optional<models::LinkSpec> link;      ///< of each GPU, to other nodes; none: not known
};

/// KV memory of a replica as an engine's start-up log states it, in place of what weights and activations leave.
struct StatedKv {
  enum class Unit {
    tokens,  ///< of all ranks: "GPU KV cache size"
    blocks,  ///< likewise: num_gpu_blocks
    bytes    ///< of one GPU: "Available KV cache memory"
  };
  Unit unit = Unit::tokens;
  std::int64_t amount = 0;
};

/// Roles are stages of a request that not every group need take; all of them compute prompts and decode.
struct Roles {
  bool draft = true, verify = true;
};

/// Instances that are alike. The GPUs of each share the model as `parallel` says, and have links of their own to host
/// memory.
struct GroupConfig {
  std::string name = "gpu";  ///< in results, and as the end of its links: "gpu" (replicas), "local", "remote"
  Roles roles{};
  std::string gpu_key = "cluster.gpu";  ///< of the scenario: says the GPUs
  std::int64_t kind = 0;                ///< groups of one kind have the same GPUs, profile, parallelism and memory
  std::int64_t count = 1;               ///< instances
  models::Parallelism parallel;
  models::GpuSpec gpu;
  models::KernelProfile profile;
  models::LinkSpec peer_link;
  models::LinkSpec host_link;                    ///< of one GPU; an instance has one per GPU and moves its shards in
                                                 ///< parallel
  double memory_fraction = 0.9;                  ///< of GPU memory, for weights, KV and activations
  std::optional<std::int64_t> activation_bytes;  ///< per GPU, within that fraction, not available to KV; none: as
                                                 ///< engine_memory has it
  models::EngineMemory engine_memory;            ///< beside weights and KV, of the schedule's engine or the default one
  std::optional<StatedKv> stated_kv;             ///< KV memory as given; none: what weights and activations leave
  std::int64_t host_memory_bytes = 0;            ///< per instance
  std::int64_t scorer_gpus = 0;                  ///< per instance, of the same kind: only for a small model that scores
  models::LinkSpec storage_link;                 ///< pools: read: storage node to one instance; write: back
  std::optional<double> shared_bytes_per_s;  ///< pools: bandwidth that all the group's reads together cross; none: no
                                             ///< such limit
  std::vector<transport::Outage> outages{};  ///< placement: of the links to host memory; pools: of those to the
                                             ///< storage node and what they share; both directions

  /// GPUs of an instance, with those that score for it.
  [[nodiscard]] std::int64_t gpus() const { return parallel.gpus() + scorer_gpus; }
};

/// Groups of instances with what they share: identical replicas behind a router, or two pools.
struct ClusterConfig {
  std::vector<GroupConfig> groups = std::vector<GroupConfig>(1);  ///< one of replicas, or the local and the remote pool
  transport::Queueing host_link_discipline = transport::Queueing::serialised;
  bool host_shared = false;                  ///< placement: the replicas' host memory together is one tier
  std::vector<StorageTierConfig> storage{};  ///< placement: below host memory, the nearest first
  std::string router;                        ///< a name of routing::routers(); empty: not chosen yet
  schema::OwnKeys router_keys;               ///< of the router
  std::optional<PoolsConfig> pools;          ///< instead of replicas with host memory
  std::optional<NodeConfig> node;            ///< that replicas are bought in; none: GPUs are bought alone

  [[nodiscard]] Topology topology() const&;
  Topology topology() const&& = delete;

  /// The first group that takes the stage.
  [[nodiscard]] const GroupConfig& with(bool Roles::*role) const;
  [[nodiscard]] GroupConfig& with(bool Roles::*role);

  /// The group with the GPUs, profile, parallelism and memory of all instances, for what knows one kind of instance
  /// only. Throws ConfigurationError at the key of GPUs that differ from those of another group.
  [[nodiscard]] const GroupConfig& uniform() const;

  /// Copies of the cluster that serve their requests alone: replicas; 1 where requests take paths through pools.
  [[nodiscard]] std::int64_t replicas() const { return pools ? 1 : groups.front().count; }
};

/// The link that joins the GPUs of an instance: peer_link within a node, and between nodes their link.
[[nodiscard]] models::Interconnect interconnect(const ClusterConfig& cluster, const GroupConfig& group);

/// A group of each kind that has instances, in order of groups; the first group where none has.
[[nodiscard]] std::vector<const GroupConfig*> kinds(const ClusterConfig& cluster);

/// Instances of all groups: replicas, or the nodes of both pools.
[[nodiscard]] std::int64_t instances(const ClusterConfig& cluster);

/// GPUs of the whole cluster.
[[nodiscard]] std::int64_t gpus(const ClusterConfig& cluster);

/// Nodes that hold so many replicas: as many whole replicas a node as fit, and of those that are larger than a node as
/// many nodes a replica as they take. Precondition: cluster.node.
[[nodiscard]] std::int64_t nodes_for(const ClusterConfig& cluster, std::int64_t replicas);

/// Nodes that one replica takes: 1/n where n of them share one. Precondition: cluster.node.
[[nodiscard]] double nodes_per_replica(const ClusterConfig& cluster);

/// Where a node has memory, host_memory_bytes becomes a replica's share of it.
void share_node_memory(ClusterConfig& cluster);

/// How a prompt's KV comes to exist on the GPU.
enum class PrefillKind {
  recompute,     ///< prefilled here, in chunks mixed with decoding
  stored,        ///< computed before (elsewhere, or by an earlier request) and waiting in host memory (pools: on the
                 ///< storage node): loaded
  prefix_cache,  ///< what earlier requests left, on the storage node of pools or in the tiers of `placement`, is
                 ///< loaded, the rest prefilled and stored
  // Prompts made of chunks, each chunk's KV stored alone and put together again (sim/reuse).
  full_reuse,  ///< as it is
  selective,   ///< with the recomputed tokens that a small model chooses
  cacheblend,  ///< with those recomputed that deviate most in the first layer
  epic         ///< with the first tokens of every chunk recomputed
};

/// Whether prompts are put together from chunks.
inline bool reuses_chunks(PrefillKind prefill) {
  return prefill >= PrefillKind::full_reuse;
}

/// How many tokens a round drafts (sim/serving/draft_lengths).
struct DraftLengthConfig {
  std::string policy = "fixed";
  std::int64_t minimum = 1;
  std::int64_t maximum = 64;
  schema::OwnKeys own;  ///< of the policy
};

/// Drafts that branch: at every position several candidates, of which the step accepts one path (EAGLE-2).
struct DraftTree {
  std::int64_t top_k = 1;   ///< candidates that each pass but the first goes on with
  std::int64_t tokens = 2;  ///< query tokens of a request's step, the one that follows its context among them
};

/// An auxiliary drafter beside the model (policies with one).
struct DrafterConfig {
  models::DrafterSpec spec;
  std::optional<DraftTree> tree;  ///< none: a chain; draft_length is the depth of a tree
  std::int64_t draft_length = 0;  ///< tokens it proposes before a step; 0: as many as it was made for
  std::optional<models::AcceptanceSpec> acceptance;  ///< how many of them the step accepts; none: as published of it

  [[nodiscard]] std::int64_t tokens() const { return draft_length > 0 ? draft_length : spec.draft_length; }
  /// Query tokens that a step verifies beside its own, where so many in a row are proposed.
  [[nodiscard]] std::int64_t verified(std::int64_t proposed) const {
    return tree && proposed > 0 ? std::max(proposed, tree->tokens - 1) : proposed;
  }
  [[nodiscard]] const models::AcceptanceSpec& law() const { return acceptance ? *acceptance : spec.acceptance; }
};

/// Settings of sparse_self's drafts, where they read something else than the drafts of other policies.
struct SparseConfig {
  std::optional<models::CompressorSpec> selection;  ///< what chooses the tokens to read; none: decode.compressor
  std::optional<double> keep_ratio;                 ///< share of the KV read
  std::optional<std::int64_t> draft_length;
  std::optional<models::AcceptanceSpec> acceptance;
};

/// `draft_limit` of requests that draft what they set out to draft, and wait for a reload that is late.
constexpr std::int64_t kStrictDraftLimit = -1;

struct DecodeConfig {
  std::string policy = "full_kv";
  models::CompressorSpec compressor;   ///< unused by full_kv
  double keep_ratio = 1.0;             ///< of token dropping; a quantiser's ratio follows from its bits
  std::optional<std::int64_t> budget;  ///< tokens left of a context by token dropping, in place of keep_ratio
  std::int64_t draft_length = 25;      ///< x of draft length policy fixed
  std::int64_t draft_limit = 0;        ///< most draft positions while a reload is late; 0: 2 x, kStrictDraftLimit: x
  models::AcceptanceSpec acceptance;
  DraftLengthConfig draft_lengths;
  models::PrefetchSpec prefetch;          ///< of the policies that fetch
  std::int64_t resident = 0;              ///< B_g: requests per replica whose full KV stays in HBM
  std::optional<std::int64_t> offloaded;  ///< most offloaded requests B_c per replica; none: as many as fit
  std::optional<DrafterConfig> drafter;
  std::optional<SparseConfig> sparse;
};

/// How much of a reload must be there when its verification begins.
enum class ReloadArrival {
  layerwise,  ///< each layer's KV in time for that layer: the end of the transfer overlaps the forward pass
  whole       ///< all of it
};

/// Requests that could begin are held back while others decode, so that the prompts of several are computed together.
struct BatchWait {
  std::int64_t iterations = 0;           ///< at most so many; 0: never
  double tokens = 1;                     ///< until they and those who decode fill this share of max_batched_tokens
  std::optional<std::int64_t> requests;  ///< until there are so many of them; none: however many
};

struct ScheduleConfig {
  std::string policy = "fcfs";
  std::int64_t window = 128;               ///< staggered: iterations looked ahead (W)
  std::optional<ReloadArrival> arrival;    ///< none: layerwise, between pools whole
  std::int64_t max_requests = 256;         ///< running at once on a replica
  std::int64_t max_batched_tokens = 2048;  ///< tokens of a step, decode and prefill chunks together
  std::int64_t block_tokens = 16;          ///< KV is allocated in blocks of this many tokens
  bool asynchronous = false;               ///< an iteration is decided when the one before it begins
  std::int64_t receive_interval = 1;       ///< iterations of decoding alone between two looks at new requests
  BatchWait batch_wait;
  bool blocking_loads = false;                        ///< no step begins while KV of prompts comes that was stored
  bool prefix_caching = false;                        ///< prompts find what GPU memory has of them, and share it
  std::optional<models::PrefillOrder> prefill_order;  ///< none: mixed
  std::optional<models::KvReservation> reservation;   ///< none: prompt
  std::optional<models::PreemptedKv> preempted;       ///< none: dropped
  std::optional<models::EngineSpec> engine;  ///< what it says of the above is there where nothing else was said
  schema::OwnKeys own;                       ///< of the policy

  [[nodiscard]] bool prefill_first() const { return prefill_order == models::PrefillOrder::prefill_first; }
  /// Between sites, where a request has all of its memory from the beginning unless something else was said.
  [[nodiscard]] bool reserves_prompt() const { return reservation == models::KvReservation::prompt; }
  [[nodiscard]] bool reserves_output() const { return reservation == models::KvReservation::prompt_and_output; }
  [[nodiscard]] bool caches_preempted() const { return preempted == models::PreemptedKv::cached; }
};

/// Requests of one kind among others (RequestSpec::kind).
struct ClassConfig {
  std::string name;
  std::optional<SloConfig> slo;  ///< none: ServingConfig::slo
};

/// How many judged requests may miss any of some objectives.
struct MissLimit {
  Verdict misses = 0;      ///< bits of which one makes a miss
  std::uint64_t most = 0;  ///< requests
};

struct RunConfig {
  std::optional<double> duration_s;  ///< none: until every request has finished
  double warmup_s = 0;               ///< not measured
  /// Requests that arrive after the warm-up and before this time are judged one by one (Measurements::verdicts); the
  /// run ends as soon as all of them have been, at its duration at the latest. None: no request is judged.
  std::optional<double> judge_until_s;
  /// The run ends early, marked given_up, once more judged requests than one of these allows have certainly missed.
  std::vector<MissLimit> most_misses;
  std::uint64_t seed = 1;
  /// Requests that may be in the system at once. Each has memory; one more ends the run with a ConfigurationError.
  std::int64_t most_in_flight = 1'000'000;
  bool token_samples = true;             ///< keep the gap before every token (Measurements::itl_s, round_gap_s)
  std::optional<double> sample_every_s;  ///< period of a timeline; none: it chooses one
  bool stretches = true;                 ///< steps in which nothing else happens as one event; false: the same, slower
  bool layer_events = false;             ///< layers of fetching policies step by step: the same results, slower
};

struct ServingConfig {
  models::LlmSpec model;
  ClusterConfig cluster;
  PrefillKind prefill = PrefillKind::recompute;
  std::optional<models::PlacementSpec> placement;            ///< replicas, prefill: prefix_cache
  std::vector<models::Sensitivity> context_sensitivities{};  ///< placement: of shared contexts, round robin
  std::vector<std::string> context_datasets{};  ///< placement: the data sets that shared contexts are dealt to in turn
  std::shared_ptr<const models::QualityTable> context_curves{};  ///< placement: measured ones, in place of generated
  std::optional<models::SharedChunkSpec> chunks{};               ///< that prompts are made of
  std::optional<models::ReuseSpec> reuse{};                      ///< prefill policies that put prompts together
  std::shared_ptr<const std::vector<models::ScoredPrompt>> scored_prompts{};  ///< reuse.importance.source: file
  std::vector<models::RagTask> tasks{};  ///< of prompts made of chunks, by request in turn
  DecodeConfig decode;
  ScheduleConfig schedule;
  SloConfig slo;
  std::vector<ClassConfig> classes{};  ///< of requests; empty: there is one kind
  RunConfig run;

  /// The objectives of requests of a class.
  [[nodiscard]] const SloConfig& slo_of(std::size_t kind) const {
    return kind < classes.size() && classes[kind].slo ? *classes[kind].slo : slo;
  }
};

/// The links to instances, of the pools that have any.
[[nodiscard]] std::vector<NamedLink> kv_links(const ServingConfig& config);

}  // namespace kvsim::serving
