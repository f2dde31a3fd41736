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

void write_host(Writer& w, const Calibration& calibration, const GpuSpec& gpu) {
  const LinkSpec& link = *calibration.host_link;
  w.line(1, "{}-host:", calibration.profile.name);
  w.line(2, "base: {}", gpu.host_link);
  w.line(2, "description: {}",
         quoted(fmt::format("{} between {} and host memory, copies as measured", gpu.host_link, gpu.name)));
  if (link.read_bytes_per_s.value > 0) {
    w.figure(2, "read", rate(link.read_bytes_per_s.value), link.read_bytes_per_s.source);
    w.figure(2, "write", rate(link.write_bytes_per_s.value), link.write_bytes_per_s.source);
    if (link.both_ways_bytes_per_s.value > 0) {
      w.figure(2, "both_ways", rate(link.both_ways_bytes_per_s.value), link.both_ways_bytes_per_s.source);
    }
    w.figure(2, "latency", time(link.latency_s.value), link.latency_s.source);
    w.figure(2, "setup", time(link.setup_s.value), link.setup_s.source);
  }
  if (!link.gathers.empty()) w.line(2, "gathers:");
  for (const GatherMethod& method : link.gathers) {
    w.line(3, "- name: {}", method.name);
    w.figure(4, "per_row", time(method.per_row_s.value), method.per_row_s.source);
    w.figure(4, "bandwidth", rate(method.bytes_per_s.value), method.bytes_per_s.source);
  }
}

void write_storage(Writer& w, const Calibration& calibration) {
  const LinkSpec& drive = *calibration.storage;
  w.line(1, "{}-storage:", calibration.profile.name);
  w.line(2, "description: {}", quoted("a drive through its file system, past the page cache, as measured"));
  w.line(2, "kind: storage");
  w.figure(2, "read", rate(drive.read_bytes_per_s.value), drive.read_bytes_per_s.source);
  w.figure(2, "write", rate(drive.write_bytes_per_s.value), drive.write_bytes_per_s.source);
  w.figure(2, "latency", time(drive.latency_s.value), drive.latency_s.source);
  w.figure(2, "setup", time(drive.setup_s.value), drive.setup_s.source);
}

}  // namespace

std::string catalogue_yaml(const Calibration& calibration, const GpuSpec& gpu) {
  std::string text;
  if (has_profile(calibration.profile)) text += profile_yaml(calibration.profile);
  if (calibration.collectives.empty() && !calibration.host_link && !calibration.storage) return text;
  Writer w;
  w.line(0, "links:");
  if (!calibration.collectives.empty()) write_peers(w, calibration, gpu);
  if (calibration.host_link) write_host(w, calibration, gpu);
  if (calibration.storage) write_storage(w, calibration);
  return text + w.take();
}

}  // namespace kvsim::models
