// The field table of cluster: GPUs, host memory, nodes.
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

void add_gpu(ObjectSchema<Written>& cluster) {
  ObjectSchema<Written> s("gpu", "The GPUs of one replica.");
  s.reference("type", KVSIM_MEMBER(serving.cluster.gpu), "gpu", models::gpu_schema(), Presence::required, "which GPU");
  s.optional("tensor_parallel", KVSIM_MEMBER(serving.cluster.parallel.tensor), integer().at_least(1).at_most(1024),
             "GPUs that share every matrix, KV heads and host links");
  s.optional("attention_data_parallel", KVSIM_MEMBER(serving.cluster.parallel.attention_data),
             integer().at_least(1).at_most(1024),
             "ranks of tensor_parallel GPUs each, with attention, dense layers, shared experts and requests of their "
             "own; they hold the routed experts together");
  s.optional(
      "expert_parallel", KVSIM_MEMBER(serving.cluster.parallel.expert), integer().at_least(1).at_most(1024),
      "parts into which the GPUs of all ranks are cut to hold whole routed experts each; 1: all share every expert");
  s.optional("expert_imbalance", KVSIM_MEMBER(serving.cluster.parallel.expert_imbalance),
             number().at_least(1).at_most(64).because("it is the fullest over the mean"),
             "tokens of the part with most, over the mean of all, beyond what chance does to experts alike");
  s.optional("pipeline_parallel", KVSIM_MEMBER(serving.cluster.parallel.pipeline), integer().at_least(1).at_most(1024),
             "stages that hold a part of the layers each; a replica has tensor_parallel x attention_data_parallel x "
             "this many GPUs");
  s.optional(
      "memory_fraction", KVSIM_MEMBER(serving.cluster.memory_fraction), number().above(0).at_most(1),
      "of GPU memory as CUDA has it, what weights, activations and KV may use together (vLLM: "
      "gpu-memory-utilization); SGLang: of what is free before weights; TensorRT-LLM: of what is left beside them");
  s.optional("activations", KVSIM_MEMBER(serving.cluster.activation_bytes), bytes().non_negative().usually(1, 1e13),
             "per GPU, within that fraction, for activations and workspaces; by default what the engine takes "
             "(engine.memory), vllm's where there is none");
  s.optional(
      "kv_tokens", &Written::kv_tokens, tokens().at_least(1).at_most(1e12),
      "KV memory of a replica as its start-up log states it (\"GPU KV cache size\"), in place of what weights and "
      "activations leave; one of kv_tokens, kv_blocks, kv_bytes");
  s.optional("kv_blocks", &Written::kv_blocks, integer().at_least(1).at_most(1e12),
             "likewise, in blocks (num-gpu-blocks-override)");
  s.optional("kv_bytes", &Written::kv_bytes, bytes().positive().usually(1e6, 1e13),
             "likewise, of one GPU (\"Available KV cache memory\", kv-cache-memory-bytes)");
  s.reference("profile", KVSIM_MEMBER(serving.cluster.profile), "profile", models::profile_schema(), Presence::optional,
              "kernel profile; by default the GPU's own");
  s.reference("peer_link", KVSIM_MEMBER(serving.cluster.peer_link), "link", models::link_schema(), Presence::optional,
              "link between the replica's GPUs; by default the GPU's own");
  cluster.object("gpu", kItself, s, Presence::required, "the GPUs of one replica");
}

void add_host(ObjectSchema<Written>& cluster) {
  using transport::Queueing;
  ObjectSchema<Written> s("host", "The host memory of one replica and the way to it.");
  s.optional("memory", KVSIM_MEMBER(serving.cluster.host_memory_bytes), bytes().non_negative(),
             "host memory per replica for KV");
  s.reference("link", KVSIM_MEMBER(serving.cluster.host_link), "link", models::link_schema(), Presence::optional,
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
  s.list("outages", KVSIM_MEMBER(serving.cluster.host_outages), outage_schema(), Presence::optional,
         "placement: failures of the links to host memory, both directions");
  s.check([](const Written& x, const Reporter& report) { check_outages(x.serving.cluster.host_outages, report); });
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
  cluster.unread({"router"}, [](const Written& s) {
    return s.serving.cluster.replicas > 1 || s.serving.cluster.pools
               ? ""
               : "there is one replica, which gets every request: give cluster.replicas";
  });
  cluster.unread({"gpu.memory_fraction", "gpu.activations"}, [](const Written& s) {
    const auto& stated = s.serving.cluster.stated_kv;
    return stated ? "the KV memory is stated beside it: remove one of the keys" : "";
  });
  cluster.unread({"gpu.peer_link"}, [](const Written& s) {
    return s.serving.cluster.parallel.gpus() > 1
               ? ""
               : "a replica has one GPU, without peers: give cluster.gpu.tensor_parallel";
  });
  cluster.unread({"host.link", "host.discipline"}, [](const Written& s) {
    const serving::ServingConfig& c = s.serving;
    const bool loads = c.cluster.pools || c.placement || c.prefill != serving::PrefillKind::recompute;
    return loads || serving::configured_policy(c).offloads()
               ? ""
               : "KV stays on the GPU: give placement, prefill: stored, or a decode policy with KV in host memory";
  });
  cluster.unread({"gpu.expert_imbalance"}, [](const Written& s) {
    return s.serving.cluster.parallel.expert > 1 ? "" : "all GPUs share every expert: give cluster.gpu.expert_parallel";
  });
  cluster.unread({"node.link"}, [](const Written& s) {
    const serving::ClusterConfig& c = s.serving.cluster;
    return !c.node || c.parallel.gpus() > c.node->gpus ? ""
                                                       : "a replica lies within one node: its GPUs use gpu.peer_link";
  });
}

}  // namespace

ObjectSchema<Written> cluster_schema() {
  ObjectSchema<Written> s("cluster", "The machines.");
  s.optional("replicas", KVSIM_MEMBER(serving.cluster.replicas), integer().at_least(1).at_most(10000),
             "identical replicas, each with all of the following");
  s.optional("router", KVSIM_MEMBER(serving.cluster.router), one_of(words_of(routing::routers())),
             "which replica an arriving request goes to; left out: session where the workload has sessions, else "
             "least_loaded");
  s.own_keys(routing::routers(), KVSIM_MEMBER(serving.cluster.router_keys), KVSIM_MEMBER(serving.cluster.router),
             "router");
  add_gpu(s);
  add_host(s);
  s.object("node", KVSIM_MEMBER(serving.cluster.node), node_schema(), Presence::optional,
           "what replicas are bought in; left out: GPUs are bought one by one");
  s.list("storage", KVSIM_MEMBER(serving.cluster.storage), storage_schema(), Presence::optional,
         "tiers below host memory, or the storage node's, the nearest first (placement)");
  s.object("pools", KVSIM_MEMBER(serving.cluster.pools), pools_schema(), Presence::optional,
           "two pools of nodes around a storage node, in place of replicas with host memory");
  add_cluster_rules(s);
  return s;
}

}  // namespace kvsim::scenario
