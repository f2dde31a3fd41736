// LMCache: the YAML file that LMCACHE_CONFIG_FILE names.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "planner/export/engine_export.h"

namespace kvsim::planner {
namespace {

constexpr std::string_view kCheckedLmcache =
    "Keys checked in LMCache's docs/source/api_reference/configurations.rst (LMCache/LMCache, commit 0223da8c7c84).";
constexpr std::int64_t kChunkTokens = 256;                           // LMCache's default
constexpr double kGiB = static_cast<double>(std::int64_t{1} << 30);  // its sizes are multiplied by 1024^3
constexpr double kSizeSteps = 10;                                    // one decimal

std::string setting(const std::string& origin, const std::string& line) {
  return comment(origin) + line + "\n";
}

/// LMCache's own default where blocks divide it, else as many whole blocks as it holds, one at least.
std::int64_t chunk_tokens(std::int64_t block) {
  return std::max<std::int64_t>(1, kChunkTokens / block) * block;
}

std::string write_lmcache(const scenario::Scenario& s, const ExportedPlan& plan) {
  const serving::ServingConfig& c = s.serving;
  const auto gpus = static_cast<double>(c.cluster.uniform().parallel.tensor);
  const bool host = uses_host_memory(s, plan);
  const double size =
      std::floor(static_cast<double>(c.cluster.uniform().host_memory_bytes) / gpus / kGiB * kSizeSteps) / kSizeSteps;
  std::string text = heading(s, plan, "LMCache", kCheckedLmcache) + "#\n" + left_out(s, plan);
  if (!host) text += comment("The plan keeps no KV in host memory: this file switches that off.");
  text += "\n";
  text += setting("LMCache's default, in whole blocks of schedule.block_size",
                  fmt::format("chunk_size: {}", chunk_tokens(c.schedule.block_tokens)));
  text += setting("plan: KV in host memory", fmt::format("local_cpu: {}", host));
  if (host) {
    text += setting(fmt::format("scenario: cluster.host.memory, in GiB and rounded down; each of the {} worker "
                                "processes of a replica has a pool of this size",
                                c.cluster.uniform().parallel.tensor),
                    fmt::format("max_local_cpu_size: {:.1f}", size));
    text += setting(plan.point.x > 0 ? "plan: generated tokens go to host memory too"
                                     : "plan: prompts alone are kept in host memory",
                    fmt::format("save_decode_cache: {}", plan.point.x > 0));
  }
  if (c.decode.compressor.name.starts_with("cachegen")) {
    text += setting("scenario: compressor cachegen, which LMCache applies to what it sends to a remote store",
                    "remote_serde: \"cachegen\"");
    text += setting("CHANGE ME: the scenario names no remote store", "remote_url: \"lm://localhost:65432\"");
  }
  return text;
}

}  // namespace

extern const EngineExport lmcache_export;
const EngineExport lmcache_export{"lmcache", "lmcache.yaml", "LMCache: settings of the KV store in host memory",
                                  write_lmcache};

}  // namespace kvsim::planner
