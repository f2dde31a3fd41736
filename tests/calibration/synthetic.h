// Rows that a form itself generates, with noise and gross outliers: what a fit has to see through.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "models/calibration/operator_fits.h"

namespace kvsim::models::testing {

inline Machine machine() {
  Machine m;
  m.memory_bytes_per_s = 3350e9;
  m.bf16_flops_per_s = 989e12;
  m.fp8_flops_per_s = 1979e12;
  m.l2_bytes = 50e6;
  m.multiprocessors = 132;
  return m;
}

/// Factors around 1: a per cent of noise, and every 20th row three times too slow.
class Noise {
 public:
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    const double u = static_cast<double>(state_ >> 11U) / 9007199254740992.0;
    ++rows_;
    return (rows_ % 20 == 0 ? 3.0 : 1.0) * std::exp(0.02 * (u - 0.5));
  }

 private:
  std::uint64_t state_ = 42;
  int rows_ = 0;
};

inline std::vector<DecodeSample> decode_rows(const DecodeForm& form, bool noisy) {
  std::vector<DecodeSample> rows;
  Noise noise;
  for (const double heads : {8.0, 16.0, 32.0, 64.0}) {
    for (double requests = 1; requests <= 64; requests *= 2) {
      for (double kv = 1024; kv <= 131072; kv *= 2) {
        DecodeSample row{{}, NumberFormat::bf16, {heads, heads / 4, 128}, requests, kv, true, 0};
        row.seconds = form.time(call_of(row), machine(), true).seconds;
        if (noisy) row.seconds *= noise.next();
        rows.push_back(row);
      }
    }
  }
  return rows;
}

inline DecodeForm decode_truth() {
  DecodeForm form;
  form.t0_s = 11e-6;
  form.per_doubling_s = 1.5e-6;
  form.per_head_s = 4e-9;
  form.cold_s = 6e-6;
  form.stream = {0.88, 2.2, 0.7, 0.1};
  form.walk = {4, 0.5, 0.8, 2e-6, 256, 4, 20e-9, 1e-6, true};
  return form;
}

inline std::vector<LinearSample> linear_rows(const LinearForm& form) {
  std::vector<LinearSample> rows;
  Noise noise;
  for (const double n : {2560.0, 4096.0, 7168.0, 12288.0, 28672.0}) {
    for (const double k : {2048.0, 4096.0, 8192.0}) {
      for (double m = 1; m <= 4096; m *= 2) {
        rows.push_back({{}, NumberFormat::bf16, m, n, k, form.time(m, n, k, machine()).seconds * noise.next()});
      }
    }
  }
  return rows;
}

}  // namespace kvsim::models::testing
