// Measurements by kvsim-calibrate of a GPU beside linear layers and attention: memory, the link to host memory, what
// launches cost, and the kernels that choose and quantise KV. In seconds and bytes.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "models/calibration/sample_source.h"

namespace kvsim::models {

/// One pass over device memory.
struct MemorySample {
  SampleSource from;
  std::string kind;  ///< read, write, copy
  bool cold = true;  ///< L2 flushed before
  double bytes = 0;  ///< read and written
  double seconds = 0;
};

/// One copy between pinned host memory and the GPU.
struct CopySample {
  SampleSource from;
  bool to_gpu = true;
  bool both_ways = false;  ///< another one of the same size goes the other way meanwhile
  double bytes = 0;
  double seconds = 0;
};

/// Scattered rows of host memory to the GPU.
struct GatherSample {
  SampleSource from;
  std::string method;  ///< as links call it: single_copies, batched_copies, mapped_reads
  double rows = 0;
  double row_bytes = 0;
  double seconds = 0;
};

/// The k largest of each row of scores.
struct TopKSample {
  SampleSource from;
  double rows = 0;
  double columns = 0;
  double k = 0;
  double seconds = 0;
};

struct QuantiseSample {
  SampleSource from;
  bool back = false;  ///< dequantise
  double bits = 0;
  double full_bytes = 0;
  double packed_bytes = 0;
  double seconds = 0;
};

/// Per launch.
struct LaunchSample {
  SampleSource from;
  std::string what;  ///< as launch.csv has it
  double seconds = 0;
};

/// A kernel that passes over memory or a copy, with the other one all the while.
struct InterferenceSample {
  SampleSource from;
  bool kernel = true;  ///< what was timed; else the copy
  bool to_gpu = true;  ///< the copy
  std::string kind;    ///< of the kernel's pass
  double bytes = 0;    ///< of what was timed
  double alone_s = 0;
  double seconds = 0;
};

/// Threads that each read or write a block at the same time, past the page cache.
struct StorageSample {
  SampleSource from;
  bool write = false;
  double threads = 1;
  double bytes = 0;  ///< of each
  double seconds = 0;
};

/// Threads of the CPU that each pass over as many bytes of host memory at the same time.
struct HostMemorySample {
  SampleSource from;
  std::string kind;  ///< read, write, copy
  double threads = 1;
  double bytes = 0;  ///< of each; copied: once
  double seconds = 0;
};

/// The GPU's state during one benchmark; no row of times.
struct DeviceStateSample {
  SampleSource from;
  std::string benchmark;
  double sm_clock_mhz = 0;
  double most_sm_clock_mhz = 0;  ///< 0: not known
  double throttled_share = 0;    ///< of the time, while something held the clocks down
  std::string throttled_by;      ///< "power cap+heat", "nothing"
  double other_processes = 0;
};

struct DeviceSamples {
  std::vector<MemorySample> memory;
  std::vector<CopySample> copies;
  std::vector<GatherSample> gathers;
  std::vector<TopKSample> top_k;
  std::vector<QuantiseSample> quantise;
  std::vector<LaunchSample> launch;
  std::vector<InterferenceSample> interference;
  std::vector<StorageSample> storage;
  std::vector<HostMemorySample> host_memory;
  std::vector<DeviceStateSample> states;
};

/// All tables of times, for what is done to each.
inline constexpr auto kDeviceTables =
    std::tuple(&DeviceSamples::memory, &DeviceSamples::copies, &DeviceSamples::gathers, &DeviceSamples::top_k,
               &DeviceSamples::quantise, &DeviceSamples::launch, &DeviceSamples::interference, &DeviceSamples::storage,
               &DeviceSamples::host_memory);

}  // namespace kvsim::models
