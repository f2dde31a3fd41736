#include "models/calibration/calibrate.h"
#include "models/calibration/yaml_lines.h"

namespace kvsim::models {
namespace {

using namespace lines;

void write_peers(Writer& w, const Calibration& calibration, const GpuSpec& gpu) {
  w.line(1, "{}-peers:", calibration.profile.name);
  w.line(2, "base: {}", gpu.peer_link);
  w.line(2, "description: {}",
         quoted(fmt::format("{} between GPUs of {}, collectives as measured", gpu.peer_link, gpu.name)));
  w.line(2, "collectives:");
  for (const CollectiveTable& table : calibration.collectives) {
    w.line(3, "- operation: {}", models::word(table.operation));
    w.line(4, "library: {}", table.library);
    w.line(4, "gpus: {}", table.gpus);
    std::vector<std::string> points;
    for (const CollectivePoint& p : table.points) {
      points.push_back(fmt::format("{{bytes: {}, seconds: {}}}",
                                   schema::format_bytes(static_cast<std::int64_t>(p.bytes)), time(p.seconds)));
    }
    w.line(4, "points: [{}]", fmt::join(points, ", "));
    w.source(4, table.source);
  }
}

std::string rate(double bytes_per_s) {
  return fmt::format("{} GB/s", number(bytes_per_s / kGB));
}

/// Rates and fixed times.
void write_rates(Writer& w, const LinkSpec& link) {
  w.figure(2, "read", rate(link.read_bytes_per_s.value), link.read_bytes_per_s.source);
  w.figure(2, "write", rate(link.write_bytes_per_s.value), link.write_bytes_per_s.source);
  if (link.both_ways_bytes_per_s.value > 0) {
    w.figure(2, "both_ways", rate(link.both_ways_bytes_per_s.value), link.both_ways_bytes_per_s.source);
  }
  w.figure(2, "latency", time(link.latency_s.value), link.latency_s.source);
  w.figure(2, "setup", time(link.setup_s.value), link.setup_s.source);
}

void write_host(Writer& w, const Calibration& calibration, const GpuSpec& gpu) {
  const LinkSpec& link = *calibration.host_link;
  w.line(1, "{}-host:", calibration.profile.name);
  w.line(2, "base: {}", gpu.host_link);
  w.line(2, "description: {}",
         quoted(fmt::format("{} between {} and host memory, copies as measured", gpu.host_link, gpu.name)));
  if (link.read_bytes_per_s.value > 0) write_rates(w, link);
  if (!link.gathers.empty()) w.line(2, "gathers:");
  for (const GatherMethod& method : link.gathers) {
    w.line(3, "- name: {}", method.name);
    w.figure(4, "per_row", time(method.per_row_s.value), method.per_row_s.source);
    w.figure(4, "bandwidth", rate(method.bytes_per_s.value), method.bytes_per_s.source);
  }
}

/// A link that is not on top of another one.
void write_own(Writer& w, const Calibration& calibration, const char* suffix, const char* description, const char* kind,
               const LinkSpec& link) {
  w.line(1, "{}-{}:", calibration.profile.name, suffix);
  w.line(2, "description: {}", quoted(description));
  w.line(2, "kind: {}", kind);
  write_rates(w, link);
}

}  // namespace

std::string catalogue_yaml(const Calibration& calibration, const GpuSpec& gpu) {
  std::string text;
  if (has_profile(calibration.profile)) text += profile_yaml(calibration.profile);
  if (calibration.collectives.empty() && !calibration.host_link && !calibration.storage && !calibration.host_memory) {
    return text;
  }
  Writer w;
  w.line(0, "links:");
  if (!calibration.collectives.empty()) write_peers(w, calibration, gpu);
  if (calibration.host_link) write_host(w, calibration, gpu);
  if (calibration.storage) {
    write_own(w, calibration, "storage", "a drive through its file system, past the page cache, as measured", "storage",
              *calibration.storage);
  }
  if (calibration.host_memory) {
    write_own(w, calibration, "memory", "host memory, as threads of the CPU read, write and copy it", "host",
              *calibration.host_memory);
  }
  return text + w.take();
}

}  // namespace kvsim::models
