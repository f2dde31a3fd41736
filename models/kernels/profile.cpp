#include "models/kernels/profile.h"

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

Machine MeasuredMachine::peaks() const {
  Machine m;
  m.memory_bytes_per_s = memory_bytes_per_s.value;
  m.bf16_flops_per_s = bf16_flops_per_s.value;
  m.fp8_flops_per_s = fp8_flops_per_s.value;
  m.fp4_flops_per_s = fp4_flops_per_s.value;
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
  Machine machine = Machine::of(gpu);
  const std::string measured = profile.machine ? profile.machine->architecture : "";
  machine.as_measured = profile.measured_on == gpu.name || (!measured.empty() && measured == gpu.architecture);
  return machine;
}

bool is_measured_machine(const KernelProfile& profile, const GpuSpec& gpu) {
  return profile.measured_on == gpu.name;
}

double QuantisedKernel::layer_time_s(const StepWork& work, double elements, double heads,
                                     double multiprocessors) const {
  double tokens = 0, longest = 0;  // of KV, once for all query tokens of a request
  for (const AttentionWork* w : {&work.decode, &work.verify}) {
    if (w->quantised <= 0) continue;
    tokens += w->quantised / w->queries_each();
    longest = std::max(longest, w->longest_kv > 0 ? w->longest_kv : w->quantised / w->query_tokens);
  }
  if (tokens <= 0) return 0;
  const double rate = elements_per_s.value * multiprocessors;
  const double unpacking_s = rate > 0 ? tokens * heads * elements / rate : 0;
  return layer_s.value + std::max(token_s.value * longest, unpacking_s);
}

}  // namespace kvsim::models
