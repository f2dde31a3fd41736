#include "models/kernels/forms/machine.h"

namespace kvsim::models {

Machine Machine::of(const GpuSpec& gpu, double measured_bytes_per_s) {
  Machine m;
  m.memory_bytes_per_s = gpu.memory_bytes_per_s.value;
  m.bf16_flops_per_s = gpu.bf16_flops_per_s.value;
  m.fp8_flops_per_s = gpu.fp8_flops_per_s.value;
  m.l2_bytes = static_cast<double>(gpu.l2_bytes.value);
  m.multiprocessors = static_cast<double>(gpu.multiprocessors.value);
  if (measured_bytes_per_s > 0) m.latency_scale = measured_bytes_per_s / m.memory_bytes_per_s;
  return m;
}

}  // namespace kvsim::models
