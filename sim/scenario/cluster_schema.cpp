// The field table of cluster: GPUs, host memory, nodes.
#include <array>
#include <string>

#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/schemas.h"
#include "sim/routing/router.h"
#include "sim/scenario/schemas.h"
#include "sim/serving/decode_policy.h"

namespace kvsim::scenario {
namespace {

ObjectSchema<GroupInput> make_gpu_schema() {
  ObjectSchema<GroupInput> s("gpu", "The GPUs of one replica, or of a node of a pool.");
  s.reference("type", &GroupInput::gpu, "gpu", models::gpu_schema(), Presence::required, "which GPU");
  s.optional("tensor_parallel", KVSIM_MEMBER(parallel.tensor), integer().at_least(1).at_most(1024),
             "GPUs that share every matrix, KV heads and host links");
  s.optional("attention_data_parallel", KVSIM_MEMBER(parallel.attention_data), integer().at_least(1).at_most(1024),
             "ranks of tensor_parallel GPUs each, with attention, dense layers, shared experts and requests of their "
             "own; they hold the routed experts together");
  s.optional(
      "expert_parallel", KVSIM_MEMBER(parallel.expert), integer().at_least(1).at_most(1024),
      "parts into which the GPUs of all ranks are cut to hold whole routed experts each; 1: all share every expert");
  s.optional("expert_imbalance", KVSIM_MEMBER(parallel.expert_imbalance),
             number().at_least(1).at_most(64).because("it is the fullest over the mean"),
             "tokens of the part with most, over the mean of all, beyond what chance does to experts alike");
  s.optional("pipeline_parallel", KVSIM_MEMBER(parallel.pipeline), integer().at_least(1).at_most(1024),
             "stages that hold a part of the layers each; a replica has tensor_parallel x attention_data_parallel x "
             "this many GPUs");
  s.optional(
      "memory_fraction", &GroupInput::memory_fraction, number().above(0).at_most(1),
      "of GPU memory as CUDA has it, what weights, activations and KV may use together (vLLM: "
      "gpu-memory-utilization); SGLang: of what is free before weights; TensorRT-LLM: of what is left beside them");
  s.optional("activations", &GroupInput::activation_bytes, bytes().non_negative().usually(1, 1e13),
             "per GPU, within that fraction, for activations and workspaces; by default what the engine takes "
             "(engine.memory), vllm's where there is none");
  s.optional(
      "kv_tokens", &GroupInput::kv_tokens, tokens().at_least(1).at_most(1e12),
      "KV memory of a replica as its start-up log states it (\"GPU KV cache size\"), in place of what weights and "
      "activations leave; one of kv_tokens, kv_blocks, kv_bytes");
  s.optional("kv_blocks", &GroupInput::kv_blocks, integer().at_least(1).at_most(1e12),
             "likewise, in blocks (num-gpu-blocks-override)");
  s.optional("kv_bytes", &GroupInput::kv_bytes, bytes().positive().usually(1e6, 1e13),
             "likewise, of one GPU (\"Available KV cache memory\", kv-cache-memory-bytes)");
  s.reference("profile", &GroupInput::profile, "profile", models::profile_schema(), Presence::optional,
              "kernel profile; by default the GPU's own");
  s.reference("peer_link", &GroupInput::peer_link, "link", models::link_schema(), Presence::optional,
              "link between the replica's GPUs; by default the GPU's own");
  return s;
}

void add_host(ObjectSchema<Written>& cluster) {
  using transport::Queueing;
  ObjectSchema<Written> s("host", "The host memory of one replica and the way to it.");
  s.optional("memory", KVSIM_MEMBER(host.memory_bytes), bytes().non_negative(), "host memory per replica for KV");
  s.reference("link", KVSIM_MEMBER(host.link), "link", models::link_schema(), Presence::optional,
              "link between host memory and one GPU; each GPU has its own; by default the GPU's own");
  s.optional(
      "discipline", KVSIM_MEMBER(serving.cluster.host_link_discipline),
      choice<Queueing>({{"serialised", Queueing::serialised, "one transfer at a time, in order of request"},
                        {"fair_share", Queueing::fair_share, "all transfers at once, equal shares of the bandwidth"}}),
      "how transfers share the link");
  s.optional(
      "shared", KVSIM_MEMBER(serving.cluster.host_shared), boolean(),
      "placement: the host memory of all replicas (replicas x memory) is one tier, which each reads over its own "
      "link");
  s.list("outages", KVSIM_MEMBER(host.outages), outage_schema(), Presence::optional,
         "placement: failures of the links to host memory, both directions");
  s.check([](const Written& x, const Reporter& report) { check_outages(x.host.outages, report); });
  cluster.object("host", kItself, s, Presence::optional, "host memory and link");
}

ObjectSchema<serving::NodeConfig> node_schema() {
  using serving::NodeConfig;
  ObjectSchema<NodeConfig> s("node", "What replicas run on and are bought in; a replica lies within nodes.");
  s.required(
      "gpus", &NodeConfig::gpus, integer().at_least(1).at_most(1024),
      "GPUs of a node: as many whole replicas as fit share one, and a larger replica takes several; all are paid "
      "for");
  s.optional("memory", &NodeConfig::memory_bytes, bytes().positive(),
             "host memory of a node for KV, in equal parts for the replicas on it, in place of host.memory (with "
             "host.shared it is one tier all the same)");
  s.reference("link", &NodeConfig::link, "link", models::link_schema(), Presence::optional,
              "what joins nodes, of each GPU, where a replica takes several: its collectives go within nodes over "
              "gpu.peer_link, then between them over this; left out: over gpu.peer_link alone, which is said");
  s.optional("price", &NodeConfig::usd_per_hour, schema::price().non_negative(),
             "of a node with all GPUs and host memory in it; left out: those of its parts by the price table");
  return s;
}

/// Which machines read which keys of cluster.
void add_cluster_rules(ObjectSchema<Written>& cluster) {
  const auto of_gpu = [&cluster](const GpuRule& rule) {
    cluster.unread(rule.keys, [why = rule.why](const Written& s) { return std::string(why(s.gpus)); });
  };
  const auto& [memory, peers, imbalance] = gpu_rules();
  cluster.unread({"router"}, [](const Written& s) {
    return s.replicas > 1 || s.pools ? "" : "there is one replica, which gets every request: give cluster.replicas";
  });
  of_gpu(memory);
  of_gpu(peers);
  cluster.unread({"host.link", "host.discipline"}, [](const Written& s) {
    const serving::ServingConfig& c = s.serving;
    const bool loads = s.pools || c.placement || c.prefill != serving::PrefillKind::recompute;
    return loads || serving::configured_policy(c).offloads()
               ? ""
               : "KV stays on the GPU: give placement, prefill: stored, or a decode policy with KV in host memory";
  });
  of_gpu(imbalance);
  cluster.unread({"node.link"}, [](const Written& s) {
    const auto& node = s.serving.cluster.node;
    return !node || s.gpus.parallel.gpus() > node->gpus ? ""
                                                        : "a replica lies within one node: its GPUs use gpu.peer_link";
  });
}

}  // namespace

const std::array<GpuRule, 3>& gpu_rules() {
  static const std::array<GpuRule, 3> rules{
      GpuRule{{"gpu.memory_fraction", "gpu.activations"},
              [](const GroupInput& group) {
                return group.stated_kv ? "the KV memory is stated beside it: remove one of the keys" : "";
              }},
      {{"gpu.peer_link"},
       [](const GroupInput& group) {
         return group.parallel.gpus() > 1 ? ""
                                          : "a replica has one GPU, without peers: give cluster.gpu.tensor_parallel";
       }},
      {{"gpu.expert_imbalance"}, [](const GroupInput& group) {
         return group.parallel.expert > 1 ? "" : "all GPUs share every expert: give cluster.gpu.expert_parallel";
       }}};
  return rules;
}

const ObjectSchema<GroupInput>& gpu_schema() {
  static const ObjectSchema<GroupInput> schema = make_gpu_schema();
  return schema;
}

ObjectSchema<Written> cluster_schema() {
  ObjectSchema<Written> s("cluster", "The machines.");
  s.optional("replicas", &Written::replicas, integer().at_least(1).at_most(10000),
             "identical replicas, each with all of the following");
  s.optional("router", KVSIM_MEMBER(serving.cluster.router), one_of(words_of(routing::routers())),
             "which replica an arriving request goes to; left out: session where the workload has sessions, else "
             "least_loaded");
  s.own_keys(routing::routers(), KVSIM_MEMBER(serving.cluster.router_keys), KVSIM_MEMBER(serving.cluster.router),
             "router");
  s.object("gpu", &Written::gpus, gpu_schema(), Presence::required, "the GPUs of one replica");
  add_host(s);
  s.object("node", KVSIM_MEMBER(serving.cluster.node), node_schema(), Presence::optional,
           "what replicas are bought in; left out: GPUs are bought one by one");
  s.list("storage", KVSIM_MEMBER(serving.cluster.storage), storage_schema(), Presence::optional,
         "tiers below host memory, or the storage node's, the nearest first (placement)");
  s.object("pools", &Written::pools, pools_schema(), Presence::optional,
           "two pools of nodes around a storage node, in place of replicas with host memory");
  add_cluster_rules(s);
  return s;
}

}  // namespace kvsim::scenario
