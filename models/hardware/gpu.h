// One GPU as its datasheet has it. How much of these peaks kernels reach is the profile's business (models/kernels).
#pragma once

#include <cstdint>
#include <string>

#include "models/schema/scalar_spec.h"
#include "models/schema/sourced.h"

namespace kvsim::models {

using schema::Sourced;

struct GpuSpec {
  std::string name;
  std::string description;
  Sourced<std::int64_t> memory_bytes;  ///< HBM (or GDDR) capacity of one GPU
  Sourced<double> memory_bytes_per_s;  ///< peak memory bandwidth
  Sourced<double> bf16_flops_per_s;    ///< peak dense tensor-core rate, bf16 with fp32 accumulation
  Sourced<double> fp8_flops_per_s;     ///< peak dense rate in fp8; 0 where the GPU has no fp8 units
  Sourced<double> fp4_flops_per_s;     ///< peak dense rate in fp4; 0 where the GPU has no fp4 units
  Sourced<double> multiprocessors;     ///< streaming multiprocessors (SMs); 0: not given
  Sourced<std::int64_t> l2_bytes;      ///< L2 cache; 0: not given
  Sourced<double> board_power_w;       ///< most that the board draws; 0: not given
  std::string architecture;            ///< for example hopper; kernels carry over best within one
  std::string host_link;               ///< default link to host memory, a name in the link catalogue
  std::string peer_link;               ///< default link between GPUs of one replica, a name in the link catalogue
  std::string profile;                 ///< default kernel profile, a name in the profile catalogue
};

// Figures of a datasheet with what they usually are, for the GPU itself and for one that a profile was measured on.

/// Peak memory bandwidth: 1 GB/s to 1 PB/s.
[[nodiscard]] schema::ScalarSpec peak_bandwidth();
/// Peak dense arithmetic rate: 1 TFLOP/s to 1000 PFLOP/s.
[[nodiscard]] schema::ScalarSpec peak_rate();
/// Streaming multiprocessors: up to 10,000.
[[nodiscard]] schema::ScalarSpec multiprocessor_count();
/// Second-level cache: 1 kB to 1 TB.
[[nodiscard]] schema::ScalarSpec l2_size();

}  // namespace kvsim::models
