// One linear layer, m tokens through an n x k weight matrix: streaming of the weights against tiles in waves over the
// GPU's multiprocessors.
#pragma once

#include <vector>

#include "models/kernels/forms/form_time.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

/// A block of the output that one multiprocessor computes at a time, as GEMM libraries choose among them.
struct GemmTile {
  double rows = 128;      ///< tokens
  double columns = 128;   ///< outputs
  double efficiency = 1;  ///< of one multiprocessor's share of the peak arithmetic rate
};

/// t = t0 + blend(bytes / (eta BW), min over tiles and split-k of waves x time of a tile) + extra_input_bytes m k /
/// (eta BW). A tile takes 2 rows columns (k + k0) / (its efficiency x peak / multiprocessors); waves is tiles /
/// multiprocessors, of which the share `wave_quantisation` is rounded up. Splitting k over 2, 3, 4 or 8 tiles adds the
/// traffic of their partial sums. The form is ours; the quantisation in waves is what GEMM libraries document and what
/// the measured tables show (a 48 % dip of A100 at 512 tokens and n = 7168, where 112 tiles fall on 108
/// multiprocessors).
struct LinearForm {
  NumberFormat weights = NumberFormat::bf16;
  double t0_s = 0;
  double bandwidth_efficiency = 1;
  double extra_input_bytes = 0;  ///< further traffic per input element, for example quantising activations to fp8
  double tile_overhead_k = 0;    ///< k0: filling and draining a tile, as a length of k
  double wave_quantisation = 1;  ///< 0: tiles are spread evenly, 1: whole waves
  double blend_power = 4;
  double power_droop = 0;  ///< further share of arithmetic time per doubling of 1 + ideal time / 1 ms: clocks fall
  std::vector<GemmTile> tiles;
  double valid_to = 0;  ///< largest size that was fitted, tokens; 0: not stated
  schema::Source source;

  /// Seconds of one call. m, n, k > 0; the machine's multiprocessors must be known.
  [[nodiscard]] FormTime time(double m, double n, double k, const Machine& machine) const;
};

}  // namespace kvsim::models
