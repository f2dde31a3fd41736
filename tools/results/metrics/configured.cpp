// Figures of a result that repeat the configuration it is of.
#include <utility>

#include "sim/serving/decode_policy.h"
#include "tools/results/metrics/metric.h"
#include "tools/results/scenario_words.h"

namespace kvsim::results {
namespace {

Json pool_configuration(const serving::InstancePool& pool, bool names_gpu) {
  Json outages = Json::array();
  for (const transport::Outage& o : pool.group.outages) {
    outages.push_back({{"at_s", o.at_s}, {"lasting_s", o.lasting_s}, {"bandwidth", o.bandwidth_fraction}});
  }
  Json out = {{"nodes", pool.group.count}};
  if (pool.group.count > 0) out["link"] = pool.link.spec.name;
  if (pool.group.shared_bytes_per_s) out["shared_bytes_per_s"] = *pool.group.shared_bytes_per_s;
  if (names_gpu) out["gpu"] = pool.group.gpu.name;
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

}  // namespace

Figure policies(const View& v) {
  const serving::ServingConfig& c = v.config();
  const serving::DecodePolicy& decode = *serving::find_decode_policy(c.decode.policy);
  Json out = Json::object();
  if (!v.outcome.policy.empty()) out["asked"] = v.outcome.policy;
  out["decode"] = c.decode.policy;
  out["schedule"] = c.schedule.policy;
  const serving::DispatchConfig* dispatcher = c.cluster.topology().dispatcher;
  out[dispatcher ? "dispatch" : "router"] = dispatcher ? dispatcher->policy : c.cluster.router;
  out["prefill"] = prefill_word(c.prefill);
  if (c.placement) out["placement"] = c.placement->policy;
  const serving::DecodeConfig own = serving::own_drafts(c.decode);
  if (reads_own_choice(c)) {
    out["compressor"] = own.compressor.name;
    own.budget ? out["budget_tokens"] = *own.budget : out["keep_ratio"] = own.keep_ratio;
  }
  if (decode.drafter) out["drafter"] = c.decode.drafter->spec.name;
  if (decode.verifies && own.draft_lengths.policy == "fixed") out["draft_length"] = own.draft_length;
  if (decode.drafts() && own.draft_lengths.policy != "fixed") out["draft_lengths"] = draft_length_text(own);
  return {std::move(out)};
}

Figure pools_configuration(const View& v) {
  const serving::Topology topology = v.config().cluster.topology();
  Json out = Json::object();
  const bool several = serving::kinds(v.config().cluster).size() > 1;
  for (const serving::InstancePool& pool : topology.instances) out[pool.group.name] = pool_configuration(pool, several);
  Json& storage = out["storage"] = Json::object();
  if (topology.memory.capacity_bytes) storage["capacity_bytes"] = *topology.memory.capacity_bytes;
  if (topology.memory.read_bytes_per_s) storage["read_bytes_per_s"] = *topology.memory.read_bytes_per_s;
  out["message_latency_s"] = topology.message_latency_s;
  out["dispatch"] = dispatch_configuration(*topology.dispatcher);
  return {std::move(out)};
}

}  // namespace kvsim::results
