#include "models/kernels/forms/linear_form.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace kvsim::models {

FormTime LinearForm::time(double m, double n, double k, const Machine& machine) const {
  constexpr double kOutputBytes = 2;   // bf16
  constexpr double kPartialBytes = 4;  // fp32 sums of a split k
  constexpr std::array kSplits = {1.0, 2.0, 3.0, 4.0, 8.0};
  const double element = bytes_per_element(weights);
  const double bytes_per_s = bandwidth_efficiency * machine.memory_bytes_per_s;
  const double memory_s = ((n + m) * k * element + m * n * kOutputBytes) / bytes_per_s;
  const double rate = machine.flops_per_s(weights) / machine.multiprocessors;
  double compute_s = std::numeric_limits<double>::infinity();
  for (const GemmTile& tile : tiles) {
    const double count = std::ceil(m / tile.rows) * std::ceil(n / tile.columns);
    for (const double split : kSplits) {
      const double even = count * split / machine.multiprocessors;
      const double waves = even + wave_quantisation * (std::ceil(even) - even);
      const double tile_s = 2 * tile.rows * tile.columns * (k / split + tile_overhead_k) / (tile.efficiency * rate);
      const double reduce_s = split > 1 ? m * n * kPartialBytes * split / bytes_per_s : 0;
      compute_s = std::min(compute_s, waves * tile_s + reduce_s);
    }
  }
  constexpr double kLong = 1e-3;  // kernels shorter than this do not heat the GPU
  compute_s *= 1 + power_droop * std::log2(1 + 2 * m * n * k / machine.flops_per_s(weights) / kLong);
  const double extra_s = extra_input_bytes * m * k / bytes_per_s;
  return {t0_s * machine.latency_scale + blend(memory_s, compute_s, blend_power) + extra_s, memory_s >= compute_s};
}

}  // namespace kvsim::models
