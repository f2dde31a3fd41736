#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "models/hardware/link_spec.h"
#include "models/paths/path.h"
#include "models/schemas.h"
#include "sim/pools/dispatcher.h"
#include "sim/scenario/schemas.h"
#include "sim/serving/schedule_policy.h"

namespace kvsim::scenario {

using schema::number;
using schema::ObjectSchema;
using schema::Reporter;
using schema::time;
using transport::Outage;

namespace {

/// The place of an outage that begins before another one of the list is over; none where they follow one another.
std::optional<std::size_t> overlapping(const std::vector<Outage>& outages) {
  for (std::size_t i = 0; i < outages.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const Outage& a = outages[i];
      const Outage& b = outages[j];
      if (a.at_s < b.at_s + b.lasting_s && b.at_s < a.at_s + a.lasting_s) return i;
    }
  }
  return std::nullopt;
}

}  // namespace

ObjectSchema<Outage> outage_schema() {
  ObjectSchema<Outage> s("outages", "A time in which links fail or are slow, in both directions.");
  s.required("at", &Outage::at_s, time().non_negative(), "when it begins, since the start of the run");
  s.required("lasting", &Outage::lasting_s, time().positive(), "how long it lasts");
  s.optional("bandwidth", &Outage::bandwidth_fraction, number().non_negative().below(1),
             "share of the bandwidth that is left meanwhile; 0: transfers stand still");
  return s;
}

void check_outages(const std::vector<Outage>& outages, const Reporter& report) {
  if (const auto i = overlapping(outages)) {
    report.fail(fmt::format("outages.{}", *i), "overlaps an outage before it in the list: make one of them");
  }
}

using schema::bandwidth;
using schema::boolean;
using schema::bytes;
using schema::Presence;
using schema::text;
using serving::StorageTierConfig;

ObjectSchema<StorageTierConfig> storage_schema() {
  using T = StorageTierConfig;
  constexpr double kSlowest = 1e3;  // bytes/s: below, a load outlasts any run
  ObjectSchema<T> s("storage",
                    "A tier below host memory, or below the storage node's, for stored prompts (placement).");
  s.required("name", &T::name, text().non_empty(), "what results call it: ssd, remote");
  s.optional("capacity", &T::capacity_bytes, bytes().non_negative(),
             "of each such tier; without it, which only the last tier may be, all is kept");
  s.required("read", &T::read_bytes_per_s, bandwidth().at_least(kSlowest), "to host memory, all readers together");
  s.optional("write", &T::write_bytes_per_s, bandwidth().at_least(kSlowest),
             "from host memory, or the storage node's; by default that of reading");
  s.optional("latency", &T::latency_s, time().non_negative().at_most(3600),
             "of every read and write, beside its bytes");
  s.optional("shared", &T::shared, boolean(), "one tier for all replicas, else one for each");
  s.list("outages", &T::outages, outage_schema(), Presence::optional, "failures of its links, both directions");
  s.check([](const T& tier, const Reporter& report) { check_outages(tier.outages, report); });
  return s;
}

