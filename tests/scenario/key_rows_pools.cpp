#include "tests/scenario/key_rows.h"

namespace kvsim::testing {
namespace {

/// Prompts that share blocks, a minute apart, loaded from and written to the storage node.
Sets prefixes(Sets more = {}) {
  more.insert(more.begin(),
              {"prefill=prefix_cache", "workload={trace: {format: mooncake, path: $DIR/prefixes.jsonl}}"});
  return with_pools(more);
}

/// The keys of a pool; `path` is one that reads through its link.
void add_pool(std::vector<KeyRow>& rows, const std::string& pool, const std::string& path, const std::string& read,
              const std::string& slow_read) {
  const std::string key = "cluster.pools." + pool;
  const Sets base = with_pools({"dispatch.paths=[" + path + "]"});
  const std::string outage = key + ".outages=[{at: 100 ms, lasting: 1 s, bandwidth: 0.5}]";
  rows.insert(
      rows.end(),
      {
          {key + ".nodes", base, "1", "3"},
          {key + ".link.name", base, "one", "two", Effect::reported},
          {key + ".link.description", base, "one", "two", Effect::shown},
          {key + ".link.kind", base, "storage", "network", Effect::none_yet},
          {key + ".link.read", base, read, slow_read},
          {key + ".link.write", prefixes({"dispatch.paths=[" + path + "]"}), "1 GB/s", "0.1 GB/s"},
          {key + ".link.both_ways", base, "100 GB/s", "0.5 GB/s"},
          {key + ".link.latency", base, "1 us", "10 ms"},
          {key + ".link.setup", base, "1 us", "10 ms"},
          {key + ".shared", base, read, slow_read},
          {key + ".outages[].at", base, outage, key + ".outages=[{at: 1 h, lasting: 1 s, bandwidth: 0.5}]"},
          {key + ".outages[].lasting", base, outage, key + ".outages=[{at: 100 ms, lasting: 10 ms, bandwidth: 0.5}]"},
          {key + ".outages[].bandwidth", base, outage, key + ".outages=[{at: 100 ms, lasting: 1 s, bandwidth: 0}]"},
      });
  add_link_tables(rows, key + ".link", base);
  const std::string gpu = key + ".gpu";
  rows.insert(rows.end(), {{gpu + ".type.memory_bandwidth", base, "3350 GB/s", "2000 GB/s"},
                           {gpu + ".type.memory", base, "80 GB", "45 GB"},
                           {gpu + ".tensor_parallel", base, "1", "2"},
                           {gpu + ".memory_fraction", base, "0.5", "0.26"},
                           {gpu + ".kv_tokens", base, "160k tokens", "20k tokens"}});
}

}  // namespace

std::vector<std::string> with_pools(std::vector<std::string> more) {
  // Of contexts of 2.1 GB, KIVI at 4 bits keeps 0.31.
  more.insert(more.begin(), {"cluster={gpu: {type: h100-sxm, memory_fraction: 0.5}, pools: {local: {nodes: 1, link: "
                             "storage-node-fast}, remote: {nodes: 2, link: storage-node-slow}}}",
                             "schedule={}", "decode={policy: draft_verify, compressor: kivi-4bit, draft_length: 20}"});
  return more;
}

std::vector<KeyRow> pools_rows() {
  const Sets weighted = with_pools({
      "dispatch={policy: weighted, weights: {B1: 1, B2: 1, P1_cached: 1, P1_stateless: 1, P2_cached: 1, "
      "P2_stateless: 1}}",
  });
  std::vector<KeyRow> rows = {
      // A block of 512 tokens is 67 MB, each of the two prompts eight of them.
      {"cluster.pools.storage.capacity", prefixes(), "10 TB", "600 MB"},
      {"cluster.pools.storage.read", with_pools({"dispatch.paths=[B1]"}), "30 GB/s", "3 GB/s"},
      {"cluster.pools.message_latency", with_pools({"dispatch.paths=[P1_stateless]"}), "0 s", "50 ms"},
      {"dispatch.policy", with_pools(), "online", "planned"},
      {"dispatch.paths[]", with_pools(), "dispatch.paths=[B1]", "dispatch.paths=[B2]"},
  };
  for (const char* path : {"B1", "B2", "P1_cached", "P1_stateless", "P2_cached", "P2_stateless"}) {
    rows.push_back({std::string("dispatch.weights.") + path, weighted, "1", "8"});
  }
  add_pool(rows, "local", "B1", "40 GB/s", "4 GB/s");
  add_pool(rows, "remote", "B2", "1.2 GB/s", "600 MB/s");
  return rows;
}

}  // namespace kvsim::testing
