// Two pools of nodes in the page of a run.
#include <limits>

#include <fmt/format.h>

#include "sim/pools/simulation.h"
#include "tools/results/numbers.h"
#include "tools/results/pools_results.h"

namespace kvsim::results {
namespace {

using serving::Measurements;

/// How many, and how long together.
std::string outages(const serving::PoolConfig& pool) {
  double s = 0;
  for (const serving::Outage& outage : pool.outages) s += outage.lasting_s;
  return pool.outages.empty() ? "none" : fmt::format("{}, {} in all", pool.outages.size(), seconds(s));
}

/// The pools that have nodes, one a column.
Table pools(const Outcome& outcome) {
  const serving::ClusterConfig& cluster = outcome.scenario.serving.cluster;
  const auto capacity = static_cast<double>(outcome.result.capacity.bytes);
  std::vector<std::string> header{""};
  std::vector<std::vector<Cell>> rows{{"nodes"},
                                             {"GPUs"},
                                             {"busy"},
                                             {"iterations"},
                                             {"decoded tokens"},
                                             {"drafted tokens"},
                                             {"verifications"},
                                             {"verified positions"},
                                             {"prefilled tokens"},
                                             {"KV reserved, mean"},
                                             {"KV reserved, peak"},
                                             {"KV capacity of a node"},
                                             {"link outages"}};
  const auto add = [&](const char* name, const serving::PoolConfig& config) {
    if (config.nodes == 0) return;
    const auto& measured = outcome.result.measured.pools;
    const auto found = measured.find(name);
    const serving::PoolMeasurement p = found == measured.end() ? serving::PoolMeasurement{} : found->second;
    header.emplace_back(name);
    const std::vector<std::string> column{whole(config.nodes),
                                          whole(config.nodes * cluster.tensor_parallel),
                                          percent(share(p.busy_s, p.capacity_s)),
                                          whole(p.iterations),
                                          whole(p.decode_tokens),
                                          whole(p.draft_tokens),
                                          whole(p.verifications),
                                          whole(p.verified_tokens),
                                          whole(p.prefill_tokens),
                                          bytes(p.reserved_mean_bytes),
                                          bytes(static_cast<double>(p.reserved_peak_bytes)),
                                          bytes(capacity),
                                          outages(config)};
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i].push_back(column[i]);
  };
  add("local", cluster.pools->local);
  add("remote", cluster.pools->remote);
  Table t = with_columns("Pools", std::move(header));
  t.rows = std::move(rows);
  return t;
}

/// What a path is, in few words: a page has a hundred columns.
std::string in_short(const models::PathTraits& path) {
  if (!path.drafts) return path.on_local ? "local pool only" : "remote pool only, full KV";
  const char* local = path.cached ? "keeps" : "re-reads";
  if (!path.streams_rest) return fmt::format("remote drafts, local {} full KV", local);
  return fmt::format("as {}, then remote alone", path.cached ? "P1_cached" : "P1_stateless");
}

Table paths(const Outcome& outcome) {
  const Measurements& m = outcome.result.measured;
  double all = 0;
  for (const serving::PathMeasurement& p : m.paths) all += static_cast<double>(p.started);
  Table t = with_columns("Paths", {"", "share", "started", "completed", "output tokens", ""});
  t.align.back() = Align::left;
  for (const models::Path path : pools::usable_paths(outcome.scenario.serving)) {
    const serving::PathMeasurement& p = m.paths.at(models::index_of(path));
    const models::PathTraits& traits = models::traits(path);
    t.rows.push_back({std::string(traits.name), percent(share(static_cast<double>(p.started), all)), whole(p.started),
                      whole(p.completed), whole(p.output_tokens), in_short(traits)});
  }
  return t;
}

Table prefixes(const serving::PrefixMeasurement& p) {
  const auto all = static_cast<double>(p.loaded_tokens + p.on_node_tokens + p.joined_tokens + p.prefilled_tokens);
  Table t = with_columns("Prefixes", {"", "tokens", "share", ""});
  t.align.back() = Align::left;
  const auto add = [&](const char* what, std::int64_t tokens, const char* remark) {
    t.rows.push_back({what, whole(tokens), percent(share(static_cast<double>(tokens), all)), remark});
  };
  add("loaded", p.loaded_tokens, "from the storage node");
  add("on the node", p.on_node_tokens, "already there for an earlier request");
  add("joined", p.joined_tokens, "on their way there for another request");
  add("prefilled", p.prefilled_tokens, "");
  return t;
}

}  // namespace

std::vector<Table> pools_tables(const Outcome& outcome) {
  return {pools(outcome), paths(outcome), prefixes(outcome.result.measured.prefix)};
}

}  // namespace kvsim::results
