// A machine and a model whose every figure is a small round number, so that times can be worked out by hand.
#pragma once

#include "models/hardware/gpu.h"
#include "models/hardware/link_spec.h"
#include "models/kernels/profile.h"
#include "models/kernels/step_time.h"
#include "models/llm/llm_spec.h"

namespace kvsim::models::testing {

/// One layer, 760 parameters of which 680 are multiplied with, 16 B of KV per token, 32 FLOPs per attention pair.
inline LlmSpec tiny_model() {
  LlmSpec m;
  m.name = "tiny";
  m.layers = 1;
  m.hidden = 8;
  m.heads = 4;
  m.kv_heads = 2;
  m.head_dim = 2;
  m.intermediate = 16;
  m.vocabulary = 10;
  m.max_context = 1000;
  return m;
}

/// 100 B/s of memory bandwidth, 1000 FLOP/s in bf16, 4000 in fp8.
inline GpuSpec tiny_gpu() {
  GpuSpec g;
  g.name = "tiny-gpu";
  g.memory_bytes.value = 1'000'000;
  g.memory_bytes_per_s.value = 100;
  g.bf16_flops_per_s.value = 1000;
  g.fp8_flops_per_s.value = 4000;
  return g;
}

/// 10 B/s, 1 s of latency.
inline LinkSpec tiny_link() {
  LinkSpec l;
  l.name = "tiny-link";
  l.read_bytes_per_s.value = 10;
  l.write_bytes_per_s.value = 10;
  l.latency_s.value = 1;
  return l;
}

/// Nothing but the peaks: efficiencies of 1, no fixed times, no table.
inline KernelProfile ideal_profile() {
  KernelProfile p;
  p.name = "ideal";
  p.measured_on = "tiny-gpu";
  p.linear_bandwidth_efficiency.value = 1;
  p.linear_compute_efficiency.points = {{1, 1}};
  p.attention_bandwidth_efficiency.value = 1;
  p.attention_compute_efficiency.points = {{1, 1}};
  return p;
}

inline StepTimer tiny_timer(const KernelProfile& profile, const LlmSpec& model = tiny_model(), std::int64_t gpus = 1) {
  return {tiny_gpu(), tiny_link(), profile, model, gpus};
}

}  // namespace kvsim::models::testing
