// The keys of pools in a result document, and what they mean.
#include <array>

#include "tools/results/pools_results.h"

namespace kvsim::results {
namespace {

using serving::Measurements;

constexpr std::string_view kNoNodes = "the pool has no nodes";

Section pool(Section s, const Outcome& outcome, const char* name, const serving::PoolConfig& config) {
  const auto& measured = outcome.result.measured.pools;
  const auto found = measured.find(name);
  const serving::PoolMeasurement p = found == measured.end() ? serving::PoolMeasurement{} : found->second;
  const std::string_view why = config.nodes == 0 ? kNoNodes : kNoTime;
  s.count("nodes", config.nodes);
  s.count("gpus", config.nodes * outcome.scenario.serving.cluster.tensor_parallel);
  s.ratio("busy_fraction", p.busy_s, p.capacity_s, why).count("iterations", p.iterations);
  s.count("decode_tokens", p.decode_tokens).count("draft_tokens", p.draft_tokens);
  s.count("verifications", p.verifications).count("verified_tokens", p.verified_tokens);
  s.count("prefill_tokens", p.prefill_tokens);
  if (config.nodes == 0) {
    s.missing("kv_reserved_mean_bytes", why).missing("kv_reserved_peak_bytes", why).missing("kv_capacity_bytes", why);
    return s;
  }
  s.number("kv_reserved_mean_bytes", p.reserved_mean_bytes, why);
  s.count("kv_reserved_peak_bytes", p.reserved_peak_bytes).count("kv_capacity_bytes", outcome.result.capacity.bytes);
  return s;
}

Section paths(Section s, const Measurements& m) {
  std::uint64_t all = 0;
  for (const serving::PathMeasurement& p : m.paths) all += p.started;
  for (const models::Path path : models::kAllPaths) {
    const models::PathTraits& t = models::traits(path);
    const serving::PathMeasurement& p = m.paths.at(models::index_of(path));
    Section one = s.child(t.name);
    one.count("started", p.started).count("completed", p.completed).count("output_tokens", p.output_tokens);
    one.ratio("share", static_cast<double>(p.started), static_cast<double>(all),
              "no request was given a path in the measured time");
    s.set(t.name, one);
  }
  return s;
}

Section prefix(Section s, const serving::PrefixMeasurement& p) {
  s.count("loaded_tokens", p.loaded_tokens).count("on_node_tokens", p.on_node_tokens);
  s.count("joined_tokens", p.joined_tokens).count("prefilled_tokens", p.prefilled_tokens);
  const std::int64_t hits = p.loaded_tokens + p.on_node_tokens + p.joined_tokens;
  s.ratio("hit_rate", static_cast<double>(hits), static_cast<double>(hits + p.prefilled_tokens),
          "no prompt was looked up in the measured time");
  return s;
}

Json pool_configuration(const serving::PoolConfig& pool) {
  Json outages = Json::array();
  for (const serving::Outage& o : pool.outages) {
    outages.push_back({{"at_s", o.at_s}, {"lasting_s", o.lasting_s}, {"bandwidth", o.bandwidth_fraction}});
  }
  Json out = {{"nodes", pool.nodes}};
  if (pool.nodes > 0) out["link"] = pool.link.name;
  if (pool.shared_bytes_per_s) out["shared_bytes_per_s"] = *pool.shared_bytes_per_s;
  out["outages"] = std::move(outages);
  return out;
}

Json dispatch_configuration(const serving::DispatchConfig& dispatch) {
  Json out = {{"policy", dispatch.policy}};
  Json paths = Json::array();
  for (const models::Path path : dispatch.paths) paths.push_back(models::path_name(path));
  out["paths"] = dispatch.paths.empty() ? Json("all") : std::move(paths);
  if (dispatch.policy != "weighted") return out;
  Json weights = Json::object();
  for (const models::Path path : models::kAllPaths) {
    weights[std::string(models::path_name(path))] = dispatch.weights.at(models::index_of(path));
  }
  out["weights"] = std::move(weights);
  return out;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kPoolsDefinitions{{
    {"replica", "a node of either pool, where these definitions say replica"},
    {"pools",
     "nodes: tensor-parallel groups; busy_fraction: share of the nodes' time with a forward pass under way; figures "
     "under gpu are those of the nodes of both pools"},
    {"pool_tokens",
     "decode: emitted by ordinary decoding; draft: drafted, accepted or not; verified: positions of verifications, one "
     "more than was drafted each; prefill: prompt tokens computed there"},
    {"kv_reserved", "KV memory reserved on a node: mean over nodes and time, peak of the fullest; capacity: of a node"},
    {"paths",
     "B1: local pool only; B2: remote pool only, with the full KV; P1: remote drafts on compressed KV, local verifies; "
     "P2: as P1 until the full KV has reached the remote pool; cached: full KV stays on the local node between rounds, "
     "stateless: it is read anew for each"},
    {"path_requests",
     "started: requests given the path in the measured time; completed: of the requests that finished in it, those on "
     "the path; share: of the requests started"},
    {"prefix",
     "tokens of prompts, each prompt once, for the remote node where it takes one, else for the local one; what "
     "verification reads is left out: read from the storage node, on the node already, on their way to it for another "
     "request, prefilled"},
    {"hit_rate", "of these, the share that was not prefilled"},
}};

}  // namespace

void add_pools(Section& document, const Outcome& outcome) {
  const auto& config = outcome.scenario.serving.cluster.pools;
  if (!config) return;
  Section pools = document.child("pools");
  pools.set("local", pool(pools.child("local"), outcome, "local", config->local));
  pools.set("remote", pool(pools.child("remote"), outcome, "remote", config->remote));
  document.set("pools", pools);
  document.set("paths", paths(document.child("paths"), outcome.result.measured));
  document.set("prefix", prefix(document.child("prefix"), outcome.result.measured.prefix));
}

Json pools_configuration(const serving::PoolsConfig& pools) {
  Json storage = Json::object();
  if (pools.storage.capacity_bytes) storage["capacity_bytes"] = *pools.storage.capacity_bytes;
  if (pools.storage.read_bytes_per_s) storage["read_bytes_per_s"] = *pools.storage.read_bytes_per_s;
  return {{"local", pool_configuration(pools.local)},
          {"remote", pool_configuration(pools.remote)},
          {"storage", std::move(storage)},
          {"message_latency_s", pools.message_latency_s},
          {"dispatch", dispatch_configuration(pools.dispatch)}};
}

std::span<const std::pair<std::string_view, std::string_view>> pools_definitions() {
  return kPoolsDefinitions;
}

}  // namespace kvsim::results
