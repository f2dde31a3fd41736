#include "models/kernels/profile.h"

#include <algorithm>
#include <cmath>

namespace kvsim::models {

double EfficiencyCurve::at(double size) const {
  if (points.empty()) return 1.0;
  if (size <= points.front().size) return points.front().efficiency;
  for (std::size_t i = 1; i < points.size(); ++i) {
    if (size > points[i].size) continue;
    const EfficiencyPoint& a = points[i - 1];
    const EfficiencyPoint& b = points[i];
    const double share = std::log(size / a.size) / std::log(b.size / a.size);
    return a.efficiency + share * (b.efficiency - a.efficiency);
  }
  return points.back().efficiency;
}

double AllReduceTable::at(double bytes) const {
  if (points.empty()) return 0.0;
  if (bytes <= points.front().bytes || points.size() == 1) return points.front().seconds;
  std::size_t i = 1;
  while (i + 1 < points.size() && bytes > points[i].bytes) ++i;
  const AllReducePoint& a = points[i - 1];
  const AllReducePoint& b = points[i];
  return a.seconds + (bytes - a.bytes) * (b.seconds - a.seconds) / (b.bytes - a.bytes);
}

Machine MeasuredMachine::peaks() const {
  Machine m;
  m.memory_bytes_per_s = memory_bytes_per_s.value;
  m.bf16_flops_per_s = bf16_flops_per_s.value;
  m.fp8_flops_per_s = fp8_flops_per_s.value;
  m.multiprocessors = multiprocessors;
  m.l2_bytes = static_cast<double>(l2_bytes);
  return m;
}

double LinearTable::at(double tokens) const {
  const auto above = std::lower_bound(points.begin(), points.end(), tokens,
                                      [](const TimePoint& p, double size) { return p.size < size; });
  if (above == points.begin()) return points.front().seconds;
  if (above == points.end()) return points.back().seconds;
  const TimePoint& a = *(above - 1);
  const double share = (tokens - a.size) / (above->size - a.size);
  return a.seconds + share * (above->seconds - a.seconds);
}

bool DecodeTable::covers(double requests, double kv_length) const {
  return requests >= rows.front().requests && requests <= rows.back().requests && kv_length >= kv_lengths.front() &&
         kv_length <= kv_lengths.back();
}

double DecodeTable::at(double requests, double kv_length) const {
  std::size_t r = 1;
  while (r + 1 < rows.size() && requests > rows[r].requests) ++r;
  std::size_t l = 1;
  while (l + 1 < kv_lengths.size() && kv_length > kv_lengths[l]) ++l;
  const double x = std::log(kv_length / kv_lengths[l - 1]) / std::log(kv_lengths[l] / kv_lengths[l - 1]);
  const double y = std::log(requests / rows[r - 1].requests) / std::log(rows[r].requests / rows[r - 1].requests);
  const auto along = [&](const DecodeRow& row) {
    return (1 - x) * std::log(row.seconds[l - 1]) + x * std::log(row.seconds[l]);
  };
  return std::exp((1 - y) * along(rows[r - 1]) + y * along(rows[r]));
}

Machine machine_for(const GpuSpec& gpu, const KernelProfile& profile) {
  if (!profile.machine) return Machine::of(gpu);
  const std::string& measured = profile.machine->architecture;
  if (!measured.empty() && measured == gpu.architecture) return Machine::of(gpu);
  return Machine::of(gpu, profile.machine->memory_bytes_per_s.value);
}

bool is_measured_machine(const KernelProfile& profile, const GpuSpec& gpu) {
  return profile.measured_on == gpu.name;
}

}  // namespace kvsim::models
