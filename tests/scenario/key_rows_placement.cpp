#include "tests/scenario/key_rows.h"

#include "models/compression/functional.h"

namespace kvsim::testing {
namespace {

std::string lru(const std::string& more = "") {
  return "placement={policy: lru" + more + "}";
}

std::string utility(const std::string& more = "") {
  return "placement={policy: utility" + more + "}";
}

std::string storage(const std::string& ssd, const std::string& remote = "name: remote, read: 1 GB/s") {
  return "cluster.storage=[{name: ssd, capacity: 6 GB, " + ssd + "}, {" + remote + "}]";
}

/// A place where a scenario names a compressor of stored objects, and the assignment that changes one key of it.
struct Place {
  std::string key;
  std::string before, after;  ///< around the compressor
  std::string base;
  bool quantises;
  Sets sets;

  [[nodiscard]] std::string with(const std::string& change) const {
    return before + "{base: " + base + ", " + change + "}" + after;
  }
};

/// A curve over the keep ratio, of which `used` says whether anything is made of it here.
void add_curve(std::vector<KeyRow>& rows, const Place& place, const std::string& curve, bool used) {
  const std::size_t dot = curve.find('.');  // a map of curves
  const auto point = [&](const char* keep_ratio, const char* value, const char* source = "") {
    const std::string one =
        curve.substr(dot + 1) + ": {points: [{keep_ratio: " + keep_ratio + ", value: " + value + "}]" + source + "}";
    return place.with(dot == std::string::npos ? one : curve.substr(0, dot) + ": {" + one + "}");
  };
  const std::string key = place.key + "." + curve;
  const Effect measured = used ? Effect::measured : Effect::none_yet;
  const Effect reported = used ? Effect::reported : Effect::none_yet;
  rows.insert(rows.end(),
              {
                  {key + ".points[].keep_ratio", place.sets, point("0.2", "0.9"), point("0.3", "0.9"), measured},
                  {key + ".points[].value", place.sets, point("0.2", "0.9"), point("0.2", "0.8"), measured},
                  {key + ".source", place.sets, point("0.2", "0.9", ", source: assumption"),
                   point("0.2", "0.9", ", source: scenario"), reported},
                  {key + ".reference", place.sets, point("0.2", "0.9", ", source: derived, reference: one"),
                   point("0.2", "0.9", ", source: derived, reference: two"), reported},
              });
}

/// The keys of a compressor of stored objects. What only decoding looks at has no effect here.
void add_compressor(std::vector<KeyRow>& rows, const Place& place) {
  const auto add = [&](const std::string& key, const std::string& a, const std::string& b, Effect effect) {
    rows.push_back({place.key + "." + key, place.sets, place.with(a), place.with(b), effect});
  };
  const Effect of_quantisers = place.quantises ? Effect::measured : Effect::none_yet;
  add("name", "name: one", "name: two", Effect::reported);
  add("description", "description: one", "description: two", Effect::shown);
  add("kind", place.quantises ? "kind: quantisation" : "kind: token_dropping",
      "kind: both, bits_per_element: 8, reload: whole", Effect::refused);
  add("mode", "mode: online", "mode: offline", Effect::none_yet);
  add("scope", "scope: prompt", "scope: all", Effect::none_yet);
  if (place.quantises) {
    add("reload", "reload: whole", "reload: missing", Effect::refused);
    add("bits_per_element", "bits_per_element: 4", "bits_per_element: 8", Effect::measured);
  } else {
    add("reload", "reload: whole", "reload: missing", Effect::none_yet);
    add("bits_per_element", "bits_per_element: 16", "bits_per_element: 8", Effect::refused);
  }
  add("long_context", "long_context: true", "long_context: false", Effect::none_yet);
  add("remote_prefix", "remote_prefix: true", "remote_prefix: false", Effect::none_yet);
  add("reads_only", "mode: online, remote_prefix: false, reads_only: false",
      "mode: online, remote_prefix: false, reads_only: true", Effect::refused);
  add("group_size", "group_size: 32", "group_size: 64", of_quantisers);
  add("residual_tokens", "residual_tokens: 0", "residual_tokens: 128", Effect::none_yet);
  add("sink_tokens", "sink_tokens: 0", "sink_tokens: 128", Effect::none_yet);
  add("whole_layers", "whole_layers: 0", "whole_layers: 4", Effect::none_yet);
  add("compress_rate", "compress_rate: 50 GB/s", "compress_rate: 0.05 GB/s", Effect::measured);
  add("decompress_rate", "decompress_rate: 50 GB/s", "decompress_rate: 1 GB/s", of_quantisers);
  add("attention_time_factor", "attention_time_factor: 1", "attention_time_factor: 2", Effect::none_yet);
  add_curve(rows, place, "step_kl", true);
  add_curve(rows, place, "agreement", false);
  add_curve(rows, place, "quality", place.quantises);
  for (const models::FunctionalTask& task : models::kFunctionalTasks) {
    add_curve(rows, place, std::string("functional.") + task.key, false);
  }
}

std::vector<KeyRow> tier_rows() {
  const std::string key = "cluster.storage[]";
  const std::string outage = "read: 3 GB/s, outages: [{at: 5 s, lasting: 20 s, bandwidth: 0.1}]";
  const Sets two = placed({"cluster.replicas=2", "workload.closed.concurrency=4"});
  const std::string of_host = "cluster.host.outages=[{at: 5 s, lasting: 20 s, bandwidth: 0.1}]";
  return {
      {key + ".name", placed(), storage("read: 3 GB/s"), storage("read: 3 GB/s", "name: far, read: 1 GB/s")},
      {key + ".capacity", placed(), storage("read: 3 GB/s"),
       storage("read: 3 GB/s", "name: remote, capacity: 3 GB, read: 1 GB/s")},
      {key + ".read", placed(), storage("read: 3 GB/s"), storage("read: 1 GB/s")},
      {key + ".write", placed(), storage("read: 3 GB/s, write: 3 GB/s"), storage("read: 3 GB/s, write: 0.2 GB/s")},
      {key + ".latency", placed(), storage("read: 3 GB/s"), storage("read: 3 GB/s, latency: 100 ms")},
      {key + ".shared", two, storage("read: 3 GB/s", "name: remote, read: 1 GB/s, shared: false"),
       storage("read: 3 GB/s", "name: remote, read: 1 GB/s, shared: true")},
      {key + ".outages[].at", placed(), storage(outage),
       storage("read: 3 GB/s, outages: [{at: 1 h, lasting: 20 s, bandwidth: 0.1}]")},
      {key + ".outages[].lasting", placed(), storage(outage),
       storage("read: 3 GB/s, outages: [{at: 5 s, lasting: 10 ms, bandwidth: 0.1}]")},
      {key + ".outages[].bandwidth", placed(), storage(outage),
       storage("read: 3 GB/s, outages: [{at: 5 s, lasting: 20 s, bandwidth: 0.01}]")},
      {"cluster.host.shared",
       placed({"cluster.replicas=2", "workload.closed.concurrency=4",
               storage("read: 3 GB/s, shared: true", "name: remote, read: 1 GB/s, shared: true")}),
       "false", "true"},
      {"cluster.host.outages[].at", placed(), of_host,
       "cluster.host.outages=[{at: 1 h, lasting: 20 s, bandwidth: 0.1}]"},
      {"cluster.host.outages[].lasting", placed(), of_host,
       "cluster.host.outages=[{at: 5 s, lasting: 10 ms, bandwidth: 0.1}]"},
      {"cluster.host.outages[].bandwidth", placed(), of_host,
       "cluster.host.outages=[{at: 5 s, lasting: 20 s, bandwidth: 0.01}]"},
  };
}

/// Tiers that are read faster than prompts are computed, and compressing that is over before a request is.
Sets fast(Sets more = {}) {
  more.insert(more.begin(), {"workload.output=300 tokens", "workload.requests=200",
                             "cluster.storage=[{name: ssd, capacity: 6 GB, read: 20 GB/s}, {name: remote, read: 10 "
                             "GB/s}]"});
  return placed(more);
}

std::string chosen(const std::string& more = "", const std::string& options = "keep_ratios: [0.5]") {
  return utility(", worker_rate: 50 GB/s, options: {" + options + "}" + more);
}

std::vector<KeyRow> utility_rows() {
  const std::string key = "placement.utility";
  const Sets base = fast({chosen(", utility: {alpha: 1 s}")});
  const std::string combined = "keep_ratios: [0.5], methods: [knorm], quantisers: [kivi-2bit]";
  const std::string slow =
      "cluster.storage=[{name: ssd, capacity: 6 GB, read: 20 GB/s, outages: [{at: 20 s, lasting: "
      "200 s, bandwidth: 0.1}]}, {name: remote, read: 10 GB/s}]";
  return {
      {key + ".alpha", base, "1 s", "10 s"},
      {key + ".variant", base, "least_drop", "least_drop_per_byte"},
      {key + ".first", fast({chosen(", utility: {alpha: 100 ms}")}), "best", "whole"},
      {key + ".targets",
       fast({"cluster.storage=[{name: ssd, capacity: 6 GB, read: 1 GB/s}, {name: remote, read: 10 GB/s}]",
             chosen(", utility: {alpha: 1 s}")}),
       "any_lower", "next"},
      {key + ".frequency", base, "count", "decayed"},
      {key + ".half_life", fast({chosen(", utility: {alpha: 1 s, frequency: decayed}")}), "600 s", "2 s"},
      {key + ".bandwidth", fast({slow, chosen(", utility: {alpha: 1 s}")}), "nominal", "observed"},
      {key + ".promote", base, "true", "false"},
      {key + ".recompute",
       placed({chosen(", utility: {alpha: 10 s}"), "cluster.storage=[{name: ssd, read: 100 MB/s}]"}), "false", "true"},
      {"placement.options.keep_ratios[]", base, "placement.options.keep_ratios=[0.5]",
       "placement.options.keep_ratios=[0.25]"},
      {"placement.options.combine", fast({chosen(", utility: {alpha: 10 ms}", combined)}), "true", "false"},
  };
}

std::vector<KeyRow> quality_rows() {
  const std::string key = "placement.quality";
  const Sets kvzip = placed({lru(", compressor: kvzip, keep_ratio: 0.25")});
  const Sets knorm = placed({lru(", compressor: knorm, keep_ratio: 0.25")});
  const Sets snapkv = placed({lru(", compressor: snapkv, keep_ratio: 0.25")});
  const auto best = [&](const char* shares) { return key + ".best={" + shares + "}"; };
  const auto file = [&](const char* name) {
    return key + "={source: file, path: " + std::string("$DIR/") + name + "}";
  };
  const Sets drifting = placed({lru(", compressor: kvzip, keep_ratio: 0.25, drift: {every: 10 s}")});
  const std::string drift = ", utility: {alpha: 1 s}, drift: {every: 1 s, magnitude: 0.4}";
  const Sets profiling = fast({chosen(drift + ", profiling: {online: true}")});
  return {
      {key + ".source", kvzip, key + "={source: generated}", file("good.csv")},
      {key + ".path", kvzip, file("good.csv"), file("bad.csv")},
      {key + ".advantage", kvzip, "0.5", "0.1"},
      {key + ".disadvantage", kvzip, "1", "2"},
      {key + ".shape", kvzip, "2", "3"},
      {key + ".best.kvzip", kvzip, best("kvzip: 1, knorm: 0, snapkv: 0"), best("kvzip: 0, knorm: 1, snapkv: 0")},
      {key + ".best.knorm", knorm, best("kvzip: 1, knorm: 0, snapkv: 0"), best("kvzip: 0, knorm: 1, snapkv: 0")},
      {key + ".best.snapkv", snapkv, best("kvzip: 1, knorm: 0, snapkv: 0"), best("kvzip: 0, knorm: 0, snapkv: 1")},
      {key + ".best.keydiff", kvzip, best("kvzip: 1, knorm: 0, snapkv: 0"),
       best("kvzip: 0, knorm: 0, snapkv: 0, keydiff: 1")},
      {"placement.drift.every", drifting, "10 s", "1 s"},
      {"placement.drift.magnitude", drifting, "0.1", "0.4"},
      {"placement.profiling.online", fast({chosen(drift)}), "false", "true"},
      {"placement.profiling.threshold", profiling, "0.05", "0.3"},
      {"placement.profiling.queries", profiling, "1", "3"},
      {"placement.profiling.noise", fast({chosen(drift)}), "0", "0.3"},
      {"placement.profiling.output_tokens", profiling, "128 tokens", "16 tokens"},
  };
}

}  // namespace

std::vector<std::string> placed(std::vector<std::string> more) {
  // Twelve contexts of 0.5 to 2.6 GB each: host memory and the SSD have room for four of them each.
  more.insert(more.begin(),
              {"cluster={gpu: {type: h100-sxm}, host: {memory: 6 GB, link: pcie5-x16}}", storage("read: 3 GB/s"),
               "workload={closed: {concurrency: 2}, requests: 100, context: 100 tokens, output: 20 tokens, prefixes: "
               "{count: 12, popularity: 0.8, tokens: {distribution: uniform, min: 4k tokens, max: 20k tokens}}}",
               "prefill=prefix_cache", "decode={policy: full_kv}", "schedule={}", lru()});
  return more;
}

std::vector<KeyRow> placement_rows() {
  const Sets compressed = placed({lru(", compressor: keydiff, keep_ratio: 0.3")});
  const Sets important = placed({"placement={policy: importance_chunks}"});
  std::vector<KeyRow> rows{
      {"placement.policy", placed(), "lru", "lfu"},
      {"placement.granularity", placed(), "contexts", "blocks"},
      {"placement.keep_ratio", compressed, "0.3", "0.2"},
      {"placement.importance.share", important, "0.25", "0.1"},
      {"placement.importance.chunk_tokens", important, "64 tokens", "128 tokens"},
      {"placement.importance.run_tokens", important, "16", "64"},
      {"placement.importance.probed", important, "0", "1"},
      {"placement.workers", placed({lru(", compressor: keydiff, keep_ratio: 0.3, worker_rate: 0.05 GB/s")}), "8", "1"},
      {"placement.worker_rate", compressed, "2 GB/s", "0.05 GB/s"},
      {"placement.in_transit", placed(), "0.1", "0.4"},
      {"placement.gpu_memory", placed(), "0 B", "4 GB"},
  };
  for (const std::vector<KeyRow>& part : {tier_rows(), utility_rows(), quality_rows()}) {
    rows.insert(rows.end(), part.begin(), part.end());
  }
  add_compressor(rows,
                 {"placement.compressor", "placement={policy: lru, compressor: ", "}", "kivi-4bit", true, placed()});
  const std::string options =
      "placement={policy: utility, worker_rate: 50 GB/s, utility: {alpha: 1 s}, options: "
      "{keep_ratios: [0.5], ";
  add_compressor(rows, {"placement.options.methods[]", options + "methods: [", "]}}", "knorm", false, fast()});
  add_compressor(rows, {"placement.options.quantisers[]", options + "methods: [knorm], combine: false, quantisers: [",
                        "]}}", "kivi-4bit", true, fast()});
  return rows;
}

}  // namespace kvsim::testing
