#include "tools/results/memory_results.h"

#include <algorithm>

#include "sim/serving/kv_geometry.h"

namespace kvsim::results {
namespace {

Section kv_section(Section s, const serving::Measurements& m, std::int64_t capacity) {
  const double reserved = m.kv_reserved_mean_bytes;
  const auto mean = [&](const char* key, double bytes) {
    m.capacity_s > 0 ? s.number(key, bytes, kNoTime) : s.missing(key, kNoTime);
  };
  mean("resident_mean_bytes", reserved - m.kv_streaming_mean_bytes);
  mean("streaming_mean_bytes", m.kv_streaming_mean_bytes);
  mean("unused_mean_bytes", std::max(0.0, static_cast<double>(capacity) - reserved));  // but for rounding
  s.count("reserved_peak_bytes", m.kv_reserved_peak_bytes).count("streaming_peak_bytes", m.kv_streaming_peak_bytes);
  return s;
}

}  // namespace

Section memory_section(Section s, const Outcome& outcome) {
  const serving::ServingConfig& config = outcome.scenario.serving;
  const serving::MemorySplit split = serving::memory_split(config, serving::replica_geometry(config));
  s.set("per", "replica");
  s.count("gpu_bytes", split.gpu).count("kept_free_bytes", split.kept_free).count("weights_bytes", split.weights);
  s.count("activations_bytes", split.activations).count("other_bytes", split.other);
  s.count("kv_capacity_bytes", split.kv);
  s.set("kv", kv_section(s.child("kv"), outcome.result.measured, split.kv));
  return s;
}

}  // namespace kvsim::results
