#include "models/calibration/operator_fits.h"

#include <algorithm>
#include <map>

#include "models/calibration/fit_problem.h"
#include "models/calibration/physics.h"
#include "models/schema/units.h"

namespace kvsim::models {
namespace {

struct Streamed {
  double bytes;
  double seconds;
};

schema::Source assumed() {
  return {schema::SourceKind::assumption, "too few rows measured: what kernels reach on other GPUs"};
}

/// t = t0 + bytes / (efficiency x peak).
void fit_stream(const std::vector<Streamed>& rows, const Machine& machine, const schema::Source& source,
                const std::function<void()>& before_step, Sourced<double>& t0_s, Sourced<double>& efficiency) {
  constexpr std::size_t kFew = 4;
  constexpr double kApart = 1.5;  // sizes that tell a fixed time from a rate, as a factor
  const auto [least, most] = std::minmax_element(
      rows.begin(), rows.end(), [](const Streamed& a, const Streamed& b) { return a.bytes < b.bytes; });
  if (rows.size() < kFew || most->bytes < kApart * least->bytes) {
    t0_s = {10 * kMicrosecond, assumed()};
    efficiency = {0.8, assumed()};
    return;
  }
  FitProblem problem;
  problem.before_step = before_step;
  problem.parameters = {{"t0 (us)", 5, 0, 100}, {"bandwidth_efficiency", 0.8, 0.05, 1.0}};
  for (const Streamed& row : rows) problem.measured.push_back(row.seconds);
  problem.predict = [&](std::span<const double> values, const Correction& /*none*/, std::span<const std::size_t> which,
                        std::span<double> seconds) {
    for (std::size_t i = 0; i < which.size(); ++i) {
      seconds[i] = values[0] * kMicrosecond + rows[which[i]].bytes / (values[1] * machine.memory_bytes_per_s);
    }
  };
  const Solution found = fit(problem, all_rows(problem));
  t0_s = {found.values[0] * kMicrosecond, source};
  efficiency = {found.values[1], source};
}

EfficiencyCurve medians(const std::map<double, std::vector<double>>& by_size, const schema::Source& source) {
  EfficiencyCurve curve;
  curve.source = source;
  constexpr double kApart = 1.4;  // of neighbours, as a factor
  for (const auto& [size, shares] : by_size) {
    if (!curve.points.empty() && size < kApart * curve.points.back().size) continue;
    curve.points.push_back({size, std::min(rounded(summarise(shares).median), 1.0)});
  }
  if (curve.points.empty()) {
    curve.points = {{1024, 0.6}};
    curve.source = assumed();
  }
  return curve;
}

}  // namespace

MeasuredMachine measured_machine(const GpuSpec& gpu) {
  MeasuredMachine m;
  m.memory_bytes_per_s = gpu.memory_bytes_per_s;
  m.bf16_flops_per_s = gpu.bf16_flops_per_s;
  m.fp8_flops_per_s = gpu.fp8_flops_per_s;
  m.fp4_flops_per_s = gpu.fp4_flops_per_s;
  m.multiprocessors = gpu.multiprocessors.value;
  m.l2_bytes = gpu.l2_bytes.value;
  m.architecture = gpu.architecture;
  return m;
}

void fit_roofline(const Samples& samples, const Machine& machine, const std::string& reference,
                  const std::function<void()>& before_step, KernelProfile& profile) {
  const schema::Source source{schema::SourceKind::measurement, reference};
  constexpr double kFewTokens = 64;
  constexpr double kManyTokens = 512;
  std::vector<Streamed> weights;
  std::map<double, std::vector<double>> linear;
  for (const LinearSample& row : samples.linear) {
    if (row.weights != NumberFormat::bf16) continue;
    const double bytes = row.n * row.k * bytes_per_element(row.weights);
    if (may_hit_l2(std::max(row.run.repeated, 1.0) * bytes, machine)) continue;
    if (row.m <= kFewTokens) weights.push_back({bytes, row.seconds});
    for (double size = kManyTokens; size <= 8 * kManyTokens; size *= 2) {
      if (row.m == size) linear[size].push_back(2 * row.m * row.n * row.k / row.seconds / machine.bf16_flops_per_s);
    }
  }
  fit_stream(weights, machine, source, before_step, profile.linear_t0_s, profile.linear_bandwidth_efficiency);
  profile.linear_compute_efficiency = medians(linear, source);

  std::vector<Streamed> kv;
  for (const DecodeSample& row : samples.decode) {
    if (row.kv == NumberFormat::bf16 && !may_hit_l2(row.kv_bytes(), machine)) {
      kv.push_back({row.kv_bytes(), row.seconds});
    }
  }
  fit_stream(kv, machine, source, before_step, profile.attention_t0_s, profile.attention_bandwidth_efficiency);
  constexpr double kLongChunk = 2048;
  std::map<double, std::vector<double>> attention;
  for (const TiledSample& row : samples.prefill) {
    if (row.kv != NumberFormat::bf16 || row.tokens < kLongChunk) continue;
    const double pairs = row.chunks * row.tokens * (row.before + (row.tokens + 1) / 2);
    const double flops = 4 * row.shape.heads * row.shape.head_dim * pairs;
    attention[row.before + row.tokens].push_back(flops / row.seconds / machine.bf16_flops_per_s);
  }
  profile.attention_compute_efficiency = medians(attention, source);
}

}  // namespace kvsim::models