namespace {

using schema::integer;
using schema::one_of;
using schema::ScalarSpec;
using serving::StorageConfig;

ObjectSchema<PoolInput> pool_schema(const char* name, const char* description) {
  ObjectSchema<PoolInput> s(name, description);
  s.required("nodes", &PoolInput::nodes, integer().non_negative().at_most(10000),
             "nodes, each with the GPUs of cluster.gpu, or of gpu");
  s.reference("link", &PoolInput::link, "link", models::link_schema(), Presence::required,
              "link between the storage node and one node; each node has its own");
  s.optional("shared", &PoolInput::shared_bytes_per_s, bandwidth().positive(),
             "what all the pool's nodes read together crosses this too; without it there is no such limit");
  s.list("outages", &PoolInput::outages, outage_schema(), Presence::optional,
         "failures of the pool's links and of what they share");
  s.object("gpu", &PoolInput::gpu, gpu_schema(), Presence::optional,
           "the GPUs of one node, or their type alone; keys that are left out are as in cluster.gpu, but another type "
           "has a profile, a "
           "peer_link and KV memory of its own; by default those of cluster.gpu");
  for (const GpuRule& rule : gpu_rules()) {
    s.unread(rule.keys,
             [why = rule.why](const PoolInput& pool) { return std::string(pool.gpu ? why(*pool.gpu) : ""); });
  }
  s.check([](const PoolInput& pool, const Reporter& report) { check_outages(pool.outages, report); });
  return s;
}

ObjectSchema<PoolsInput> make_pools_schema() {
  ObjectSchema<StorageConfig> storage("storage", "The storage node, which holds the KV of contexts.");
  storage.optional(
      "capacity", &StorageConfig::capacity_bytes, bytes().positive(),
      "for KV (prefill: prefix_cache), the least recently used going first or as placement says; without it all "
      "is kept");
  storage.optional("read", &StorageConfig::read_bytes_per_s, bandwidth().positive(),
                   "what both pools read together crosses this too; without it there is no such limit");

  ObjectSchema<PoolsInput> s("pools",
                             "Remote prefix caching: a local pool of nodes on a fast link and a remote pool on a slow "
                             "one, around a storage node. In place of replicas with host memory.");
  s.object("local", &PoolsInput::local, pool_schema("local", "The nodes near the storage node, which can verify."),
           Presence::optional, "by default no nodes");
  s.object("remote", &PoolsInput::remote,
           pool_schema("remote", "The nodes far from the storage node, which can draft on compressed KV."),
           Presence::optional, "by default no nodes");
  s.object("storage", &PoolsInput::storage, storage, Presence::optional, "the storage node");
  s.optional("message_latency", &PoolsInput::message_latency_s, time().non_negative().at_most(3600),
             "of drafts on their way to the verifying node, and of its verdict back; each way");
  s.check([](const PoolsInput& pools, const Reporter& report) {
    if (pools.local.nodes + pools.remote.nodes == 0) {
      report.fail("", "no nodes: give local.nodes or remote.nodes at least 1");
    }
  });
  return s;
}

ObjectSchema<PathWeights> weights_schema() {
  ObjectSchema<PathWeights> s("weights", "Requests by path, as numbers in any proportion.");
  for (const models::Path path : models::kAllPaths) {
    const models::PathTraits& t = models::traits(path);
    const std::size_t i = models::index_of(path);
    s.optional(
        t.name.data(), [i](auto& weights) -> auto& { return weights[i]; }, number().non_negative(),
        t.description.data());
  }
  return s;
}

ObjectSchema<DispatchInput> make_dispatch_schema() {
  ObjectSchema<DispatchInput> s("dispatch", "Which path through the pools each request takes (with cluster.pools).");
  s.optional("policy", &DispatchInput::policy, one_of(words_of(pools::dispatchers())), "dispatch policy");
  s.list("paths", &DispatchInput::paths, ScalarSpec::choice(models::path_words()), Presence::optional,
         "paths that requests may take; by default all that the decode policy has a use for");
  s.object("weights", &DispatchInput::weights, weights_schema(), Presence::optional, "of the policy weighted");
  s.check([](const DispatchInput& dispatch, const Reporter& report) {
    const bool weighted = dispatch.policy == "weighted";
    if (weighted && !dispatch.weights) {
      report.fail("", "missing key \"weights\", which policy weighted needs, such as {B1: 1, P1_stateless: 3}");
    }
    if (!weighted && dispatch.weights) {
      report.fail("weights",
                  fmt::format("belongs to policy weighted, and policy {} would not look at it: remove it, or use "
                              "policy: weighted",
                              dispatch.policy));
    }
    for (std::size_t i = 0; i < dispatch.paths.size(); ++i) {
      const auto here = dispatch.paths.begin() + static_cast<std::ptrdiff_t>(i);
      if (std::find(dispatch.paths.begin(), here, *here) != here) {
        report.fail(fmt::format("paths.{}", i), fmt::format("{} is in the list twice", models::path_name(*here)));
      }
    }
  });
  return s;
}

/// A key of replicas with host memory.
struct ReplicaKey {
  const char* key;
  const char* instead;  ///< what a user who wrote it wants to know
};

constexpr std::array kReplicaKeys{
    ReplicaKey{"cluster.replicas", "pools have nodes: use cluster.pools.local.nodes and cluster.pools.remote.nodes"},
    ReplicaKey{"cluster.router", "which node a request goes to is for dispatch.policy to say: remove this key"},
    ReplicaKey{"cluster.host",
               "nodes of pools read from the storage node and not from host memory: use cluster.pools.storage, and "
               "link of cluster.pools.local and cluster.pools.remote"},
    ReplicaKey{"cluster.node", "nodes are those of cluster.pools: remove this key"},
    ReplicaKey{"decode.draft_limit",
               "between pools a round drafts the length chosen for it, never more: remove this key"},
    ReplicaKey{"schedule.unplaced",
               "a request gives up nothing where it is verified, for its compressed KV is on another node: remove this "
               "key"},
    ReplicaKey{"decode.resident",
               "whether full KV stays on a local node is part of a request's path: use "
               "dispatch.paths (P1_cached, P2_cached)"},
    ReplicaKey{"decode.offloaded", "how many requests draft is for dispatch to say: use dispatch.policy and .paths"},
};

}  // namespace

const ObjectSchema<PoolsInput>& pools_schema() {
  static const ObjectSchema<PoolsInput> schema = make_pools_schema();
  return schema;
}

const ObjectSchema<DispatchInput>& dispatch_schema() {
  static const ObjectSchema<DispatchInput> schema = make_dispatch_schema();
  return schema;
}

void add_pool_rules(ObjectSchema<Written>& scenario) {
  const auto refuse = [&scenario](const std::string& key, const std::string& instead) {
    scenario.unread(
        {key},
        [instead](const Written& s) { return s.pools ? fmt::format("not with cluster.pools: {}", instead) : ""; },
        schema::IfWritten::refused);
  };
  for (const ReplicaKey& key : kReplicaKeys) refuse(key.key, key.instead);
  scenario.unread(
      {"dispatch"},
      [](const Written& s) { return s.pools ? "" : "belongs to cluster.pools, and there are none: remove this key"; },
      schema::IfWritten::refused);
}

void complete_pools(Scenario& s, Written& written, const Reporter& report) {
  if (!written.pools) return;
  s.serving.cluster.pools = *written.pools;
  for (std::size_t i = 0; i < s.serving.cluster.storage.size(); ++i) {
    const std::string key = fmt::format("cluster.storage.{}.shared", i);
    if (report.node().find_path(key))
      report.fail(key, "not with cluster.pools: all nodes share every tier: remove this key");
  }
  if (!written.dispatch) written.dispatch.emplace();
  s.serving.cluster.pools->dispatch = {written.dispatch->policy, written.dispatch->paths,
                                       written.dispatch->weights.value_or(PathWeights{}), written.dispatch->own};
}

}  // namespace kvsim::scenario
