// From GPUs as they are written, those of cluster.gpu and of pools, to groups of instances.
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "models/schema/overrides.h"
#include "sim/scenario/scenario.h"
#include "sim/scenario/schemas.h"

namespace kvsim::scenario {

using schema::ConfigNode;
using schema::Reporter;
using serving::GroupConfig;

namespace {

/// Whether it changes figures of an entry and neither names one nor is a whole one, which has a description.
bool is_part(const ConfigNode& entry) {
  return entry.is_map() && !entry.find("base") && !entry.find("description");
}

/// The entry; a part of one changes the usual one, if there is one.
ConfigNode over_usual(const ConfigNode* usual, const ConfigNode& entry) {
  if (!usual || !is_part(entry)) return entry;
  ConfigNode base = *usual;
  if (!usual->is_map()) {
    base = ConfigNode::map(entry.origin());
    base.set("base", *usual);
  }
  return schema::merge(base, entry);
}

/// The GPUs as a map. A name alone is their type; with changes on a command line it is {base: NAME, ...}.
ConfigNode gpus_as_map(ConfigNode gpus) {
  if (gpus.is_map() && !gpus.find("base")) return gpus;
  const ConfigNode name = gpus.is_map() ? *gpus.find("base") : gpus;
  if (!gpus.is_map()) gpus = ConfigNode::map(name.origin());
  gpus.erase("base");
  if (!gpus.find("type")) gpus.set("type", name);  // given beside the name, it is the later one
  return gpus;
}

/// Completes the GPUs of a pool with the keys of cluster.gpu that they leave out. Another type has a profile, a peer
/// link and KV memory of its own.
void complete_pool_gpus(ConfigNode& document, const char* pool) {
  const ConfigNode* found = document.find_path(fmt::format("cluster.pools.{}.gpu", pool));
  const ConfigNode* usual = document.find_path("cluster.gpu");
  if (!found || !usual) return;
  const ConfigNode own = gpus_as_map(*found);
  ConfigNode all = gpus_as_map(*usual);
  const ConfigNode *type = own.find("type"), *usual_type = all.find("type");
  const bool another = type && !is_part(*type) && !(usual_type && *type == *usual_type);
  const bool states_kv = own.find("kv_tokens") || own.find("kv_blocks") || own.find("kv_bytes");
  const bool leaves_kv = own.find("memory_fraction") || own.find("activations");
  for (const char* entry : {"profile", "peer_link"}) {
    if (another) all.erase(entry);
  }
  for (const char* kv : {"kv_tokens", "kv_blocks", "kv_bytes"}) {
    if (another || states_kv || leaves_kv) all.erase(kv);
  }
  for (const char* rest : {"memory_fraction", "activations"}) {  // KV memory is stated, or what these leave
    if (states_kv) all.erase(rest);
  }
  for (const ConfigNode::Entry& e : own.entries()) all.set(e.key, over_usual(all.find(e.key), e.value), e.key_origin);
  ConfigNode* node = &document;
  for (const char* step : {"cluster", "pools", pool}) node = node->find(step);
  node->set("gpu", std::move(all));
}

/// A part of a catalogue entry (`--set cluster.gpu.profile.linear.t0=9us`) changes the GPU's own entry where the
/// scenario names none. `gpu_key`: of the GPU.
void give_base(ConfigNode& document, const models::Catalogue& catalogue, const std::string& gpu_key,
               const std::string& key, const char* of_gpu) {
  const ConfigNode *type = document.find_path(gpu_key + ".type"), *written = document.find_path(key);
  if (!written || !is_part(*written) || !type) return;
  const ConfigNode gpu = catalogue.resolve("gpu", *type, gpu_key + ".type");
  const ConfigNode* name = gpu.find(of_gpu);
  if (name && name->is_scalar()) schema::assign(document, {key + ".base", name->text(), written->origin()});
}

}  // namespace

void complete_gpus(ConfigNode& document, const models::Catalogue& catalogue) {
  for (const char* pool : {"local", "remote"}) complete_pool_gpus(document, pool);
  for (const std::string gpu : {"cluster.gpu", "cluster.pools.local.gpu", "cluster.pools.remote.gpu"}) {
    give_base(document, catalogue, gpu, gpu + ".profile", "profile");
    give_base(document, catalogue, gpu, gpu + ".peer_link", "peer_link");
  }
  give_base(document, catalogue, "cluster.gpu", "cluster.host.link", "host_link");
}

namespace {

std::optional<serving::StatedKv> stated_kv(const GroupInput& written, const Reporter& report) {
  using serving::StatedKv;
  std::optional<StatedKv> stated;
  for (const auto& [key, unit, amount] : {std::tuple{"kv_tokens", StatedKv::Unit::tokens, written.kv_tokens},
                                          {"kv_blocks", StatedKv::Unit::blocks, written.kv_blocks},
                                          {"kv_bytes", StatedKv::Unit::bytes, written.kv_bytes}}) {
    if (!amount) continue;
    if (stated) {
      report.fail(fmt::format("{}.{}", written.gpu_key, key),
                  "states the KV memory, as another key does: give one of kv_tokens, kv_blocks and kv_bytes");
    }
    stated = StatedKv{unit, *amount};
  }
  return stated;
}

/// A library that nobody knows would leave the choice to chance; one of another link may stand.
void check_collective_library(const GroupConfig& group, const Reporter& report) {
  std::set<std::string> known{"nccl", "vllm"};
  for (const models::CollectiveTable& table : group.peer_link.collectives) known.insert(table.library);
  if (known.contains(group.profile.collective_library)) return;
  report.fail(group.gpu_key + ".profile.collective_library",
              fmt::format("\"{}\" is no library that link {} has tables of, expected one of {}",
                          group.profile.collective_library, group.peer_link.name, fmt::join(known, ", ")));
}

/// The GPU's own profile and links where none are written.
void complete_machine(GroupConfig& group, const models::Catalogue& catalogue, const Reporter& report) {
  const auto unless_written = [&report](const std::string& key, auto& to, const auto& entry) {
    if (!report.node().find_path(key)) to = entry();
  };
  const models::GpuSpec& gpu = group.gpu;
  unless_written(group.gpu_key + ".profile", group.profile, [&] { return catalogue.profile(gpu.profile); });
  if (const auto wrong = catalogue.contradiction(group.profile)) {
    report.fail(group.gpu_key + ".profile." + wrong->key, wrong->message);
  }
  unless_written("cluster.host.link", group.host_link, [&] { return catalogue.link(gpu.host_link); });
  unless_written(group.gpu_key + ".peer_link", group.peer_link, [&] { return catalogue.link(gpu.peer_link); });
  check_collective_library(group, report);
}

}  // namespace

void lay_out_groups(serving::ClusterConfig& cluster, Written& written, const models::Catalogue& catalogue,
                    const Reporter& report) {
  written.gpus.stated_kv = stated_kv(written.gpus, report);
  GroupConfig& usual = (cluster.groups = {written.gpus}).front();
  usual.count = written.replicas;
  usual.host_memory_bytes = written.host.memory_bytes;
  usual.host_link = written.host.link;
  usual.outages = written.host.outages;
  const auto add = [&](const char* name, serving::Roles roles, PoolInput& pool) {
    if (pool.gpu) {
      pool.gpu->gpu_key = fmt::format("cluster.pools.{}.gpu", name);
      pool.gpu->stated_kv = stated_kv(*pool.gpu, report);
    }
    GroupConfig& group = cluster.groups.emplace_back(pool.gpu ? *pool.gpu : written.gpus);
    group.name = name;
    group.roles = roles;
    group.count = pool.nodes;
    group.storage_link = pool.link;
    group.shared_bytes_per_s = pool.shared_bytes_per_s;
    group.outages = pool.outages;
  };
  if (written.pools) {
    add("local", {.draft = false}, written.pools->local);
    add("remote", {.verify = false}, written.pools->remote);
  }
  for (GroupConfig& group : cluster.groups) complete_machine(group, catalogue, report);
}

namespace {

/// Instances of one kind have equal GPUs as far as keys say them.
bool alike(const GroupConfig& a, const GroupConfig& b) {
  const auto keys = [](const GroupConfig& group) {
    GroupInput input;
    static_cast<GroupConfig&>(input) = group;
    return gpu_schema().dump(input);
  };
  const auto stated = [](const GroupConfig& g) {
    return g.stated_kv ? std::pair(g.stated_kv->unit, g.stated_kv->amount) : std::pair(serving::StatedKv::Unit{}, -1L);
  };
  return a.gpu_key == b.gpu_key || (stated(a) == stated(b) && keys(a) == keys(b));
}

}  // namespace

void write_out(const GroupConfig& group, Written& written) {
  static_cast<GroupConfig&>(written.gpus) = group;
  written.replicas = group.count;
  written.host = {group.host_memory_bytes, group.host_link, group.outages};
}

void settle_groups(serving::ClusterConfig& cluster, Written& written) {
  write_out(cluster.groups.front(), written);
  if (!written.pools) return;
  cluster.groups.erase(cluster.groups.begin());
  GroupConfig &local = cluster.groups.front(), &remote = cluster.groups.back();
  if (written.pools->local.gpu) static_cast<GroupConfig&>(*written.pools->local.gpu) = local;
  if (written.pools->remote.gpu) static_cast<GroupConfig&>(*written.pools->remote.gpu) = remote;
  remote.kind = alike(local, remote) ? local.kind : local.kind + 1;
}

}  // namespace kvsim::scenario
