// What an operator's time depends on of the machine under it.
#pragma once

#include "models/hardware/gpu.h"

namespace kvsim::models {

/// Number format of weights or of a KV cache, as kernels are measured in them.
enum class NumberFormat { bf16, fp8 };

/// As profiles and reports write it.
[[nodiscard]] constexpr const char* word(NumberFormat f) {
  return f == NumberFormat::fp8 ? "fp8" : "bf16";
}

[[nodiscard]] constexpr double bytes_per_element(NumberFormat f) {
  return f == NumberFormat::fp8 ? 1.0 : 2.0;
}

/// Peaks of one GPU, and how the fixed times of a fit carry over to it.
struct Machine {
  double memory_bytes_per_s = 0;
  double bf16_flops_per_s = 0;
  double fp8_flops_per_s = 0;  ///< 0: no such units
  double l2_bytes = 0;         ///< 0: not known
  double multiprocessors = 0;  ///< 0: not known
  double latency_scale = 1;    ///< factor on every fixed time of a fitted form

  [[nodiscard]] double flops_per_s(NumberFormat f) const {
    return f == NumberFormat::fp8 && fp8_flops_per_s > 0 ? fp8_flops_per_s : bf16_flops_per_s;
  }

  bool operator==(const Machine&) const = default;

  /// The datasheet of `gpu`. A form fitted on a machine with `measured_bytes_per_s` of memory bandwidth has its fixed
  /// times scaled by the ratio of the two bandwidths: between A100 and H100, in both directions, that predicts short
  /// kernels better than the ratio of clocks does (docs/kernel_timing.md). 0: fitted on this machine, nothing scaled.
  static Machine of(const GpuSpec& gpu, double measured_bytes_per_s = 0);
};

}  // namespace kvsim::models
