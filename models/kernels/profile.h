// What real kernels reach of a GPU's peaks: one profile per machine and kernel stack (calibration spec, "Model").
#pragma once

#include <string>
#include <vector>

#include "models/schema/sourced.h"

namespace kvsim::models {

using schema::Sourced;

/// Efficiency (fraction of the datasheet peak) as a function of a size; piecewise linear in log(size), constant
/// outside the given points.
struct EfficiencyPoint {
  double size = 1;  ///< tokens, for compute efficiencies
  double efficiency = 1;
};

struct EfficiencyCurve {
  std::vector<EfficiencyPoint> points;
  schema::Source source;
  [[nodiscard]] double at(double size) const;
};

/// Measured collective times for one group size.
struct AllReducePoint {
  double bytes = 0;
  double seconds = 0;
};

struct AllReduceTable {
  int gpus = 2;
  std::vector<AllReducePoint> points;  ///< ascending in bytes; linear in between, by the last slope beyond
  schema::Source source;
  /// Seconds of one all-reduce of `bytes` (per GPU, before reduction).
  [[nodiscard]] double at(double bytes) const;
};

/// t = t0 + max(bytes / (bandwidth_efficiency BW_peak), flops / (compute_efficiency FLOPS_peak)) per operator.
struct KernelProfile {
  std::string name;
  std::string description;
  std::string measured_on;                         ///< GPU the figures come from; another one: scaled by datasheet
  Sourced<double> linear_t0_s;                     ///< per linear-layer call
  Sourced<double> linear_bandwidth_efficiency;     ///< streaming weights, few tokens
  EfficiencyCurve linear_compute_efficiency;       ///< by tokens in the step
  Sourced<double> attention_t0_s;                  ///< per layer and attention call
  Sourced<double> attention_bandwidth_efficiency;  ///< reading KV in decode and verify
  EfficiencyCurve attention_compute_efficiency;    ///< by length of the KV attended to
  std::vector<AllReduceTable> all_reduce;          ///< by group size
  Sourced<double> iteration_overhead_s;            ///< launch, scheduling and sampling, once per iteration
};

}  // namespace kvsim::models
